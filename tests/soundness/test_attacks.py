"""Questions written to get less noise than they need, or to make one row raise; each of them once worked."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.core.errors import Refused
from obverse.core.types import INT64_MAX, INT64_MIN
from obverse.plan.emit.emit import emit
from obverse.session.planning import annotated, read
from tests.soundness.stacked import exact, moved
from tests.stands import MemoryEngine

ROW = {
    "i": 1, "p": 10, "d": 10.0, "c": 0.0, "w": "1", "m": "1", "s": "a", "o": "x", "b": True, "day": dt.date(2020, 1, 1),
    "ts": dt.datetime(2020, 1, 1), "big": 2**53 + 1, "f": INT64_MIN, "g": 1.0, "t": "a",
}  # fmt: skip


def stacked(condition: str, where: str = "true") -> str:
    """Three counts that one row can raise at once; a planner that believes none can would ask for a third of the
    noise.
    """
    other = ", ".join(f"COUNT(CASE WHEN {condition} AND {more} THEN 1 END)" for more in ("b", "b IS NOT NULL"))
    return f"SELECT COUNT(CASE WHEN {condition} THEN 1 END), {other} FROM t WHERE {where}"


NEW_YEAR = "TIMESTAMP '2020-01-01 00:00:00'"
LATER = "TIMESTAMP '2020-01-05 12:00:00'"
LARGE = "big BETWEEN 9007199254740992 AND 9007199254740996"
STACKED = {
    "a date beside a timestamp": stacked("day = TIMESTAMP '2020-01-01 00:00:00'"),
    "a date in a list of timestamps": stacked(
        "day IN (TIMESTAMP '2020-01-01 00:00:00', TIMESTAMP '2021-01-01 00:00:00')"
    ),
    "the earlier of a date and a timestamp": stacked(f"LEAST(day, {LATER}) = {NEW_YEAR}"),
    "a date or else a timestamp": stacked(f"COALESCE(day, {LATER}) = {NEW_YEAR}"),
    "a date that is a timestamp made NULL": stacked("NULLIF(day, TIMESTAMP '2020-01-01 00:00:00') IS NULL"),
    "facts from timestamps read as days": stacked(
        "day = DATE '2020-01-01'", "day IN (TIMESTAMP '1970-01-01 00:00:00.018300', TIMESTAMP '2020-01-01 00:00:00')"
    ),
    "a large integer beside a double": stacked("big = 9007199254740992.0 AND big = 9007199254740993", LARGE),
    "facts from a double beside large integers": stacked(
        "big = 9007199254740993", "big >= 9007199254740992 AND big <= 9007199254740992.0"
    ),
    "facts from a list with a double": stacked("big = 9007199254740993", "big IN (9007199254740992, 1.5)"),
    "sums of large integers as doubles": stacked(
        "big + big + big + big = 36028797018963972.0 OR big * 4096 * 4096 > 0",
        "big BETWEEN 9007199254740992 AND 9007199254740996",
    ),
    "a number that is not one": stacked("i * 1e308 * 10 - i * 1e308 * 10 > 5"),
    "NaN equals itself": stacked("i * 1e308 * 10 - i * 1e308 * 10 = i * 1e308 * 10 - i * 1e308 * 10"),
    "a letter folded to another": stacked("o ILIKE 'X'"),
}


def overflowing() -> str:
    """An integer sum whose exact bound fits 64 bits, while the doubles it comes from were rounded above their bound."""
    for n in range(1, 1000):
        a = 1.0e8 + 1 / n
        b = 2.0e9 + 1 / (n + 1)
        exact = 10 * Fraction(a) * Fraction(b)
        top = math.ceil(exact)
        if int(10.0 * a * b) > top:
            return (
                f"SELECT COUNT(CASE WHEN CAST(d * {a!r} * {b!r} AS INTEGER) + {INT64_MAX - top} > i THEN 1 END) FROM t"
            )
    raise AssertionError("no such pair of factors")


RAISING = {
    "a pattern that ends in its escape sign": "SELECT COUNT(*) FROM t WHERE t LIKE 'a!' ESCAPE '!'",
    "the same, folded": "SELECT COUNT(*) FROM t WHERE t ILIKE 'aZ' ESCAPE 'z'",
    "an escape of two bytes": "SELECT COUNT(*) FROM t WHERE t LIKE 'aé' ESCAPE 'é'",
    "a sum above 64 bits": overflowing(),
    "the lowest integer over -1": "SELECT COUNT(big // (i - 2)), COUNT(f // (i - 2)), COUNT(big % (i - 2)) FROM t",
    "its negative, its magnitude": "SELECT COUNT(-f), COUNT(ABS(f)), COUNT(f - 1), COUNT(f * f), SUM(CLAMP(-f, 0, 5)) "
    "FROM t",
    "a division by zero": "SELECT COUNT(i / (i - 1)), COUNT(i // (i - 1)), COUNT(i % (i - 1)), COUNT(g / (g - 1)) FROM "
    "t",
    "a cast that does not fit": "SELECT COUNT(CAST(g * 1e300 AS INTEGER)), COUNT(CAST(t AS DATE)), COUNT(t::INTEGER) "
    "FROM t",
    "a NULL of another type": "SELECT COUNT(CASE WHEN COALESCE(i, CAST(NULL AS DATE)) > 0 THEN 1 END) FROM t",
    "a part of a date that is NULL": "SELECT COUNT(EXTRACT(MONTH FROM CASE WHEN b THEN NULL END)) FROM t",
    "the hour of a date": "SELECT date_trunc('hour', day), COUNT(*) FROM t WHERE day < DATE '2020-02-01' GROUP BY 1",
    "the lowest integers as keys": "SELECT big, COUNT(*) FROM t WHERE big < -9223372036854775800 GROUP BY 1",
    "a date and a timestamp compared": "SELECT COUNT(CASE WHEN day < TIMESTAMP '2020-01-01 12:00:00' THEN 1 END) FROM "
    "t",
}


@pytest.mark.parametrize("name", STACKED)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_row_that_the_planner_thinks_impossible_moves_no_more_than_claimed(
    name: str, neighbours: str, world: Callable[..., Any]
) -> None:
    here = world("row", neighbours)
    plan, sql = here.plan(STACKED[name])
    seen = []
    for rows in ((ROW | {"o": None, "day": None, "big": None, "i": None},), (ROW,)):
        here.fill({"t": rows})
        seen.append(here.vectors(plan, sql))
    assert all(claim.holds() for claim in moved(plan, *seen)), plan.joint


@pytest.mark.parametrize("name", RAISING)
def test_no_row_makes_the_engine_raise(name: str, world: Callable[..., Any]) -> None:
    here = world("row", "add-remove")
    try:
        plan, sql = here.plan(RAISING[name])
    except Refused:
        return  # refused before anything is spent, whatever the rows
    for rows in (
        (),
        (ROW,),
        (ROW | {"big": INT64_MIN}, ROW | dict.fromkeys(ROW)),
        (ROW | {"g": math.nan, "t": "aé!"},),
    ):
        here.fill({"t": rows})
        here.vectors(plan, sql)


def test_what_is_refused_is_refused_for_its_text(world: Callable[..., Any]) -> None:
    for name in ("a pattern that ends in its escape sign", "the same, folded", "an escape of two bytes"):
        with pytest.raises(Refused) as refused:
            world("row", "add-remove").plan(RAISING[name])
        assert refused.value.code == "type_error"


def test_two_spellings_of_one_key_are_one_unit(world: Callable[..., Any]) -> None:
    """A key declared as an integer is read as one, so that '7' and ' 07' cannot contribute twice."""
    here = world("many", "add-remove", True)
    plan, sql = here.plan("SELECT COUNT(*) FROM t")
    texts = {name: None if value is None else str(value) for name, value in ROW.items()}
    here.fill({"t": tuple(texts | {"person": key} for key in ("7", " 7", "07", "7.0", "+7") for _ in range(2))})
    assert here.vectors(plan, sql).totals == (3,)
    here.fill({"t": tuple(texts | {"person": key} for key in ("seven", "", "nan", None))})
    assert here.vectors(plan, sql).totals == (0,)


def test_infinities_and_nan_are_no_numbers_and_count_nowhere(world: Callable[..., Any]) -> None:
    here = world("row", "add-remove")
    plan, sql = here.plan("SELECT COUNT(d), SUM(d), COUNT(c), AVG(c) FROM t")
    here.fill({"t": tuple(ROW | {"d": x, "c": x} for x in (math.inf, -math.inf, math.nan))})
    assert set(here.vectors(plan, sql).totals) == {0}


WARD = """
[project]
name = "ward"
[privacy]
neighbours = "replace"
[budget]
epsilon = 1
[tables.people]
source = "python"
unit = "person"
size = 3
[tables.people.columns]
age = { type = "integer", bounds = [60, 90], nullable = false }
"""
VISITS = """
[tables.visits]
source = "python"
unit = "person -> people.person"
limits = { rows = 2 }
[tables.visits.columns]
cost = { type = "integer", bounds = [0, 9] }
"""


@pytest.mark.parametrize(
    "sql", ["SELECT SUM(age) FROM people", "SELECT AVG(age) FROM people", "SELECT COUNT(*) FROM people"]
)
def test_someone_without_a_row_in_the_units_own_table_may_come_in_place_of_another(sql: str) -> None:
    """Whoever has visits alone is a unit too; the table of people is not surely one row for each."""
    schemas = {"people": {"person": "BIGINT", "age": "BIGINT"}, "visits": {"person": "BIGINT", "cost": "BIGINT"}}
    catalog = complete(loads(WARD + VISITS, Path("/")), schemas, {})
    question = read(sql, catalog, dt.datetime(2024, 1, 1))
    plan = annotated(question, catalog)  # type: ignore[arg-type]
    text = emit(plan.root, catalog, "duckdb")
    engine = MemoryEngine(catalog, schemas)
    others = ({"person": 1, "age": 90}, {"person": 2, "age": 60})
    seen = []
    for people, visits in (((*others, {"person": 3, "age": 90}), ()), (others, ({"person": 4, "cost": 9},))):
        engine.fill({"people": people, "visits": visits})
        seen.append(exact(plan, engine.run(text, timeout_s=60).reveal()))
    engine.close()
    assert all(claim.holds() for claim in moved(plan, *seen))
