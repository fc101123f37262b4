"""Worlds of the master law: one rich table under every unit and notion of neighbours, on any engine."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.catalog.model import Catalog
from obverse.plan.emit.emit import emit
from obverse.plan.query import Question
from obverse.plan.sensitivity import MeasuredPlan
from obverse.session.planning import annotated, read
from obverse.testing.conformance.aggregate import Claimed, furthest
from obverse.testing.neighbours import Family, Tables, family
from tests.soundness.stacked import Exact, exact, moved, own_votes
from tests.stands import STANDS, SparkStand, Stand

NOW = dt.datetime(2024, 2, 29, 12, 30)
HASH_KEY = "the same in both neighbours"

COLUMNS = """
i = { type = "integer", bounds = [-5, 20] }
p = { type = "integer", bounds = [10, 40], nullable = false }
q = { type = "integer", bounds = [10, 40] }
d = { type = "double", bounds = [-2.5, 10] }
c = { type = "double", bounds = [0, 100], grid = 0.25 }
w = { type = "integer", bounds = [0, 9] }
m = { type = "double", bounds = [-1, 3], nullable = false }
s = { type = "text", values = ["a", "b", "c"] }
o = { type = "text", values = ["x", "y"], nullable = true }
b = { type = "boolean" }
day = { type = "date", bounds = ["2020-01-01", "2020-12-31"] }
ts = { type = "timestamp", bounds = ["2020-01-01", "2020-01-02"] }
big = { type = "integer", bounds = [-9223372036854775808, 9223372036854775807] }
f = { type = "integer" }
g = { type = "double" }
t = { type = "text" }
l = { type = "text", values = ["a", "b", "c", "d", "e", "f", "g", "h", "i"], nullable = false }
z = { type = "text", values = ["a", "b", "c", "d", "e", "f", "g", "h", "i"], nullable = true }
"""
PHYSICAL = {
    "i": "BIGINT", "p": "BIGINT", "q": "BIGINT", "d": "DOUBLE", "c": "DOUBLE", "w": "VARCHAR", "m": "VARCHAR",
    "s": "VARCHAR", "o": "VARCHAR", "b": "BOOLEAN", "day": "DATE", "ts": "TIMESTAMP", "big": "BIGINT", "f": "BIGINT",
    "g": "DOUBLE", "t": "VARCHAR", "l": "VARCHAR", "z": "VARCHAR",
}  # fmt: skip
HEAD = """
[project]
name = "soundness"
[privacy]
neighbours = "{neighbours}"
[budget]
epsilon = 100
"""
TABLE = """
[tables.t]
source = "python"
unit = {unit}
{size}
[tables.t.columns]
"""
AROUND = """
[tables.people]
source = "python"
unit = "person"
[tables.people.columns]
person = { type = "integer" }
[tables.visits]
source = "python"
unit = "person -> people.person"
limits = { rows = 4 }
[tables.visits.columns]
person = { type = "integer" }
visit = { type = "integer" }
"""
UNITS = {
    "row": '"row"',
    "one": '"person"',
    "many": '"person"\nlimits = { rows = 3, sums = { c = 150.5, i = 25 } }',
    "first": '"person"\nlimits = { rows = 1 }',
    "path": '"visit -> visits.visit -> people.person"\nlimits = { rows = 3 }',
}
KEYS = {"row": "", "one": "person", "many": "person", "first": "person", "path": "visit"}


@dataclass
class World:
    """A catalog, its engine, and families of databases; planning happens once per question."""

    name: str
    neighbours: str
    text: bool = False  # all columns lie as text, as in a CSV file
    kind: str = "duckdb"
    parallel: int = 0
    texts: str = ""  # the engine's type of texts, where it is to be another one
    physical: ClassVar[dict[str, str]] = PHYSICAL
    columns: ClassVar[str] = COLUMNS
    catalog: Catalog = field(init=False)
    stand: Stand = field(init=False)
    schemas: dict[str, dict[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        key = "VARCHAR" if self.text else "BIGINT"
        own = KEYS[self.name]
        physical = dict.fromkeys(self.physical, "VARCHAR") if self.text else self.physical
        self.schemas = {"t": ({own: key} if own else {}) | physical}
        size = "size = 40" if self.neighbours == "replace" and self.name != "path" else ""
        toml = HEAD.format(neighbours=self.neighbours) + TABLE.format(unit=UNITS[self.name], size=size) + self.columns
        toml += f'{own} = {{ type = "integer" }}\n' if own else ""
        if self.name == "path":
            toml += AROUND
            self.schemas |= {"people": {"person": key}, "visits": {"visit": key, "person": key}}
        self.take(complete(loads(toml, Path("/")), self.schemas, {}))

    def take(self, catalog: Catalog) -> None:
        """The catalog as the engine serves it."""
        self.stand = STANDS[self.kind](catalog, self.schemas, self.parallel, self.texts)
        self.catalog = self.stand.catalog
        if self.texts:  # as a project is completed: by the types that the engine tells
            self.catalog = complete(self.catalog, {name: self.engine.schema(name) for name in self.catalog.tables}, {})

    @property
    def engine(self) -> Any:
        return self.stand.engine

    def fill(self, tables: Tables) -> None:
        self.stand.fill(tables)

    def emit(self, plan: MeasuredPlan, key: str = HASH_KEY) -> str:
        return emit(plan.root, self.catalog, self.engine.dialect, key)

    @property
    def label(self) -> str:
        return f"{self.name}-{self.neighbours}{'-text' if self.text else ''}-{self.kind}"

    def plan(self, text: str) -> tuple[MeasuredPlan, str]:
        question = read(text, self.catalog, NOW)
        assert isinstance(question, Question)
        plan = annotated(question, self.catalog)
        return plan, self.emit(plan)

    def searches(self, text: str) -> list[tuple[MeasuredPlan, str]]:
        """Of the questions that find the bounds that this one leaves out, and of it with some of those that may be
        found.
        """
        question = read(text, self.catalog, NOW)
        assert isinstance(question, Question)
        plans = [annotated(first, self.catalog) for _, first in question.searches]
        for share in (0.6, 0.9):  # narrow bounds, and wide ones
            found = {}
            for search, _ in question.searches:
                ends = search.scale.ends
                high = int(share * (len(ends) - 1))
                found[search.name] = (ends[len(ends) - 1 - high] if search.scale.signed else ends[0], ends[high])
            again = read(text, self.catalog, NOW, found)
            assert isinstance(again, Question)
            plans.append(annotated(again, self.catalog))
        return [(plan, self.emit(plan)) for plan in plans]

    def vectors(self, plan: MeasuredPlan, sql: str) -> Exact:
        """The exact measures, of the database that the engine holds now."""
        return exact(plan, self.engine.run(sql, timeout_s=60).reveal())

    def answers(self, plans: Sequence[tuple[MeasuredPlan, str]], databases: Sequence[Tables]) -> list[list[Exact]]:
        """Of each plan the measures on each database; where an engine takes many at once, in one job."""
        if isinstance(self.stand, SparkStand):
            seen = self.stand.answers([sql for _, sql in plans], databases)
            return [[exact(plan, columns) for columns in each] for (plan, _), each in zip(plans, seen)]
        found: list[list[Exact]] = [[] for _ in plans]
        for database in databases:
            self.fill(database)
            for q, (plan, sql) in enumerate(plans):
                found[q].append(self.vectors(plan, sql))
        return found

    def families(self, seeds: Sequence[int], units: int) -> list[Family]:
        return [family(self.catalog, self.schemas, seed, units=units, crowd=3 * (seed % 2)) for seed in seeds]

    def reach(self, texts: Sequence[str], families: Sequence[Family]) -> tuple[list[tuple[Claimed, ...]], int]:
        """For each question the largest share of each claim over all pairs, and the number of pairs of each."""
        return self.reach_of([self.plan(text) for text in texts], families)

    def reach_of(
        self, plans: Sequence[tuple[MeasuredPlan, str]], families: Sequence[Family]
    ) -> tuple[list[tuple[Claimed, ...]], int]:
        """The same of plans and the SQL that is run for them."""
        found: list[list[tuple[Claimed, ...]]] = [[] for _ in plans]
        answers = self.answers(plans, [one.database(place) for one in families for place in range(len(one.units) + 1)])
        start = 0
        for one in families:
            for q, (plan, _) in enumerate(plans):
                seen = answers[q][start:]
                for a, b in one.pairs(self.catalog.neighbours):
                    found[q].append((*moved(plan, seen[a], seen[b]), *own_votes(plan, seen[0], seen[b])))
            start += len(one.units) + 1
        return [furthest(reaches) for reaches in found], len(found[0])


@pytest.fixture(scope="session")
def world() -> Iterator[Callable[..., World]]:
    """The world of that name; made once."""
    made: list[World] = []

    @functools.cache
    def make(name: str, neighbours: str, text: bool = False, kind: str = "duckdb") -> World:
        made.append(World(name, neighbours, text, kind))
        return made[-1]

    yield make
    for one in made:
        one.stand.close()
