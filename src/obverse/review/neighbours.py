"""A question of a project on two neighbouring databases, made up from obverse.toml; no private file is opened.

Scratch projects: two neighbouring databases of people who do not exist, under a real project's terms, to be attacked.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.attack.targets import Person
from obverse.catalog.model import Catalog, Table
from obverse.core.bounds import Interval
from obverse.core.engine import Columns
from obverse.core.errors import Refused
from obverse.core.numbers import plain, up
from obverse.core.rng import Rng
from obverse.core.secret import Exact
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.engines.base import columns_of
from obverse.plan.query import PublicQuestion
from obverse.plan.release.noise import Released, randomize, randomize_keys
from obverse.review.targets import Target
from obverse.session.planning import Number, Planned, Wish, plan, read
from obverse.session.project import engine_of
from obverse.session.rehearsal import Repeatable, declared, made_up, rehearsal

ANALYST = "mallory"
TABLE = "people"
KEY = "person_id"
SECRET = "ill"
PEOPLE = 120
AGES = 90
TOML = """\
[project]
name = "{name}"
[privacy]
neighbours = "{neighbours}"
accounting = "{accounting}"
epsilon = {epsilon}
delta = {delta}
[budget]
epsilon = {budget}
delta = {most}
[analysts.{analyst}]
[serve]
requests_per_minute = 1000000
transparency = false
[tables.{table}]
source = "people.csv"
unit = "{key}"
rows_about = {people}
{size}[tables.{table}.columns]
{key} = {{ type = "integer" }}
age = {{ type = "integer", bounds = [0, 120] }}
{secret} = {{ type = "boolean" }}
"""


@dataclass(frozen=True, slots=True)
class Scratch:
    """One made-up database as a project's folder."""

    name: str
    folder: Path
    people: tuple[Person, ...]


def write_scratch(
    folder: Path, name: str, terms: Catalog, *, budget: str = "1", absent: bool = False, people: int = PEOPLE
) -> Scratch:
    """A project with the terms of another one and rows of its own; `absent`: without its last person, or with another
    one in
    their place where neighbours replace each other."""
    replaced = terms.neighbours is Neighbours.REPLACE
    rng = Repeatable(people, "scratch")
    ages = rng.below(AGES, people).tolist()
    coins = [place % 2 == 0 for place in range(people)]
    rows = list(zip(range(people), ages, coins))
    if absent:
        last = rows.pop()
        rows += [(last[0], AGES - last[1], not last[2])] if replaced else []
    folder.mkdir(parents=True)
    lines = [f"{key},{age},{str(ill).lower()}" for key, age, ill in rows]
    (folder / "people.csv").write_text("\n".join((f"{KEY},age,{SECRET}", *lines, "")), encoding="utf-8")
    most = max(terms.budget.delta, terms.delta)
    (folder / "obverse.toml").write_text(
        TOML.format(
            name=name,
            neighbours=terms.neighbours.value,
            accounting=terms.accounting,
            epsilon=plain(terms.epsilon),
            delta=plain(terms.delta),
            budget=budget,
            most=plain(most),
            analyst=ANALYST,
            table=TABLE,
            key=KEY,
            people=people,
            size=f"size = {people}\n" if replaced else "",
            secret=SECRET,
        ),
        encoding="utf-8",
    )
    return Scratch(name, folder, tuple(Person(key, ill) for key, _, ill in rows))


Array = np.ndarray[Any, Any]
Rows = NDArray[np.bool_]
Tables = dict[str, dict[str, Array]]


UNITS = 5
SEED = 0
TIMEOUT_S = 60.0
WITH = ("a unit at its upper ends", "a unit at its lower ends", "a unit as made up")
WITHOUT = "without that unit"


@dataclass(frozen=True, slots=True)
class Replayed:
    """A planned question, and its exact numbers on each of some databases, of which nobody is in any."""

    planned: Planned
    exact: Mapping[str, Columns]
    rng: Rng

    def __call__(self, database: str, n: int) -> Any:
        """n releases, before they are finished (which is a function of them): rows of numbers, or texts where keys
        are told.
        """
        costed = self.planned.costed
        columns = self.exact[database]
        if costed.threshold is None:
            return self._together(columns, n)
        keyed = costed.root.keyed
        found = []
        for _ in range(n):
            exact = Exact(columns)
            released = randomize_keys([exact], costed, self.rng) if keyed else randomize(exact, costed, self.rng)
            found.append(
                repr(([values.tolist() for values in released.keys], [part.tolist() for part in _numbers(released)]))
            )
        return found

    def _together(self, columns: Columns, n: int) -> Any:
        """All at once: as cells of one wide question.

        Cells have noise of their own, so these are independent releases.
        """
        costed = self.planned.costed
        cells = costed.setting.cells
        tiled = {name: np.tile(values, n) for name, values in columns.items()}
        tiled["k"] = tiled["k"] + cells * np.repeat(np.arange(n, dtype=np.int64), len(columns["k"]))
        whole = replace(costed, setting=replace(costed.setting, cells=cells * n))
        return np.column_stack([part.reshape(n, cells) for part in _numbers(randomize(Exact(tiled), whole, self.rng))])


