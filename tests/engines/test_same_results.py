"""The exact result of a question is the same on every engine, bit for bit, in whatever order rows lie and however it is
split.

Texts are left out that only one engine reads as a number or a date; docs/engines.md names them.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from obverse.plan.sensitivity import MeasuredPlan
from obverse.testing.neighbours import Tables, family
from tests.servers import compiled
from tests.soundness.conftest import PHYSICAL, World
from tests.soundness.shapes import PLACES, Related
from tests.soundness.test_master_law import QUESTIONS
from tests.soundness.test_relations import ALL
from tests.soundness.test_undeclared_values import QUESTIONS as RESIDUAL
from tests.soundness.test_undeclared_values import Residuals
from tests.stands import STANDS, SparkStand

UNITS = ("row", "one", "many", "first", "path")
# of the product of relations
EVERY = [("postgres", 9), ("spark", 181), pytest.param("spark", 61, marks=pytest.mark.soak)]
Plans = list[tuple[MeasuredPlan, str]]


class Typed(World):
    """The table of the master law with every column in a type of its own."""

    physical: ClassVar[dict[str, str]] = PHYSICAL | {"w": "BIGINT", "m": "DOUBLE"}


def told(columns: Any) -> list[tuple[Any, ...]]:
    """Rows of exact numbers, in one order, with the names of their columns first."""
    names = sorted(columns)
    rows = zip(*(columns[name].tolist() for name in names))
    return [tuple(names), *sorted(rows, key=repr)]


def results(here: World, plans: Plans, database: Tables) -> list[list[tuple[Any, ...]]]:
    here.fill(database)
    return [told(here.engine.run(sql, timeout_s=60).reveal()) for _, sql in plans]


def shuffled(database: Tables, seed: int) -> Tables:
    rng = random.Random(seed)
    return {name: tuple(rng.sample(rows, len(rows))) for name, rows in database.items()}


def in_orders(here: World, plans: Plans, databases: list[Tables]) -> list[list[list[tuple[Any, ...]]]]:
    """The results on each database; on Spark, all in one job, which leaves out a sum over no rows."""
    if isinstance(here.stand, SparkStand):
        found = here.stand.answers([sql for _, sql in plans], databases)
        rows = [[told(each[n]) for each in found] for n in range(len(databases))]
        return [[one if one[1:] else [one[0], (0,) * len(one[0])] for one in each] for each in rows]
    return [results(here, plans, database) for database in databases]


def compare(unit: str, texts: list[str], orders: int, most: int, kind: str, world: type[World] = Typed) -> None:
    """The questions, in so many orders of the rows, by one and by so many threads or partitions, against DuckDB by
    one.
    """
    reference = world(unit, "add-remove", parallel=1)
    database = family(reference.catalog, reference.schemas, 5, units=12, crowd=3).database(12)
    expected = results(reference, [reference.plan(text) for text in texts], database)
    reference.stand.close()
    for parallel in range(1, most + 1):
        here = world(unit, "add-remove", kind=kind, parallel=parallel)
        if isinstance(here.stand, SparkStand) and parallel > 1:
            compiled(here.engine._session)
        plans = [here.plan(text) for text in texts]
        try:
            found = in_orders(here, plans, [shuffled(database, seed) for seed in range(orders)])
            for seed, each in enumerate(found):
                for text, ours, theirs in zip(texts, each, expected):
                    assert ours == theirs, f"{kind} by {parallel}, order {seed}, {unit}: {text}"
        finally:
            here.stand.close()


def test_rows_lie_in_as_many_partitions_of_spark_as_are_asked_for() -> None:
    """Those of each database in every one of them, in their order."""
    here = Typed("row", "add-remove", kind="spark", parallel=2)
    assert isinstance(here.stand, SparkStand)
    rows = [{"p": n} for n in range(9)]
    here.stand.answers([], [{"t": tuple(rows)}, {"t": tuple(rows[::-1])}])
    lying = "SELECT spark_partition_id(), p FROM t WHERE database_number = {}"
    try:
        for number, order in enumerate((list(range(9)), list(range(9))[::-1])):
            found = here.engine.run_public(lying.format(number), timeout_s=60).rows
            assert {part for part, _ in found} == {0, 1}
            assert [p for _, p in found] == order
    finally:
        here.stand.close()


@pytest.mark.parametrize("kind", STANDS)
@pytest.mark.parametrize("unit", UNITS)
def test_a_question_has_one_result(unit: str, kind: str) -> None:
    """On Spark, where each takes a job, a third of the questions for each unit; interpreted by one, compiled by two."""
    texts = [text for text, _ in QUESTIONS]
    compare(unit, texts[UNITS.index(unit) % 3 :: 3] if kind == "spark" else texts, 3, 2, kind)


@pytest.mark.parametrize("kind", [kind for kind in STANDS if kind != "duckdb"])
def test_undeclared_and_missing_values_have_one_result(kind: str) -> None:
    unit = {"postgres": "many", "spark": "one"}[kind]
    compare(unit, [text for text, _ in RESIDUAL], 1, 1, kind, Residuals)


@pytest.mark.soak
@pytest.mark.parametrize("kind", STANDS)
@pytest.mark.parametrize("unit", UNITS)
def test_a_question_has_one_result_in_many_more_orders(unit: str, kind: str) -> None:
    compare(unit, [text for text, _ in QUESTIONS], 20, 4, kind)


@pytest.fixture(scope="module")
def related() -> Iterator[Callable[[str, str], Related]]:
    made: list[Related] = []

    @functools.cache
    def make(world: str, kind: str) -> Related:
        made.append(Related("add-remove", world, kind))
        return made[-1]

    yield make
    for one in made:
        one.stand.close()


@pytest.mark.parametrize(("kind", "every"), EVERY)
@pytest.mark.parametrize("world", ["keyed", "rows"])
def test_every_relation_has_one_result(
    world: str, kind: str, every: int, related: Callable[[str, str], Related]
) -> None:
    """Joins, subqueries, set operations, discovered keys, trees, choices and grouping sets: every ninth of the
    product.
    """
    one = related(world, "duckdb")
    other = related(world, kind)
    texts = [shape.text for shape in ALL if shape.world == world][::every]
    plans = [(text, one.plan_or_none(text), other.plan_or_none(text)) for text in texts]
    asked = [(text, a, b) for text, a, b in plans if a is not None and b is not None]
    assert len(asked) > len(texts) // 2
    assert sum(a is None for _, a, _ in plans) == sum(b is None for _, _, b in plans)
    database = {**family(one.catalog, one.schemas, 4, units=8, crowd=3).database(5)}
    database.setdefault("places", tuple({"same": row["beds"], **row} for row in PLACES))
    ours, theirs = (results(here, [p[n] for p in asked], database) for n, here in ((1, one), (2, other)))  # type: ignore[misc]
    for (text, _, _), a, b in zip(asked, ours, theirs):
        assert a == b, text
