"""Small neighbouring databases for any catalog: ordinary rows, and the rows that break claims.

A family is a base and units, each of which may be added to the base by itself. Under add-remove the base and the base
with one unit are neighbours; under replace the base with one unit and the base with another are. So k + 1 runs of an
engine check k or k * (k - 1) / 2 pairs.

What belongs to a unit are the rows that reach it and no other unit: a row that two units share (an item of a visit that
was recorded for two people) goes when the last of them goes. Some units name keys that others own, and must not move
their share.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from obverse.catalog.model import Catalog, Column, Limits, Table
from obverse.core.bounds import Categories, Interval
from obverse.core.types import INT64_MAX, INT64_MIN, Type, Value
from obverse.core.units import Neighbours
from obverse.plan.expressions import from_number

Row = Mapping[str, Value]
Tables = Mapping[str, tuple[Row, ...]]
Schemas = Mapping[str, Mapping[str, str]]  # table to column to the engine's type name

FAR = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
WILD: dict[Type, tuple[Value, ...]] = {
    Type.INTEGER: (
        0,
        INT64_MAX,
        INT64_MIN,
        1,
        -1,
        INT64_MIN + 1,
        2**31,
        -(2**31),
        2**53,
        2**53 + 1,
        -(2**53) - 1,
        10**18,
    ),
    Type.DOUBLE: (
        *(0.0, 1e308, -1e308, 0.5, -0.0, -0.5, 1.7976931348623157e308, 5e-324, -5e-324, 2.0**53, 2.0**63, -(2.0**63)),
        *(float("nan"), float("inf"), float("-inf"), 0.1, 1 / 3, 4503599627370497.5),
    ),
    Type.BOOLEAN: (True, False),
    Type.TEXT: (
        "",
        " ",
        "a",
        "A",
        "nan",
        "NULL",
        "'",
        '"',
        "%",
        "_",
        "\\",
        "k1",
        "é",
        "ß",
        "\U0001f600",
        "a\nb",
        "x" * 300,
    ),
    Type.DATE: (dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(2020, 2, 29), FAR.date()),
    Type.TIMESTAMP: (dt.datetime(1, 1, 1), dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), FAR),
}
WRITTEN = (  # what may stand in a text file where a number, a date or a truth is declared
    *(
        "",
        " ",
        "abc",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "1e400",
        "-1e400",
        "1e-400",
        "9" * 30,
        "-" + "9" * 30,
        "0x1f",
    ),
    *(
        "1_000",
        " 7 ",
        "07",
        "+7",
        "7.5",
        "-0",
        "7,5",
        "\u0667",
        "1e3",
        "--1",
        "true",
        "yes",
        "2020-13-45",
        "2020-02-30",
    ),
    *(
        "infinity",
        "-infinity",
        "5874898-01-01",
        "2020-01-01 25:00:00",
        "290309-01-01",
        "epoch",
        "2020-01-01T10:00:00+14",
    ),
)


@dataclass(frozen=True, slots=True)
class Family:
    """A base, and the rows of units of which each may be added to it alone."""

    base: Tables
    units: tuple[Tables, ...]

    def pairs(self, neighbours: Neighbours) -> Iterator[tuple[int, int]]:
        """Neighbours as places: 0 is the base alone, k the base with the k-th unit."""
        if neighbours is Neighbours.ADD_REMOVE:
            return ((0, k + 1) for k in range(len(self.units)))
        return itertools.combinations(range(1, len(self.units) + 1), 2)

    def database(self, place: int) -> Tables:
        """The rows of one database, those of the unit in between, since their order must not matter."""
        if place == 0:
            return self.base
        unit = self.units[place - 1]
        return {name: (*rows[::2], *unit[name], *rows[1::2]) for name, rows in self.base.items()}


def family(catalog: Catalog, schemas: Schemas, seed: int, *, units: int = 12, crowd: int = 3) -> Family:
    """A base of `crowd` units, some rows without any, and `units` more: first all at their ends, then of every
    style.
    """
    maker = _Maker(catalog, schemas, random.Random(seed))
    base = _joined([maker.strays(), *(maker.unit(style) for style in itertools.islice(itertools.cycle(CROWD), crowd))])
    named = list(maker.passed)
    made = [maker.unit(style) for style in FIRST[:units]]
    maker.baits = named
    made += [maker.unit(style) for style in itertools.islice(itertools.cycle(STYLES), max(0, units - len(FIRST)))]
    return Family(base, tuple(made))


def inside(column: Column) -> tuple[Value, ...]:
    """Values that the declaration allows: both ends and one between, or every listed one."""
    match column.bounds:
        case Interval(lo, hi):
            ends = [from_number(lo, column.type), from_number(hi, column.type)]
            middle = (lo + hi) / 2
            return (*ends, from_number(middle if column.type is Type.DOUBLE else Fraction(middle // 1), column.type))
        case Categories(values):
            return values
        case _:
            return WILD[column.type][:4]


def outside(column: Column) -> tuple[Value, ...]:
    """Values that the declaration rules out, and those that break arithmetic; NULL among them."""
    near: tuple[Value, ...] = ()
    if isinstance(column.bounds, Interval) and column.type is Type.INTEGER:
        near = (max(int(column.bounds.lo) - 1, INT64_MIN), min(int(column.bounds.hi) + 1, INT64_MAX))
    return (None, *near, *WILD[column.type])


FIRST = ("high", "low", "absent", "high", "lone")
# a thief names every key that others are reached by
STYLES = ("same", "mixed", "wild", "thief", "same", "middle", "same")
CROWD = ("mixed", "wild", "same")
ENDS = {"low": 0, "lone": 0, "high": 1, "middle": 2, "absent": 1}
MANY = (1, 2, 3, 10)  # rows of a unit, in multiples of its cap


class _Maker:
    """Makes units with keys that no other has; remembers the keys that other tables' paths pass through."""

    def __init__(self, catalog: Catalog, schemas: Schemas, rng: random.Random) -> None:
        self.catalog = catalog
        self.schemas = schemas
        self.rng = rng
        self.serial = itertools.count(1)
        private = [t for t in catalog.tables.values() if not t.public]
        self.tables = sorted(private, key=lambda t: len(t.unit.steps) if t.unit else 0)
        self.through = {step for t in private if t.unit is not None for step in t.unit.steps[:-1]}
        self.passed: list[int] = []
        self.baits: list[int] = []  # keys that units of the base are reached by
        self.stolen: list[int] = []

    def unit(self, style: str) -> Tables:
        """All rows of one new unit, in every private table."""
        key = self.key()
        own = dict[tuple[str, str], list[int]]()
        found = {}
        if style == "thief":  # comes before those it steals from, in the order of keys
            key = -key
            self.stolen = list(dict.fromkeys(self.baits))
        for table in self.tables:
            cap = table.limits.rows if isinstance(table.limits, Limits) else 1
            most = cap * self.rng.choice(MANY) + self.rng.choice((0, 1))
            most = 1 if table.row_is_unit or style == "lone" or self.rng.random() < 0.15 else most
            passed = any(step[0] == table.name for step in self.through)
            rows = self.styled(table, style, max(most, len(self.stolen)) if passed else most)
            found[table.name] = tuple(self.keyed(table, row, key, own) for row in rows)
        return found

    def keyed(self, table: Table, row: Row, key: Value, own: dict[tuple[str, str], list[int]]) -> Row:
        """The row with its own keys: the unit's, one that leads to it, and those that others pass through."""
        named = dict(row)
        for step in self.through:
            if step[0] == table.name:
                fresh = self.rng.choice(self.baits) if self.baits and self.rng.random() < 0.2 else self.key()
                if self.rng.random() < 0.2 and own.get(step):
                    fresh = self.rng.choice(own[step])
                fresh = self.stolen.pop() if self.stolen else fresh
                own.setdefault(step, []).append(fresh)
                self.passed.append(fresh)
                named[step[1]] = self.written(table, step[1], fresh)
        path = table.unit
        if path is not None and path.column is not None:
            leads = key
            if len(path.steps) > 1:
                exclusive = [k for k in own[path.steps[0]] if k not in self.baits]
                leads = self.rng.choice(exclusive) if exclusive else self.key()
            named[path.column] = self.written(table, path.column, leads)
        return named

    def strays(self) -> Tables:
        """Rows without a unit: a key that is NULL, or that leads nowhere."""
        found = {}
        for table in self.tables:
            if table.unit is None or table.unit.column is None:
                found[table.name] = self.styled(table, "mixed", 2)
                continue
            rows = [dict(row) | {table.unit.column: None} for row in self.styled(table, "mixed", 2)]
            if len(table.unit.steps) > 1:
                rows.append(dict(rows[0]) | {table.unit.column: self.written(table, table.unit.column, self.key())})
            found[table.name] = tuple(rows)
        return found

    def styled(self, table: Table, style: str, most: int) -> tuple[Row, ...]:
        if style not in ("mixed", "wild"):
            return (self.row(table, style),) * most
        return tuple(self.row(table, style) for _ in range(most))

    def row(self, table: Table, style: str) -> Row:
        return {c.name: self.value(table, c, style) for c in table.columns.values()}

    def value(self, table: Table, column: Column, style: str) -> Value:
        allowed = inside(column)
        if style == "absent" and column.nullable:
            return None
        listed = isinstance(column.bounds, Categories) or column.type is Type.BOOLEAN
        if style in ENDS and (not listed or style != "middle"):
            place = (0 if style in ("high", "absent") else -1) if listed else ENDS[style]
            return self.written(table, column.name, allowed[place])
        odd = {"mixed": 0.2, "wild": 0.8}.get(style, 0.05)
        if self.rng.random() >= odd:
            return self.written(table, column.name, self.rng.choice(allowed))
        if self.is_text(table, column) and self.rng.random() < 0.5:
            return self.rng.choice(WRITTEN)
        return self.written(table, column.name, self.rng.choice(outside(column)))

    def is_text(self, table: Table, column: Column) -> bool:
        return column.type is not Type.TEXT and self.schemas[table.name][column.name].upper() == "VARCHAR"

    def written(self, table: Table, name: str, value: Value) -> Value:
        """The value as the source holds it: as text where its type there is text, now and then with a blank."""
        column = table.columns[name]
        if value is None or not self.is_text(table, column):
            return str(value) if column.type is Type.TEXT and value is not None else value
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return f" {text}" if column.type.numeric and self.rng.random() < 0.1 else text

    def key(self) -> int:
        return next(self.serial)


def _joined(parts: Sequence[Tables]) -> Tables:
    return {name: tuple(row for part in parts for row in part[name]) for name in parts[0]}
