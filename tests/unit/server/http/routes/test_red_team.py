"""Trials: attacks through the service itself, on people who do not exist; real budgets, ledgers and homes are as
before.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from obverse.curator import accounts
from tests.http_services import Running

AT = "/v1/hospital/trials"
WAIT_S = 240.0


def ended(service: Running) -> dict[str, Any]:
    ends = time.monotonic() + WAIT_S
    while time.monotonic() < ends:
        told: dict[str, Any] = service.get(AT, "rita").json()
        if told["done"]:
            return told
        time.sleep(0.1)
    raise AssertionError("the trial did not end")


def datasets() -> list[tuple[str]]:
    """All that are registered in the home of the run."""
    (file,) = Path(os.environ["OBVERSE_HOME"]).rglob("*.db")
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as home:
        return sorted(home.execute("SELECT id FROM dataset").fetchall())


def test_a_trial_goes_through_the_service_and_spends_nothing_real(service: Running) -> None:
    spent = service.spent()
    ledger = service.get("/v1/hospital/ledger", "rita").text
    known = datasets()
    logged = len(service.lines)
    body = {"attacks": ["differencing"], "sql": "SELECT COUNT(*) AS n FROM people", "epsilon": 1.0}
    begun = service.post(AT, "rita", body)
    assert begun.status_code == 202
    again = service.post(AT, "cora", body)
    assert (again.status_code, again.json()["code"]) == (422, "trial_running")
    told = ended(service)
    assert told["problem"] is None
    names = [one["attack"] for one in told["found"]]
    assert names == ["differencing", "question"]
    assert told["found"][0]["figures"]["pairs"] == 40
    assert 0 < told["found"][1]["epsilon_at_least"] <= 1  # false alarm 1e-4
    assert (service.spent(), service.get("/v1/hospital/ledger", "rita").text) == (spent, ledger)
    assert service.desk.projects == ("hospital", "census")
    assert datasets() == known, "the home of the real projects does not know of them"
    asked = [line for line in service.logged()[logged:] if line.get("account") == "mallory"]
    assert len(asked) == 41, "each question of the attacker was a request"
    assert b"scratch-" not in b"".join(service.lines[logged:]), "the names of scratch projects are told to nobody"


def test_nobody_learns_of_another_project_s_trial(service: Running) -> None:
    """Theirs waits for it, and is not refused."""
    token = accounts.issue(service.folder.parent / "census", "nora", "reviewer").token
    theirs = {"headers": {"Authorization": f"Bearer {token}"}}
    assert service.post(AT, "rita", {"attacks": ["bypass"]}).status_code == 202
    begun = service.post("/v1/census/trials", "", {}, **theirs)
    assert (begun.status_code, begun.json()["done"]) == (202, False)
    assert ended(service)["problem"] is None
    ends = time.monotonic() + WAIT_S
    while not (told := service.get("/v1/census/trials", "", **theirs).json())["done"] and time.monotonic() < ends:
        time.sleep(0.1)
    assert (told["done"], told["problem"]) == (True, None)


def test_a_question_that_cannot_be_tried_is_a_problem_of_the_trial(service: Running) -> None:
    service.post(AT, "rita", {"sql": "SELECT * FROM people"})
    assert ended(service)["problem"]["code"] == "not_aggregate"


def test_a_trial_of_nothing_is_over_at_once(service: Running) -> None:
    service.post(AT, "rita", {})
    assert ended(service)["found"] == []
