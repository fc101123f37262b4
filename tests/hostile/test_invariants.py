"""The corpus's invariants of ledger and time: which test holds each of them, and those that only a service shows."""

from __future__ import annotations

import ast
import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from obverse.core.errors import LedgerError, ObverseError
from obverse.curator import accounts
from obverse.server.project import Host
from obverse.server.queries import Caller, Desk, Wanted
from obverse.server.sandbox.pool import Cage
from obverse.session.planning import Wish
from tests import served

ROOT = Path(__file__).parents[2]
LINES = {
    line["id"]: line
    for line in map(json.loads, (Path(__file__).parent / "corpus.jsonl").read_text().splitlines())
    if line["kind"] == "ledger" or (line["kind"] == "sql_timing" and line["expected"]["verdict"] == "invariant")
}
HELD = {
    "ledger-001": "tests/hostile/test_invariants.py::test_a_hundred_questions_at_once_and_a_budget_for_ten",
    "ledger-003": "tests/unit/server/test_many_servers.py::test_two_servers_give_exactly_what_one_budget_pays",
    "ledger-004": "tests/crash/test_kill.py::test_killed_at_any_step_twenty_times",
    "ledger-005": "tests/crash/test_serve_kill.py::test_a_killed_server_loses_nothing_and_charges_nothing_twice",
    "ledger-007": "tests/crash/test_power_loss.py::test_a_log_cut_anywhere_leaves_a_past_of_the_ledger",
    "ledger-009": "tests/unit/ledger/test_ledger_store.py::test_a_flipped_byte_is_noticed_or_changes_nothing",
    "ledger-011": "tests/unit/ledger/test_opening.py::test_yesterdays_backup_is_noticed_and_costs_what_was_spent_since",
    "ledger-013": "tests/unit/ledger/test_sqlite.py::test_a_full_disk_refuses_the_debit_and_the_service_stays_up",
    "ledger-014": "tests/unit/ledger/test_sqlite.py::"
    "test_after_a_failed_fsync_nothing_is_answered_until_it_is_reopened",
    "ledger-015": "tests/hostile/test_invariants.py::test_without_its_ledger_a_service_answers_public_questions_alone",
    "ledger-017": "tests/crash/test_race.py::test_exactly_the_affordable_number_wins",
    "ledger-018": "tests/crash/test_connection_loss.py::test_conflicts_are_retried_and_charged_once",
    "ledger-019": "tests/unit/ledger/test_protocol.py::test_the_clock_does_not_matter_to_what_is_spent",
    "ledger-021": "tests/unit/ledger/test_protocol.py::"
    "test_a_grant_raises_the_cap_and_a_second_run_of_the_same_grant_does_not",
    "ledger-023": "tests/unit/ledger/test_protocol.py::"
    "test_ten_debits_of_a_tenth_fit_into_one_and_the_eleventh_is_refused",
    "ledger-024": "tests/unit/ledger/test_protocol.py::test_a_lowered_cap_binds_every_later_debit",
    "ledger-025": "tests/unit/ledger/test_formats.py::test_a_file_of_format_0_is_upgraded_bit_for_bit",
    "ledger-027": "tests/hostile/test_invariants.py::test_questions_are_in_no_export_for_others",
    "ledger-031": "tests/unit/core/test_rng.py::test_two_children_and_the_parent_draw_differently",
    "ledger-033": "tests/unit/core/test_rng.py::test_a_seed_in_the_environment_is_refused",
    "sql_timing-010": "tests/hostile/test_timing.py::test_times_of_replies_do_not_tell_the_heaviest_unit",
    "sql_timing-011": "tests/hostile/test_timing.py::test_times_of_replies_do_not_tell_the_noise",
    "sql_timing-012": "tests/hostile/test_invariants.py::"
    "test_when_a_question_is_cancelled_decides_its_charge_and_not_the_data",
    "sql_timing-013": "tests/unit/server/test_queries.py::"
    "test_every_failure_after_the_debit_is_one_text_at_a_tick_and_stays_charged",
}


@pytest.mark.parametrize("line", sorted(LINES))
def test_every_line_is_held_by_a_test_that_is_there(line: str) -> None:
    file, name = HELD[line].split("::")
    found = [node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)]
    assert name in found


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    if not sys.platform.startswith("linux"):
        pytest.skip("a cage needs Linux")
    names = "".join(f"[analysts.a{number}]\n" for number in range(10))
    toml = served.TOML.replace("[analysts.ana]", f"[analysts.ana]\n{names}")
    toml = toml.replace("epsilon = 50", "epsilon = 1").replace("epsilon = 40", "epsilon = 1")
    made = Host(served.project(tmp_path / "p", toml))
    yield made
    made.close()


