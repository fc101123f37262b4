"""Accounts over HTTP and beside it: what the curator changes is so at once, on every server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import obverse
from obverse.core.errors import LedgerError
from obverse.curator import accounts
from obverse.ledger.transfer import verify_export
from tests.http_services import Running

TABLES = "/v1/hospital/tables"


def in_another_process(folder: Path, act: str) -> None:
    code = f"from pathlib import Path; from obverse.curator import accounts; accounts.{act}"
    environment = {**os.environ, "PYTHONPATH": str(Path(obverse.__file__).parent.parent)}
    subprocess.run(
        [sys.executable, "-c", code.replace("FOLDER", f"Path({str(folder)!r})")], check=True, env=environment
    )


def test_a_token_is_shown_once_and_works_at_once(service: Running, someone: str) -> None:
    made = service.post("/v1/hospital/accounts", "cora", {"name": someone, "role": "analyst", "days": 1})
    assert made.status_code == 201
    service.tokens["new"] = made.json()["token"]
    assert service.get(TABLES, "new").status_code == 200
    assert made.json()["token"] not in service.get("/v1/hospital/accounts", "cora").text
    assert made.json()["token"] not in service.get("/v1/hospital/ledger", "cora").text


def test_rotation_voids_what_was_there_before(service: Running, someone: str) -> None:
    made = service.post(f"/v1/hospital/accounts/{someone}/rotate", "cora", {})
    assert service.get(TABLES, someone).status_code == 401
    service.tokens[someone] = made.json()["token"]
    assert service.get(TABLES, someone).status_code == 200


def test_revocation_in_another_process_holds_from_the_next_request_on(service: Running, someone: str) -> None:
    assert service.get(TABLES, someone).status_code == 200
    in_another_process(service.folder, f"revoke(FOLDER, {someone!r})")
    assert service.get(TABLES, someone).status_code == 401


def test_one_token_of_two_is_revoked_alone(service: Running, someone: str) -> None:
    made = service.post("/v1/hospital/accounts", "cora", {"name": someone, "role": "analyst"}).json()
    assert service.post(f"/v1/hospital/accounts/{someone}/revoke", "cora", {"token": made["id"]}).status_code == 200
    service.tokens["new"] = made["token"]
    assert (service.get(TABLES, "new").status_code, service.get(TABLES, someone).status_code) == (401, 200)
    gone = service.post(f"/v1/hospital/accounts/{someone}/revoke", "cora", {"token": made["id"]})
    assert (gone.status_code, gone.json()["code"]) == (404, "unknown_token")


def test_a_token_expires_by_the_servers_clock(service: Running, someone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = service.post("/v1/hospital/accounts", "cora", {"name": someone, "role": "analyst", "days": 1}).json()
    service.tokens["new"] = made["token"]
    for late, status in ((-1, 200), (0, 401)):
        monkeypatch.setattr(service.desk, "clock", lambda late=late: made["expires"] + late)
        assert service.get(TABLES, "new").status_code == status


def test_a_suspended_analyst_waits_for_the_curator(service: Running, someone: str) -> None:
    assert (
        service.post(f"/v1/hospital/accounts/{someone}/suspend", "cora", {"reason": "odd questions"}).status_code == 200
    )
    stopped = service.ask(who=someone)
    assert (stopped.status_code, stopped.json()["code"]) == (403, "account_suspended")
    assert "odd questions" not in stopped.text
    found = service.get("/v1/hospital/accounts", "cora").json()["accounts"]
    assert [one["suspended"] for one in found if one["name"] == someone] == ["odd questions"]
    assert service.post(f"/v1/hospital/accounts/{someone}/resume", "cora", {"reason": "explained"}).status_code == 200
    assert service.ask(who=someone).status_code == 200


def test_what_cannot_be_done_is_refused_and_the_ledger_stays_sound(service: Running, someone: str) -> None:
    def code(path: str, body: object) -> str:
        return str(service.post(f"/v1/hospital/accounts{path}", "cora", body).json()["code"])

    assert code("", {"name": "zoe", "role": "analyst"}) == "analyst_not_declared"
    assert code("", {"name": someone, "role": "curator"}) == "account_known"
    assert code("", {"name": "a/b", "role": "curator"}) == "bad_name"
    assert code("", {"name": "new", "role": "owner"}) == "bad_parameter"
    assert code("/nobody/revoke", {}) == "unknown_account"
    assert code(f"/{someone}/suspend", {"reason": " "}) == "no_reason"
    assert code(f"/{someone}/password", {"password": "short"}) == "weak_password"
    assert {"ana", "ben", "cora", "rita", someone} <= set(accounts.listed(service.folder)[0])


def test_each_change_names_the_curator_in_the_chain(service: Running, someone: str) -> None:
    service.post(f"/v1/hospital/accounts/{someone}/suspend", "cora", {"reason": "x"})
    lines = service.get("/v1/hospital/ledger", "rita").text.splitlines()
    assert '"by":"cora"' in lines[-2].replace(" ", "")


def test_the_exported_chain_verifies_and_one_that_was_changed_does_not(service: Running, someone: str) -> None:
    service.ask("SELECT COUNT(*) AS n FROM people WHERE age <> 3", someone)
    reply = service.get("/v1/hospital/ledger", "rita")
    assert reply.headers["content-type"].startswith("application/x-ndjson")
    lines = reply.text.splitlines()
    assert verify_export(lines).count == len(lines) - 2
    assert "age <> 3" not in reply.text, "questions are not exported"
    place = next(place for place, line in enumerate(lines) if '"charge"' in line)
    for forged in (lines[:place] + lines[place + 1 :], [line.replace(someone, "other") for line in lines]):
        with pytest.raises(LedgerError):
            verify_export(forged)
