"""The desk: who may ask, what a question costs, when its answer leaves, and what a failure tells."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from obverse.core.errors import BudgetExceeded, CatalogError, Failed, LedgerError, ObverseError, Refused
from obverse.curator import accounts
from obverse.engines.base import public_failure
from obverse.plan.pricing import Plan
from obverse.plan.release.postprocess import Finished
from obverse.server import queries
from obverse.server.project import Host
from obverse.server.queries import Caller, Desk, Wanted
from obverse.server.sandbox.pool import Cage, Killed
from obverse.server.timing import limit_s, predicted_s
from obverse.session.planning import Wish
from tests import served

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
T = TypeVar("T")
COUNT = "SELECT COUNT(*) AS n FROM people"
EARLY_S = 0.001  # of a tick: the clock's grain; how late one may be is for `make bench` to tell


class Service:
    """A host and a desk that lives in a loop of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = Host(folder)
        self.home = os.environ["OBVERSE_HOME"]
        self.tokens = served.tokens(folder)

    def run(self, act: Callable[[Desk], Coroutine[Any, Any, T]], **options: Any) -> T:
        async def main() -> T:
            return await act(Desk([self.host], **options))

        return asyncio.run(main())

    def as_(self, name: str, act: Callable[[Desk, Caller], Coroutine[Any, Any, T]]) -> T:
        async def signed_in(desk: Desk) -> T:
            return await act(desk, await desk.sign_in("hospital", self.tokens[name]))

        return self.run(signed_in)

    def ask(self, sql: str, name: str = "ana", **wanted: Any) -> Any:
        return self.as_(name, lambda desk, caller: desk.ask(caller, Wanted(sql, **wanted)))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OBVERSE_HOME", str(tmp_path_factory.mktemp("home")))
        made = Service(served.project(tmp_path_factory.mktemp("served")))
        yield made
        made.host.close()


