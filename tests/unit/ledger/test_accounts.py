"""Accounts are records of the chain: seen by every process at once, checked with it, and exported without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from obverse.core.accounts import STOPPED_MAX, fresh_token, scram_keys, wire_salt
from obverse.core.errors import LedgerError, ObverseError
from obverse.curator import accounts
from obverse.curator.ledger import export_ledger, opened_ledger, verify_copy, verify_ledger
from obverse.ledger import accounts as acts
from obverse.ledger.chain import Draft
from obverse.ledger.transfer import exported
from tests import served


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return served.project(tmp_path / "p", people=20)


def code(act: object, *arguments: object, **named: object) -> str:
    with pytest.raises(ObverseError) as refused:
        act(*arguments, **named)  # type: ignore[operator]
    return refused.value.code


def test_what_one_process_writes_another_sees(folder: Path) -> None:
    with opened_ledger(folder) as (_, _, mine), opened_ledger(folder) as (_, _, others):
        issued = accounts.issue_in(mine.ledger, "ana", "analyst", 1, "cora")
        assert others.ledger.accounts()["ana"].held(issued.token, 0)
        others.ledger.change_account(lambda book: acts.token_revoked(book, "ana", issued.id, "cora"))
        assert not mine.ledger.accounts()["ana"].live(0)
        assert mine.ledger.accounts()["ana"].epoch == mine.ledger.head().count


def test_the_chain_and_what_lies_beside_it_verify(folder: Path, tmp_path: Path) -> None:
    accounts.issue(folder, "ana", "analyst")
    accounts.set_password(folder, "ana", "a long enough sentence")
    verify_ledger(folder)
    export_ledger(folder, tmp_path / "e.jsonl")
    verify_copy(tmp_path / "e.jsonl")
    with opened_ledger(folder) as (_, _, opened):
        number = opened.ledger.accounts()["ana"].password
        assert number is not None
        assert opened.ledger.note(number).startswith("$argon2id$")
        secret = opened.ledger.service_secret().hex()
    exported = (tmp_path / "e.jsonl").read_text()
    assert "$argon2id$" not in exported
    assert secret not in exported
    assert [json.loads(line)["record"]["act"] for line in exported.splitlines() if '"account"' in line] == [
        "secret",
        "token",
        "password",
    ]


def test_the_secret_is_made_once_for_all(folder: Path) -> None:
    with opened_ledger(folder) as (_, _, mine), opened_ledger(folder) as (_, _, others):
        assert len(mine.ledger.service_secret()) == 32
        assert mine.ledger.service_secret() == others.ledger.service_secret()


def test_an_account_is_barred_by_suspension_or_by_three_questions_at_the_limit(folder: Path) -> None:
    accounts.issue(folder, "ana", "analyst")
    with opened_ledger(folder) as (_, _, opened):
        ledger = opened.ledger
        for _ in range(STOPPED_MAX):
            assert not ledger.accounts()["ana"].barred
            ledger.change_account(lambda book: acts.stopped(book, "ana", 1))
        assert ledger.accounts()["ana"].barred
    accounts.resume(folder, "ana", "looked")
    accounts.suspend(folder, "ana", "gone")
    found, _ = accounts.listed(folder)
    assert found["ana"].suspended == "gone"
    assert found["ana"].stopped == 0
    assert found["ana"].barred


def test_what_cannot_be_done_to_accounts(folder: Path) -> None:
    accounts.issue(folder, "ana", "analyst")
    assert code(accounts.issue, folder, "ana", "curator") == "account_known"
    assert code(accounts.issue, folder, "zoe", "analyst") == "analyst_unknown"
    assert code(accounts.issue, folder, "ana", "analyst", days=0) == "bad_parameter"
    assert code(accounts.issue, folder, "zoe", "owner") == "bad_parameter"
    assert code(accounts.revoke, folder, "ana", "nothing") == "unknown_token"
    assert code(accounts.suspend, folder, "ana", " ") == "no_reason"
    assert code(accounts.resume, folder, "nobody", "why") == "unknown_account"
    assert code(accounts.rotate, folder, "nobody") == "unknown_account"
    assert code(accounts.set_password, folder, "ana", "short") == "weak_password"


def test_a_record_that_cannot_be_read_is_damage(folder: Path) -> None:
    with opened_ledger(folder) as (_, _, opened), pytest.raises(LedgerError) as damaged:
        opened.ledger.change_account(lambda book: Draft("account", {"act": "raise", "name": "ana", "by": "x"}))
    assert damaged.value.code == "ledger_damaged"


def test_a_fresh_token_is_written_down_only_as_hashes(folder: Path) -> None:
    issued = accounts.issue(folder, "cora", "curator")
    written = b"".join(file.read_bytes() for file in (folder / ".obverse").iterdir())
    assert b"cora" in written
    assert issued.token.encode() not in written
    assert fresh_token(1, bytes(16))[1].id != issued.id


def test_an_export_holds_no_key_of_the_wire(folder: Path) -> None:
    """With them and a client that does not look at certificates, whoever may read the chain could become the
    curator.
    """
    issued = accounts.issue(folder, "cora", "curator")
    with opened_ledger(folder) as (_, _, opened):
        stored, server = scram_keys(issued.token, wire_salt(opened.ledger.service_secret(), "cora"))
        lines = "".join(line for _, line in exported(opened.ledger, opened.ledger.note))
        token = opened.ledger.accounts()["cora"].tokens[issued.id]
        kept = token.with_keys(opened.ledger.note(token.record))
        opened.ledger.verify()
    assert issued.id in lines
    assert stored.hex() not in lines
    assert server.hex() not in lines
    assert (kept.stored_key, kept.server_key) == (stored.hex(), server.hex())


def test_keys_that_an_older_record_holds_are_still_read(folder: Path) -> None:
    keys = {"stored_key": "9" * 64, "server_key": "a" * 64}
    fields = {"role": "curator", "id": "0123abcd", "hash": "8" * 64, "expires": 1 << 40, **keys}
    with opened_ledger(folder) as (_, _, opened):
        opened.ledger.change_account(
            lambda book: Draft("account", {"act": "token", "name": "old", "by": "x", **fields})
        )
        token = opened.ledger.accounts()["old"].tokens["0123abcd"]
        kept = token.with_keys(opened.ledger.note(token.record))
    assert (kept.stored_key, kept.server_key) == ("9" * 64, "a" * 64)