def test_a_hundred_questions_at_once_and_a_budget_for_ten(host: Host) -> None:
    tokens = [accounts.issue(host.path, f"a{number}", "analyst").token for number in range(10)]

    async def main() -> list[str]:
        desk = Desk([host])
        callers = [await desk.sign_in("hospital", token) for token in tokens]

        async def one(caller: Caller, number: int) -> str:
            try:
                await desk.ask(
                    caller, Wanted(f"SELECT COUNT(*) AS n FROM people WHERE age <> {number}", Wish(epsilon=0.1))
                )
                return "answer"
            except ObverseError as error:
                return error.code

        return list(await asyncio.gather(*(one(callers[number % 10], number) for number in range(100))))

    told = asyncio.run(main())
    assert (told.count("answer"), told.count("budget_exhausted")) == (10, 90)


def test_without_its_ledger_a_service_answers_public_questions_alone(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = accounts.issue(host.path, "ana", "analyst").token

    def unwritable(*args: object, **named: object) -> None:
        raise LedgerError("ledger_unwritable", "the ledger cannot be written, so nothing is answered")

    async def main() -> None:
        desk = Desk([host])
        caller = await desk.sign_in("hospital", token)
        monkeypatch.setattr("obverse.ledger.ledger.StoredLedger._append", unwritable)
        with pytest.raises(LedgerError) as refused:
            await desk.ask(caller, Wanted("SELECT COUNT(*) AS n FROM people"))
        assert not refused.value.charged
        assert len(await desk.ask(caller, Wanted("SELECT clinic FROM clinics"))) == 3

    asyncio.run(main())


def test_questions_are_in_no_export_for_others(host: Host) -> None:
    tokens = {
        role: accounts.issue(host.path, name, role).token for name, role in (("ana", "analyst"), ("rita", "reviewer"))
    }

    async def main() -> str:
        desk = Desk([host])
        analyst = await desk.sign_in("hospital", tokens["analyst"])
        await desk.ask(analyst, Wanted("SELECT COUNT(*) AS n FROM people WHERE age = 77"))
        return "".join(await desk.ledger_lines(await desk.sign_in("hospital", tokens["reviewer"])))

    exported = asyncio.run(main())
    assert '"charge"' in exported
    assert "SELECT" not in exported
    assert "age = 77" not in exported


def test_when_a_question_is_cancelled_decides_its_charge_and_not_the_data(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled before the debit it is free; at any moment of the run it is charged, and stored, on D and on D'
    alike.
    """
    other = Host(served.project(tmp_path / "d", served.TOML.replace('"hospital"', '"without"'), without=(7,)))
    tokens = [accounts.issue(one.path, "ana", "analyst").token for one in (host, other)]
    honest = Cage.release
    moments = ("before", "as it starts", "when it is over")

    async def charges(desk: Desk, caller: Caller, one: Host, moment: str) -> int:
        before = one.clerk().ledger.head().count
        reached = asyncio.Event()
        loop = asyncio.get_running_loop()

        def release(self: Cage, *args: object) -> object:
            found = honest(self, *args) if moment == "when it is over" else None  # type: ignore[arg-type]
            loop.call_soon_threadsafe(reached.set)
            return found if found is not None else honest(self, *args)  # type: ignore[arg-type]

        monkeypatch.setattr(Cage, "release", release)
        sql = f"SELECT COUNT(*) AS n FROM people WHERE age <> {500 + moments.index(moment)}"
        task = asyncio.ensure_future(desk.ask(caller, Wanted(sql, Wish(epsilon=0.01))))
        if moment != "before":
            await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while desk._running:
            await asyncio.wait(set(desk._running))
        return one.clerk().ledger.head().count - before

    async def main() -> list[tuple[int, ...]]:
        desk = Desk([host, other])
        found = []
        for one, token in zip((host, other), tokens):
            caller = await desk.sign_in(one.name, token)
            await desk.ask(caller, Wanted("SELECT COUNT(*) AS n FROM people WHERE age <> 499", Wish(epsilon=0.01)))
            found.append(tuple([await charges(desk, caller, one, moment) for moment in moments]))
        return found

    try:
        on_d, without = asyncio.run(main())
        assert on_d == without == (0, 2, 2), "a debit and its stored answer, or nothing"
    finally:
        other.close()