def _numbers(released: Released) -> list[Array]:
    found: list[Array] = list(released.sums.values())
    for places in released.places.values():
        found += [places.value, places.low, places.high]
    return found


def of_question(
    project: Path, sql: str, epsilon: Number | None, delta: Number | None, rng: Rng | None = None
) -> Target:
    """Sampled through the same plan, noise and finishing as `ask`, over rows that are made up and so are nobody's."""
    with rehearsal(project, rows=UNITS) as session:
        catalog = session.catalog
        objects = declared(project, {})[1]
        question = read(sql, catalog, dt.datetime.now())
        if isinstance(question, PublicQuestion) or question.listing:
            raise Refused("no_target", "a question about public tables has no privacy to be put on trial.")
        planned = plan(sql, question, catalog, Wish(epsilon, delta), "", session.learned)
        if catalog.unit is None or catalog.unit.each:
            raise Refused("no_target", "a unit that is one's part of a partition cannot be taken out here.")
        if planned.first:
            raise Refused(
                "no_target", "a question whose bounds are found first cannot be replayed.", fix="Write its bounds."
            )
        exact = {name: _exact(planned, catalog, objects, tables) for name, tables in _databases(catalog).items()}
    costed = planned.costed
    drawn = Replayed(planned, exact, Rng() if rng is None else rng)
    replaced = catalog.neighbours is Neighbours.REPLACE
    found = list(combinations(WITH, 2)) if replaced else [(one, WITHOUT) for one in WITH]
    return Target(drawn, found, up(costed.epsilon), up(costed.delta), sql)


def _exact(planned: Planned, catalog: Catalog, objects: Mapping[str, Any], tables: Tables) -> Columns:
    """The engine's numbers. Made-up rows are public, and are read as such."""
    with closing(engine_of(catalog, {**objects, **tables})) as engine:
        found = engine.run_public(planned.sql, timeout_s=TIMEOUT_S)
    empty = {name: np.empty(0, dtype=object if name.startswith("f") else np.int64) for name in found.names}
    return columns_of(found.names, found.rows) if found.rows else empty


def _databases(catalog: Catalog) -> dict[str, Tables]:
    """One unit with all its numbers at their upper ends, at their lower ends, and as made up; and the database
    without it.
    """
    base = made_up(catalog, UNITS, SEED)
    own = max(_candidates(catalog, base), key=lambda rows: sum(int(mask.sum()) for mask in rows.values()))
    ends = [
        {name: _at_end(catalog, table, base[name], own[name], end) for name, table in _private(catalog)}
        for end in (1, 0)
    ]
    without = {
        name: {column: values[~own[name]] for column, values in base[name].items()} for name, _ in _private(catalog)
    }
    return {**dict(zip(WITH, (*ends, base))), WITHOUT: without}


def _private(catalog: Catalog) -> list[tuple[str, Table]]:
    """Private tables, those that lead to the unit first."""
    found = [(name, table) for name, table in catalog.tables.items() if table.unit is not None]
    return sorted(found, key=lambda one: len(one[1].unit.steps) if one[1].unit is not None else 0)


def _candidates(catalog: Catalog, base: Tables) -> Iterator[dict[str, Rows]]:
    """For each unit its rows in every table."""
    assert catalog.unit is not None
    home = base[catalog.unit.table]
    if catalog.unit.key is None:
        count = len(next(iter(home.values())))
        yield {
            name: np.arange(len(next(iter(columns.values())))) == (count - 1 if name == catalog.unit.table else -1)
            for name, columns in base.items()
        }
        return
    for value in np.unique(home[catalog.unit.key]):
        rows: dict[str, Rows] = {}
        for name, table in _private(catalog):
            assert table.unit is not None
            assert table.unit.column is not None
            reached: Any = [value]
            if table.unit.steps:
                there, key = table.unit.steps[0]
                reached = base[there][key][rows[there]] if there in rows else reached
            rows[name] = np.asarray(np.isin(base[name][table.unit.column], reached))
        yield rows


def _at_end(catalog: Catalog, table: Table, columns: Mapping[str, Array], own: Rows, end: int) -> dict[str, Array]:
    """The table, with the unit's numbers at one end of their bounds; keys stay."""
    keys = {table.unit.column} if table.unit is not None else set()
    keys |= {step[1] for other in catalog.tables.values() if other.unit is not None for step in other.unit.steps}
    found = dict(columns)
    for name, column in table.columns.items():
        if name in found and name not in keys and isinstance(column.bounds, Interval):
            if column.type in (Type.INTEGER, Type.DOUBLE):
                found[name] = found[name].copy()
                found[name][own] = (column.bounds.lo, column.bounds.hi)[end]
    return found