@pytest.fixture(autouse=True)
def same_home(service: Service, home_of_the_test: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBVERSE_HOME", service.home)


def code(act: Callable[[], object]) -> str:
    with pytest.raises(ObverseError) as refused:
        act()
    return refused.value.code


def test_an_answer_leaves_at_its_tick_and_again_at_the_first(service: Service) -> None:
    async def timed(desk: Desk, caller: Caller) -> tuple[float, float, Any]:
        begun = time.monotonic()
        answer = await desk.ask(caller, Wanted("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"))
        middle = time.monotonic()
        again = await desk.ask(caller, Wanted("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"))
        assert again.rows == answer.rows
        assert again.price.stored
        return middle - begun, time.monotonic() - middle, answer

    first, second, answer = service.as_("ana", timed)
    assert not answer.price.stored
    assert min(first, second) >= 0.1 - EARLY_S


def test_only_an_overrun_waits_for_the_next_tick(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Cage.release

    def slow(self: Cage, *args: Any) -> Finished:
        time.sleep(0.25)
        return honest(self, *args)

    monkeypatch.setattr(Cage, "release", slow)
    begun = time.monotonic()
    service.ask("SELECT COUNT(*) AS n FROM people WHERE age > 81")
    assert time.monotonic() - begun >= 0.5 - EARLY_S


def test_nobody_sees_that_an_answer_is_ready_before_its_tick(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its address, nor the list of questions, nor the question asked again tells how long the rows took."""
    tick = 1.0
    sql = "SELECT COUNT(*) AS n FROM people WHERE age > 83"
    monkeypatch.setattr("obverse.server.queries.first_tick", lambda predicted: tick)

    async def watched(desk: Desk, caller: Caller) -> tuple[float, str, bool]:
        before = await desk.work("hospital", lambda host: host.clerk().ledger.head().count)
        begun = time.monotonic()
        asked = asyncio.ensure_future(desk.ask(caller, Wanted(sql, key="watched")))
        again = None
        told = ""
        receipt = ""
        while not asked.done():
            entries = await desk.work("hospital", lambda host: list(host.clerk().ledger.entries())[before:])
            charged = [entry for entry in entries if entry.kind == "charge"]
            if charged and again is None:
                receipt = charged[0].fields["id"]
                again = asyncio.ensure_future(desk.ask(caller, Wanted(sql, key="watched")))
            if any(entry.kind == "settle" for entry in entries):
                break
            await asyncio.sleep(0.01)
        seen = time.monotonic() - begun
        assert again is not None
        try:
            await again
        except Failed as failed:
            told = failed.code
        return seen, told, (await desk.stored(caller, receipt)).rows == (await asked).rows

    seen, told, same = service.as_("ana", watched)
    assert seen >= tick - EARLY_S
    assert told == "answer_lost", "asked again meanwhile: it is not told whether it is ready"
    assert same


def test_a_killed_question_is_noted_at_its_tick(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note makes cookies void, so that it must not tell when the question was killed."""
    tick = 0.4
    monkeypatch.setattr("obverse.server.queries.first_tick", lambda predicted: tick)

    def killed(self: Cage, *args: Any) -> Finished:
        raise Killed

    monkeypatch.setattr(Cage, "release", killed)

    async def watched(desk: Desk, caller: Caller) -> float:
        epoch = (await desk.account(caller)).epoch
        begun = time.monotonic()
        asked = asyncio.ensure_future(desk.ask(caller, Wanted(f"{COUNT} WHERE age <> 84")))
        while (await desk.account(caller)).epoch == epoch:
            await asyncio.sleep(0.01)
        seen = time.monotonic() - begun
        with pytest.raises(Failed):
            await asked
        return seen

    assert service.as_("ana", watched) >= tick - EARLY_S
    accounts.resume(service.folder, "ana", "this was a test")


def test_planning_and_storing_are_rounded_beside_the_tick(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """With steps so long that they show: half a second to store, and planning that is said to end in 0.3 seconds."""
    monkeypatch.setattr("obverse.server.timing.STEP_S", 0.5)
    monkeypatch.setattr("obverse.server.queries.begun_at", lambda came: came + 0.3)
    begun = time.monotonic()
    service.ask("SELECT COUNT(*) AS rounded FROM people", wish=Wish(epsilon=0.01))
    assert time.monotonic() - begun >= 0.3 + 0.1 + 0.5 - EARLY_S


def test_a_refusal_is_free_and_leaves_at_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for no tick; how soon it leaves is for `make bench` to tell."""
    monkeypatch.setattr("obverse.server.timing.tick_after", lambda *_: pytest.fail("it waited for a tick"))

    async def refused(desk: Desk, caller: Caller) -> None:
        before = (await desk.budget(caller)).lines[0].spent
        with pytest.raises(Refused) as told:
            await desk.ask(caller, Wanted("SELECT * FROM people"))
        assert told.value.code == "not_aggregate"
        assert (await desk.budget(caller)).lines[0].spent == before

    service.as_("ana", refused)


def test_strangers_all_look_the_same(service: Service) -> None:
    tried = [("hospital", "obv_" + "x" * 43), ("hospital", ""), ("elsewhere", service.tokens["ana"]), ("", "")]
    told = set()
    for project, token in tried:
        with pytest.raises(Refused) as refused:
            service.run(lambda desk, project=project, token=token: desk.sign_in(project, token))  # type: ignore[misc]
        told.add(str(refused.value))
    assert len(told) == 1
    assert "not_signed_in" in told.pop()


def test_a_token_expires_by_the_clock_of_the_server(service: Service) -> None:
    issued = accounts.issue(service.folder, "ana", "analyst", days=1)

    def signed_in_at(now: float) -> Caller:
        return service.run(lambda desk: desk.sign_in("hospital", issued.token), clock=lambda: now)

    assert signed_in_at(issued.expires - 1.0).name == "ana"
    for late in (0.0, 1.0):
        assert code(lambda late=late: signed_in_at(issued.expires + late)) == "not_signed_in"


def test_what_was_revoked_is_void_at_once(service: Service) -> None:
    issued = accounts.issue(service.folder, "ben", "analyst")

    async def twice(desk: Desk) -> None:
        caller = await desk.sign_in("hospital", issued.token)
        await desk.tables(caller)
        accounts.revoke(service.folder, "ben", issued.id)
        for act in (lambda: desk.tables(caller), lambda: desk.sign_in("hospital", issued.token)):
            with pytest.raises(Refused) as refused:
                await act()
            assert refused.value.code == "not_signed_in"
        # his other token lives, and so does he
        await desk.tables(await desk.sign_in("hospital", service.tokens["ben"]))

    service.run(twice)
    rotated = accounts.rotate(service.folder, "ben")
    assert code(lambda: service.ask(COUNT, "ben")) == "not_signed_in"
    service.tokens["ben"] = rotated.token
    assert service.ask(COUNT, "ben").claim.epsilon


def test_roles_have_what_is_theirs(service: Service) -> None:
    assert code(lambda: service.ask(COUNT, "rita")) == "not_allowed"
    assert code(lambda: service.as_("ana", lambda desk, caller: desk.ledger_lines(caller))) == "not_allowed"
    lines = list(service.as_("rita", lambda desk, caller: desk.ledger_lines(caller)))
    from obverse.ledger.transfer import verify_export

    assert verify_export(lines).count == len(lines) - 2
    assert all('"note":""' in line for line in lines[1:-1]), "an export for others holds no questions and no hashes"


def test_one_sees_ones_own_answers_and_a_reviewer_all(service: Service) -> None:
    answer = service.ask("SELECT COUNT(*) AS n FROM people WHERE age > 30")
    receipt = answer.claim.receipt
    for name in ("ana", "rita", "cora"):
        assert service.as_(name, lambda desk, caller: desk.stored(caller, receipt)).rows == answer.rows
    assert code(lambda: service.as_("ben", lambda desk, caller: desk.stored(caller, receipt))) == "not_found"
    assert code(lambda: service.as_("rita", lambda desk, caller: desk.stored(caller, "0" * 32))) == "not_found"


def test_a_key_is_never_charged_twice_and_stands_for_one_question(service: Service) -> None:
    first = service.ask("SELECT AVG(age) AS a FROM people", key="k-1")
    assert service.ask("SELECT AVG(age) AS a FROM people", key="k-1").rows == first.rows
    assert code(lambda: service.ask(COUNT + " WHERE age > 3", key="k-1")) == "idempotency_conflict"


def test_a_table_is_asked_for_its_purposes_alone(service: Service) -> None:
    sql = "SELECT COUNT(*) AS n FROM trials"
    assert code(lambda: service.ask(sql)) == "purpose_not_allowed"
    assert code(lambda: service.ask(sql, purpose="quality")) == "purpose_not_allowed"
    assert code(lambda: service.ask(sql, "ben")) == "purpose_not_allowed"
    assert service.ask(sql, purpose="research").claim.epsilon


def test_a_cap_of_ones_own_binds(service: Service) -> None:
    with pytest.raises(BudgetExceeded):
        service.ask(COUNT + " WHERE age > 70", "ben", wish=Wish(epsilon=2))


def test_a_suspended_account_waits_for_the_curator(service: Service) -> None:
    accounts.suspend(service.folder, "ana", "leave of absence")
    assert code(lambda: service.ask(COUNT)) == "account_suspended"
    accounts.resume(service.folder, "ana", "she is back")
    assert service.ask(COUNT).claim.epsilon


def test_every_failure_after_the_debit_is_one_text_at_a_tick_and_stays_charged(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = set()
    for number, fault in enumerate((Killed(), RuntimeError("eve"), MemoryError(), OSError("eve"))):

        def release(self: Cage, *args: Any, fault: Exception = fault) -> Finished:
            raise fault

        monkeypatch.setattr(Cage, "release", release)

        async def failing(desk: Desk, caller: Caller, number: int = number) -> float:
            before = (await desk.budget(caller)).lines[0].spent
            begun = time.monotonic()
            with pytest.raises(Failed) as failed:
                await desk.ask(caller, Wanted(f"SELECT COUNT(*) AS n FROM people WHERE age <> {number}"))
            took = time.monotonic() - begun
            assert failed.value.charged
            assert float((await desk.budget(caller)).lines[0].spent) == pytest.approx(float(before) + 0.1)
            text = str(failed.value)
            assert "eve" not in text
            told.add(" ".join("#" if len(word) > 30 else word for word in text.replace(".", "").split()))
            return took

        assert service.as_("ana", failing) >= 0.1 - EARLY_S
    assert len(told) == 1
    accounts.resume(service.folder, "ana", "these were tests")


def test_who_meets_the_limit_three_times_is_stopped_until_the_curator_looks(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Cage, costed: Plan, *rest: Any) -> Finished:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Cage, "release", killed)
        for number in range(3):
            assert code(lambda number=number: service.ask(f"{COUNT} WHERE age <> {50 + number}")) == "engine_failure"
        assert code(lambda: service.ask(f"{COUNT} WHERE age <> 60")) == "account_suspended"
    assert code(lambda: service.ask(COUNT)) == "account_suspended"
    accounts.resume(service.folder, "ana", "looked at them")
    assert service.ask(COUNT).claim.epsilon


def test_a_public_question_that_takes_all_of_its_time_counts_as_well_and_one_that_fails_soon_does_not(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is free, and keeps others waiting as long as a paid one."""

    def failed(self: Cage, sql: str, *, timeout_s: float) -> Any:
        raise public_failure()

    def times(lasts: float) -> Iterator[float]:
        for begun in itertools.count():
            yield from (1000.0 * begun, 1000.0 * begun + lasts)

    monkeypatch.setattr(Cage, "run_public", failed)
    for lasts, expected in ((0.5, 5 * ["engine_failure"]), (999.0, 3 * ["engine_failure"] + 2 * ["account_suspended"])):
        monkeypatch.setattr(queries, "monotonic", times(lasts).__next__)
        assert [code(lambda: service.ask("SELECT COUNT(*) AS n FROM clinics")) for _ in range(5)] == expected
    monkeypatch.undo()
    accounts.resume(service.folder, "ana", "looked at them")


def test_an_answer_of_too_many_values_is_refused_for_free(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "VALUES_MAX", 6)
    before = service.as_("ana", lambda desk, caller: desk.budget(caller)).lines[0].spent
    for sql in (
        "SELECT sex, age, COUNT(*) AS n FROM people GROUP BY sex, age", "SELECT DISTINCT sex, age FROM people",
        "SELECT sex, COUNT(*) AS n, SUM(age) AS s, AVG(age) AS a FROM people GROUP BY sex",
    ):  # fmt: skip
        assert code(lambda sql=sql: service.ask(sql)) == "too_many_rows"
    assert service.as_("ana", lambda desk, caller: desk.budget(caller)).lines[0].spent == before
    assert len(service.ask("SELECT sex, age, COUNT(*) AS n FROM people GROUP BY sex, age ORDER BY n LIMIT 2").rows) == 2
    assert len(service.ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex").rows) == 2


def test_an_engine_that_is_not_there_costs_nothing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(self: Cage) -> Any:
        raise CatalogError("engine_unavailable", "the engine does not answer.", place="db.example:5432")

    monkeypatch.setattr(Cage, "taken", gone)
    before = service.as_("ana", lambda desk, caller: desk.budget(caller)).lines[0].spent
    assert code(lambda: service.ask(f"{COUNT} WHERE age = 61")) == "project_unavailable"
    assert service.as_("ana", lambda desk, caller: desk.budget(caller)).lines[0].spent == before


def test_a_question_goes_on_when_its_asker_goes_away(service: Service) -> None:
    sql = "SELECT COUNT(*) AS n FROM people WHERE age = 17"

    async def impatient(desk: Desk, caller: Caller) -> Any:
        task = asyncio.ensure_future(desk.ask(caller, Wanted(sql, key="gone")))
        while not desk._running:  # it was admitted
            await asyncio.sleep(0.005)
        task.cancel()
        await desk.stop()
        with pytest.raises(ObverseError) as refused:
            await desk.ask(caller, Wanted(COUNT))
        assert refused.value.code == "stopping"

    service.as_("ana", impatient)
    assert service.ask(sql, key="gone").price.stored


def test_changed_files_are_loaded_again(service: Service, tmp_path: Path) -> None:
    folder = served.project(tmp_path / "other", served.TOML.replace('"hospital"', '"other"'), people=60)
    host = Host(folder)
    try:
        before = host.clerk().project
        assert host.clerk().project is before
        served.project(folder, served.TOML.replace('"hospital"', '"other"'), people=90)
        assert host.clerk().project is not before
        assert host.clerk().project is host.clerk().project
    finally:
        host.close()


def test_two_projects_of_one_name_are_refused(service: Service) -> None:
    with pytest.raises(Refused) as refused:
        Desk([service.host, service.host])
    assert refused.value.code == "name_twice"


def test_describe_tells_columns_and_runs_nothing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cage, "taken", None)
    sql = "SELECT sex, COUNT(*) AS n, AVG(age) FROM people GROUP BY sex"
    found = service.as_("ana", lambda desk, caller: desk.describe(caller, Wanted(sql)))
    assert [(c.name, c.type.value, c.role) for c in found] == [
        ("sex", "text", "key"),
        ("n", "integer", "value"),
        (found[2].name, "double", "value"),
    ]


def test_what_is_described_is_what_is_answered(service: Service) -> None:
    grouped = "SELECT sex, MEDIAN(born) AS m FROM people GROUP BY sex"
    for sql in (COUNT, grouped, "SELECT * FROM clinics", "SELECT DISTINCT sex FROM people"):
        found = service.as_("ana", lambda desk, caller, sql=sql: desk.describe(caller, Wanted(sql)))  # type: ignore[misc]
        assert found == service.ask(sql).columns


def test_a_prediction_is_of_the_plan_and_public_figures_alone(service: Service) -> None:
    session = service.host.clerk().session("ana", "", service.host.cage.refuse_to_release)
    few = session.prepare(COUNT, Wish()).planned
    joined = session.prepare("SELECT COUNT(*) FROM visits a JOIN visits b ON a.person_id = b.person_id", Wish()).planned
    assert few is not None
    assert joined is not None
    assert predicted_s(few, service.host.catalog) < predicted_s(joined, service.host.catalog)
    assert limit_s(100.0, service.host.catalog) == 1000.0
    assert limit_s(0.01, service.host.catalog) == 30.0
    with pytest.raises(Refused) as refused:
        limit_s(361.0, service.host.catalog)
    assert refused.value.code == "too_costly"


def test_places_of_files_and_servers_are_told_to_the_operator_alone(
    service: Service, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = served.project(tmp_path / "broken", served.TOML.replace('"hospital"', '"broken"'), people=70)
    host = Host(folder)
    try:
        token = accounts.issue(folder, "ana", "analyst").token

        async def asked() -> None:
            desk = Desk([host])
            caller = await desk.sign_in("broken", token)
            (folder / "obverse.toml").write_text("nonsense")
            for act in (lambda: desk.ask(caller, Wanted(COUNT)), lambda: desk.tables(caller)):
                with pytest.raises(Refused) as refused:
                    await act()
                assert refused.value.code == "project_unavailable"
                assert "toml" not in str(refused.value)
            served.project(folder, served.TOML.replace('"hospital"', '"broken"'), people=70)
            (folder / ".obverse" / "ledger.db").rename(folder / "gone.db")
            with pytest.raises(LedgerError) as lost:
                await desk.ask(caller, Wanted(COUNT))
            assert str(tmp_path) not in str(lost.value)

        asyncio.run(asked())
        assert "obverse.toml" in caplog.text
        assert "ledger" in caplog.text
    finally:
        host.close()


def test_that_somebody_is_left_out_is_not_told_where_their_list_is_missing(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(*args: Any) -> None:
        raise LedgerError("rights_missing", "people who are to be left out are not known here")

    monkeypatch.setattr("obverse.server.project.overlay_now", missing)
    with pytest.raises(LedgerError) as refused:
        service.ask(f"{COUNT} WHERE age <> 85")
    assert (refused.value.code, refused.value.charged) == ("ledger_unavailable", False)
    assert "left out" not in str(refused.value)
    assert "rights_missing" in caplog.text


def test_of_one_account_so_many_questions_wait_at_a_time(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obverse.server.queries.ASKING_MAX", 3)

    async def many(desk: Desk, caller: Caller) -> list[str]:
        async def one(number: int) -> str:
            try:
                await desk.ask(caller, Wanted(f"{COUNT} WHERE age <> {200 + number}"))
                return "answer"
            except Refused as refused:
                return refused.code

        first = [asyncio.ensure_future(one(number)) for number in range(3)]
        while desk._asking.get(caller, 0) != 3:
            await asyncio.sleep(0.005)
        late = await one(9)
        return [late, *(await asyncio.gather(*first)), await one(10)]

    assert service.as_("ana", many) == ["too_many_requests", "answer", "answer", "answer", "answer"]


def test_a_question_that_runs_is_finished_when_the_project_is_loaded_again(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml = served.TOML.replace('"hospital"', '"again"')
    folder = served.project(tmp_path / "again", toml, people=80)
    host = Host(folder)
    honest = Cage.release
    before = host.cage

    def meanwhile(self: Cage, *args: Any) -> Finished:
        (folder / "obverse.toml").write_text(toml + "# changed\n")
        host.clerk()
        assert host.cage is not before
        return honest(self, *args)

    try:
        token = accounts.issue(folder, "ana", "analyst").token
        monkeypatch.setattr(Cage, "release", meanwhile)

        async def asked() -> Any:
            desk = Desk([host])
            return await desk.ask(await desk.sign_in("again", token), Wanted(COUNT))

        assert asyncio.run(asked()).claim.epsilon
        assert before._closed, "with its last question a cage that was replaced ends"
    finally:
        host.close()
