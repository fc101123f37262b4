"""The keyed form says what the long form says: the same keys, votes and sums, in whatever batches, on every engine."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from obverse.core.errors import Failed
from obverse.core.secret import Exact
from obverse.engines import duckdb, postgres
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit.rows import Rows
from obverse.plan.emit.sources import Sources
from obverse.plan.emit.sums import Parts
from obverse.plan.pricing import Plan, Thresholded, allocate
from obverse.plan.release.noise import Released, randomize, randomize_keys
from obverse.plan.sensitivity import MeasuredPlan
from obverse.testing.neighbours import family
from obverse.testing.noiseless import Identity, SeededRng
from tests.soundness.conftest import HASH_KEY, World
from tests.stands import STANDS

QUESTIONS = (
    "SELECT t, COUNT(*), SUM(i) FROM t GROUP BY t",
    "SELECT g, AVG(c), COUNT(q) FROM t GROUP BY g",
    "SELECT f, t, SUM(i * 2), COUNT(*) FROM t WHERE p > 12 GROUP BY f, t",
    "SELECT CAST(t AS DATE), COUNT(*) FROM t GROUP BY 1",
    "SELECT CAST(t AS TIMESTAMP), g, COUNT(*) FROM t GROUP BY 1, 2",
)
TEXTS = ("2020-02-29", "2020-03-01 12:30:00", "a", "B", "é", "", "\U0001f600", "zz", None)
DOUBLES = (0.0, -0.0, math.nan, math.inf, -1.5, 1e300, None)
UNITS = ("row", "many")


class Everything(World):
    """The table of the master law, with keys that are hard to tell apart or to put in order."""

    def odd(self) -> dict[str, Any]:
        made = family(self.catalog, self.schemas, 7, units=14, crowd=4).database(14)
        rows = [row | {"t": TEXTS[n % 9], "g": DOUBLES[n % 7], "f": n % 3 or None} for n, row in enumerate(made["t"])]
        return {**made, "t": tuple(rows)}


@pytest.fixture(scope="module", params=[(unit, kind) for unit in UNITS for kind in STANDS], ids="-".join)
def here(request: pytest.FixtureRequest) -> Iterator[Everything]:
    made = Everything(request.param[0], "add-remove", kind=request.param[1], parallel=2)
    made.fill(made.odd())
    yield made
    made.stand.close()


def long_text(here: World, plan: MeasuredPlan) -> str:
    dialect = DIALECTS[here.engine.dialect]
    return Parts(Rows(plan.root, Sources(here.catalog, dialect, HASH_KEY), dialect), HASH_KEY).text()


def bare(plan: MeasuredPlan) -> Plan:
    """The plan without noise."""
    costed = allocate(plan, Fraction(1), Fraction(1, 10**6), "pure")
    quiet: Any = Identity()
    return replace(costed, noise=Thresholded((quiet,) * len(costed.mechanisms), quiet))


def told(released: Released) -> list[tuple[str, ...]]:
    """Rows in the order in which they are released."""
    columns = [*(key.tolist() for key in released.keys), *(released.sums[i].tolist() for i in sorted(released.sums))]
    return [tuple(map(repr, row)) for row in zip(*columns)]


def sliced(columns: Any, size: int) -> Iterator[Exact[Any]]:
    for start in range(0, len(columns["n"]), size):
        yield Exact({name: values[start : start + size] for name, values in columns.items()})


@pytest.mark.parametrize("text", QUESTIONS)
def test_both_forms_release_the_same_without_noise(text: str, here: Everything) -> None:
    plan, sql = here.plan(text)
    assert plan.root.keyed
    costed = bare(plan)
    rng = SeededRng(1)
    expected = told(randomize(here.engine.run(long_text(here, plan), timeout_s=60), costed, rng))
    assert len(expected) >= 3
    whole = here.engine.run(sql, timeout_s=60).reveal()
    for size in (1, 7, len(whole["n"])):
        assert told(randomize_keys(sliced(whole, size), costed, rng)) == expected, size


@pytest.mark.parametrize("rows", [1, 7, 1 << 16])
def test_an_engine_gives_all_rows_in_batches(rows: int, here: Everything, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (duckdb, postgres):
        monkeypatch.setattr(module, "BATCH_ROWS", rows)
    if here.kind == "spark":
        here.engine._session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(rows))
    for text in QUESTIONS if rows == 7 else QUESTIONS[:1]:
        plan, sql = here.plan(text)
        sizes = []

        def counted(sql: str = sql, sizes: list[int] = sizes) -> Iterator[Exact[Any]]:
            for batch in here.engine.batches(sql, timeout_s=60):
                sizes.append(len(batch.reveal()["n"]))
                yield batch

        found = told(randomize_keys(counted(), bare(plan), SeededRng(1)))
        assert found == told(randomize_keys([here.engine.run(sql, timeout_s=60)], bare(plan), SeededRng(1)))
        assert max(sizes) <= rows
        assert sum(sizes) == len(found)


def test_work_that_is_left_leaves_the_engine_fit(here: Everything) -> None:
    _, sql = here.plan(QUESTIONS[0])
    some = here.engine.batches(sql, timeout_s=60)
    next(some)
    some.close()
    assert list(here.engine.batches(sql, timeout_s=60))


def test_a_failure_is_one_constant_text(here: Everything) -> None:
    with pytest.raises(Failed, match="engine_failure") as failed:
        list(here.engine.batches("SELECT CAST('eve' AS BIGINT) AS n FROM t", timeout_s=60))
    assert "eve" not in str(failed.value)


def test_no_rows_are_no_keys(here: Everything) -> None:
    plan, sql = here.plan("SELECT t, COUNT(*) FROM t WHERE p > 1000 GROUP BY t")
    found = randomize_keys(here.engine.batches(sql, timeout_s=60), bare(plan), SeededRng(1))
    assert (found.cells, told(found)) == (0, [])
    assert dt.datetime(2020, 1, 1) not in found.keys[0]
