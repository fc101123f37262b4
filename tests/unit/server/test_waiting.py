"""Questions that wait for their turn: what changes meanwhile counts, and what goes wrong at the end tells nothing."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from obverse.core.errors import Failed, LedgerError, ObverseError
from obverse.curator import accounts
from obverse.ledger.ledger import ChainLedger
from obverse.plan.release.postprocess import Finished
from obverse.server.project import Host
from obverse.server.queries import FREE_MAX, Caller, Desk, Wanted
from obverse.server.sandbox.pool import Cage, Killed
from obverse.session.session import Session
from tests import served

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
COUNT = "SELECT COUNT(*) AS n FROM people"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(served.project(tmp_path / "waiting", people=120))
    yield made
    made.close()


def meanwhile(host: Host, change: Callable[[Path], object], sql: str = COUNT, purpose: str = "") -> tuple[str, str]:
    """The refusal of a question that waited for a slot while something was changed; and what was spent."""
    folder = host.path
    token = accounts.issue(folder, "ana", "analyst").token

    async def asked() -> tuple[str, str]:
        desk = Desk([host])
        caller = await desk.sign_in("hospital", token)
        curator = Caller("hospital", "cora", "curator")
        slots = desk._slots["hospital"]
        for _ in range(host.at_once):
            await slots.acquire()
        waiting = asyncio.ensure_future(desk.ask(caller, Wanted(sql, purpose=purpose)))
        while not slots._waiters:
            await asyncio.sleep(0.005)
        change(folder)
        for _ in range(host.at_once):
            slots.release()
        with pytest.raises(ObverseError) as refused:
            await waiting
        accounts.issue(folder, "cora", "curator")
        return refused.value.code, (await desk.budget(curator)).lines[0].spent

    return asyncio.run(asked())


def test_who_is_suspended_or_revoked_while_a_question_waits_gets_no_answer_and_no_charge(host: Host) -> None:
    assert meanwhile(host, lambda folder: accounts.suspend(folder, "ana", "now")) == ("account_suspended", "0")
    accounts.resume(host.path, "ana", "later")
    assert meanwhile(host, lambda folder: accounts.revoke(folder, "ana")) == ("not_signed_in", "0")


def test_a_plan_is_not_run_under_other_declarations_than_its_own(host: Host) -> None:
    def narrowed(folder: Path) -> None:
        (folder / "obverse.toml").write_text(served.TOML.replace("bounds = [0, 120]", "bounds = [18, 65]"))

    assert meanwhile(host, narrowed, "SELECT SUM(age) AS s FROM people") == ("project_changed", "0")


def test_a_purpose_that_is_taken_away_meanwhile_counts(host: Host) -> None:
    def kept(folder: Path) -> None:
        (folder / "obverse.toml").write_text(served.TOML.replace('purposes = ["research"]', 'purposes = ["quality"]'))

    sql = "SELECT COUNT(*) AS n FROM trials"
    assert meanwhile(host, kept, sql, "research") == ("purpose_not_allowed", "0")


def test_questions_that_are_still_read_count_as_waiting(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obverse.server.queries.ASKING_MAX", 3)
    token = accounts.issue(host.path, "ana", "analyst").token

    async def many() -> list[Any]:
        desk = Desk([host])
        caller = await desk.sign_in("hospital", token)
        asked = [desk.ask(caller, Wanted(f"{COUNT} WHERE age <> {number}")) for number in range(8)]
        return await asyncio.gather(*asked, return_exceptions=True)

    codes = [getattr(found, "code", "answer") for found in asyncio.run(many())]
    assert codes.count("answer") == 3
    assert codes.count("too_many_requests") == 5


def test_plans_of_one_account_wait_for_each_other_and_nobody_else_waits(host: Host) -> None:
    """Some take seconds, and are free; more of them than there are threads kept everybody from signing in."""
    tokens = {name: accounts.issue(host.path, name, "analyst").token for name in ("ana", "ben")}
    gate = threading.Event()
    lock = threading.Lock()
    running = 0
    most = 0

    def slow(session: Session) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(60)
        with lock:
            running -= 1

    async def many() -> str:
        desk = Desk([host])
        ana, ben = [await desk.sign_in("hospital", tokens[name]) for name in ("ana", "ben")]
        slowly = [asyncio.ensure_future(desk.seen(ana, "look", "", slow)) for _ in range(host.at_once + 10)]
        try:
            while not running:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.1)
            return await asyncio.wait_for(desk.seen(ben, "look", "", lambda session: session.analyst), 10)
        finally:
            gate.set()
            await asyncio.gather(*slowly)

    assert asyncio.run(many()) == "ben"
    assert most == FREE_MAX


def failing(host: Host) -> tuple[ObverseError, float]:
    token = accounts.issue(host.path, "ana", "analyst").token

    async def asked() -> tuple[ObverseError, float]:
        desk = Desk([host])
        caller = await desk.sign_in("hospital", token)
        begun = time.monotonic()
        with pytest.raises(ObverseError) as failed:
            await desk.ask(caller, Wanted(COUNT))
        return failed.value, time.monotonic() - begun

    return asyncio.run(asked())


def test_a_killed_question_that_cannot_be_noted_is_told_as_any_failure(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Cage, *rest: Any) -> Finished:
        raise Killed

    def unwritable(self: ChainLedger, decide: Any) -> None:
        raise LedgerError("ledger_unwritable", "the disk is full", place="/secret")

    token = accounts.issue(host.path, "ana", "analyst").token
    monkeypatch.setattr(Cage, "release", killed)
    monkeypatch.setattr(accounts, "issue", lambda *rest: accounts.Issued("ana", "analyst", token, "", 0))
    monkeypatch.setattr(ChainLedger, "change_account", unwritable)
    error, _ = failing(host)
    assert isinstance(error, Failed)
    assert error.charged


def test_an_answer_that_cannot_be_stored_still_waits_for_its_tick(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def unwritable(self: ChainLedger, receipt: Any, answer: bytes) -> None:
        raise LedgerError("ledger_unwritable", "the disk is full", charged=True)

    monkeypatch.setattr(ChainLedger, "settle", unwritable)
    monkeypatch.setattr("obverse.server.queries.first_tick", lambda predicted: 1.0)
    error, took = failing(host)
    assert error.charged
    assert took >= 0.99
