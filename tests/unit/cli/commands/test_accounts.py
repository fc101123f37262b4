"""obverse account: tokens and passwords from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from obverse.cli.main import cli
from obverse.curator import accounts
from tests.unit.cli.conftest import Obverse

pytestmark = pytest.mark.usefixtures("project")


def test_a_token_stands_alone_on_stdout_and_is_kept_nowhere(obverse: Obverse, project: Path) -> None:
    made = obverse("account", "add", "ana", "--role", "analyst", "--days", "7")
    token = made.stdout.strip()
    assert (made.exit_code, token[:4], len(token)) == (0, "obv_", 47)
    assert token not in made.stderr
    assert "it is not shown again" in made.stderr
    assert not [path for path in project.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
    assert token not in obverse("account", "list").stdout


def test_an_analyst_is_declared_before_there_is_an_account(obverse: Obverse) -> None:
    made = obverse("account", "add", "zoe", "--role", "analyst")
    assert made.exit_code == 3
    assert "analyst_unknown" in made.stderr
    assert obverse("account", "add", "zoe", "--role", "reviewer").exit_code == 0


def test_the_list_tells_roles_tokens_and_states(obverse: Obverse) -> None:
    for name, role in {"ana": "analyst", "cora": "curator"}.items():
        obverse("account", "add", name, "--role", role)
    obverse("account", "suspend", "ana", "--reason", "odd questions")
    told = obverse("account", "list").stdout
    assert "suspended: odd questions" in told
    assert "active" in told
    found = json.loads(obverse("account", "list", "--json").stdout)["accounts"]
    assert [(one["name"], one["role"], len(one["tokens"])) for one in found] == [
        ("ana", "analyst", 1),
        ("cora", "curator", 1),
    ]


def test_what_is_done_can_be_seen_and_undone(obverse: Obverse, project: Path) -> None:
    first = json.loads(obverse("account", "add", "ana", "--role", "analyst", "--json").stdout)
    second = json.loads(obverse("account", "rotate", "ana", "--json").stdout)
    assert first["token"] != second["token"]

    def ana() -> accounts.Account:
        return accounts.listed(project)[0]["ana"]

    assert list(ana().tokens) == [second["id"]]
    assert obverse("account", "suspend", "ana", "--reason", "x").exit_code == 0
    assert ana().barred
    assert obverse("account", "resume", "ana").exit_code == 0
    assert not ana().barred
    assert obverse("account", "revoke", "ana", "--token", second["id"]).exit_code == 0
    assert ana().tokens == {}
    assert obverse("account", "revoke", "ana", "--token", "none").exit_code == 3


@pytest.mark.parametrize("verb", [("rotate",), ("revoke",), ("suspend", "--reason", "x"), ("resume",)])
def test_nobody_is_changed_who_is_not_there(obverse: Obverse, verb: tuple[str, ...]) -> None:
    """A record of somebody unknown would make the ledger unreadable."""
    found = obverse("account", verb[0], "nobody", *verb[1:], "--json")
    assert (found.exit_code, json.loads(found.stdout)["error"]["code"]) == (3, "unknown_account")
    assert obverse("account", "list").exit_code == 0


def test_a_password_comes_from_standard_input(obverse: Obverse, project: Path) -> None:
    obverse("account", "add", "ana", "--role", "analyst")
    for words, code in (("too short\n", 3), ("a sentence that nobody guesses\n", 0)):
        found = CliRunner().invoke(cli, ["account", "password", "ana", "-p", str(project)], input=words)
        assert found.exit_code == code
        assert words.strip() not in found.output
    assert accounts.listed(project)[0]["ana"].password is not None
