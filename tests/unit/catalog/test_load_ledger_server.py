from __future__ import annotations

import pytest

from obverse.catalog.load import loads
from obverse.catalog.model import Server

PROJECT = '[project]\nname = "hospital"\nledger = ".obverse/ledger.db"\n'
NAMED = '[project]\nname = "hospital"\ndataset = "hospital"\n'


def with_ledger(text: str, section: str, project: str = NAMED) -> str:
    return text.replace(text[text.index("[project]") : text.index("[engine]")], f"{project}{section}\n")


@pytest.mark.parametrize(
    ("pointer", "server"),
    [
        ('service = "ledger"', Server(service="ledger")),
        ('dsn_env = "OBVERSE_LEDGER"', Server(dsn_env="OBVERSE_LEDGER")),
    ],
)
def test_a_server_is_pointed_to_by_a_name(edited, pointer: str, server: Server) -> None:
    assert loads(with_ledger(edited(), f'[ledger]\nkind = "postgres"\n{pointer}'), "/project").ledger_server == server


def test_without_a_server_the_ledger_is_a_file(edited) -> None:
    assert loads(edited(), "/project").ledger_server is None
    assert loads(with_ledger(edited(), '[ledger]\nkind = "sqlite"', PROJECT), "/project").ledger_server is None


@pytest.mark.parametrize(
    ("section", "project", "code"),
    [
        ('[ledger]\nkind = "postgres"', NAMED, "missing_key"),
        ('[ledger]\nservice = "ledger"', NAMED, "missing_key"),
        ('[ledger]\nkind = "postgres"\nservice = "ledger"\ndsn_env = "LEDGER"', NAMED, "conflict"),
        ('[ledger]\nkind = "sqlite"\nservice = "ledger"', NAMED, "conflict"),
        ('[ledger]\nkind = "postgres"\nservice = "ledger"', PROJECT, "conflict"),
        ('[ledger]\nkind = "postgres"\nservice = "ledger"', '[project]\nname = "hospital"\n', "missing_key"),
        ('[ledger]\nkind = "oracle"\nservice = "ledger"', NAMED, "bad_choice"),
        ('[ledger]\nkind = "postgres"\npassword = "secret"', NAMED, "unknown_key"),
        ('[ledger]\nkind = "postgres"\ndsn_env = "postgresql://user:secret@host/ledger"', NAMED, "bad_name"),
        ('[ledger]\nkind = "postgres"\nservice = "host=a password=secret"', NAMED, "bad_name"),
    ],
)
def test_anything_else_is_refused_and_no_address_is_repeated(
    edited, refusal, section: str, project: str, code: str
) -> None:
    error = refusal(with_ledger(edited(), section, project))
    assert error.code == code
    assert "secret" not in str(error)
