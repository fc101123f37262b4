"""Rows made up from declarations alone: types, bounds, values, NULLs, limits, and keys that match across tables."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Catalog, Column, Limits, Table
from obverse.core.bounds import Categories, Interval
from obverse.core.engine import Engine
from obverse.core.rng import BELOW_MAX, Rng
from obverse.core.types import Type
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit.expressions import enforced

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

ROWS_MOST = 10  # of one unit in one table
NULL_EVERY = 20
WORDS = 10  # different texts where no values are declared
STEPS = 10_000  # of an interval without a grid
SECOND = 1_000_000
COPY_S = 600.0
_USUAL = {  # where nothing is declared
    Type.INTEGER: (0, 100),
    Type.DOUBLE: (0, 100),
    Type.DATE: (10_957, 20_453),  # 2000 to 2025
    Type.TIMESTAMP: (10_957 * 86_400 * SECOND, 20_453 * 86_400 * SECOND),
}
_STORED = {Type.INTEGER: "int64", Type.DOUBLE: "float64", Type.BOOLEAN: "bool", Type.TEXT: "O"}
MOMENT = "datetime64[us]"  # dates too: the engine has no array of days


class Repeatable(Rng):
    """The same draws from the same seed and name. For made-up rows and the noise on them; never for a release."""

    __slots__ = ("_requests", "_seed")

    def __init__(self, seed: int, *name: str) -> None:
        # Rng.__init__ is left out on purpose: it refuses seeds in the environment, which say nothing here.
        self._seed = repr((seed, *name)).encode()
        self._requests = itertools.count()

    def raw(self, n: int) -> bytes:
        return hashlib.shake_256(self._seed + next(self._requests).to_bytes(8, "little")).digest(n)


def made_up(catalog: Catalog, units: int, seed: int) -> dict[str, dict[str, Array]]:
    """Every private table of a completed catalog, as columns that the engine takes; NULLs are masks, or None in text."""
    import numpy as np

    private = [table for table in catalog.tables.values() if table.unit is not None]
    pointed_at = {step for table in private if table.unit is not None for step in table.unit.steps[:1]}
    made: dict[str, dict[str, Array]] = {}
    for table in sorted(private, key=_distance):
        keys = _own_key(table, made, units, seed)
        count = units if keys is None else len(keys)
        made[table.name] = columns = {}
        for column in table.columns.values():
            if table.unit is not None and column.name == table.unit.column and keys is not None:
                columns[column.name] = keys
            elif (table.name, column.name) in pointed_at:
                columns[column.name] = _identities(column, count)
            else:
                columns[column.name] = _values(column, count, Repeatable(seed, table.name, column.name))
        if not columns:
            columns["row"] = np.arange(count)  # nothing is declared, so rows can only be counted
    return made


def _distance(table: Table) -> int:
    return len(table.unit.steps) if table.unit is not None else 0


def _own_key(table: Table, made: Mapping[str, Mapping[str, Array]], units: int, seed: int) -> Array | None:
    """The column that leads to the unit, row by row: all units once, or none to a few rows of each; None: rows are units."""
    import numpy as np

    if table.unit is None or table.unit.column is None:
        return None
    if table.unit.steps:
        there, key = table.unit.steps[0]
        pool = np.unique(made[there][key])
    else:
        pool = _identities(table.columns[table.unit.column], units)
    if table.limits is None or not len(pool):
        return pool
    allowed = table.limits.rows if isinstance(table.limits, Limits) else ROWS_MOST
    most = max(1, min(allowed, ROWS_MOST * units // len(pool)))
    return np.repeat(pool, Repeatable(seed, table.name, "rows of a unit").below(most + 1, len(pool)))


def _identities(column: Column, count: int) -> Array:
    """Keys that differ, as far as the declared values allow."""
    import numpy as np

    numbers = np.arange(count)
    match column.bounds:
        case Categories(values):
            return _array(values, column.type)[numbers % len(values)]
        case Interval(lo, hi):
            return int(lo) + numbers % min(int(hi - lo) + 1, BELOW_MAX)
    if column.type is Type.INTEGER:
        return 1 + numbers
    return np.array([f"{column.name} {number}" for number in 1 + numbers], dtype=object)


def _values(column: Column, count: int, rng: Rng) -> Array:
    """What the declaration allows, evenly; every twentieth is NULL where NULL may occur."""
    import numpy as np

    found = _present(column, count, rng)
    if not column.nullable:
        return found
    missing = rng.below(NULL_EVERY, count) == 0
    if column.type is Type.TEXT:
        found[missing] = None
        return found
    masked: Array = np.ma.masked_array(found, mask=missing)
    return masked


def _present(column: Column, count: int, rng: Rng) -> Array:
    import numpy as np

    if isinstance(column.bounds, Categories):
        values = column.bounds.values
        return _array(values, column.type)[rng.below(len(values), count)]
    if column.type is Type.BOOLEAN:
        return rng.bits(count)
    if column.type is Type.TEXT:
        return _array(tuple(f"{column.name} {n + 1}" for n in range(WORDS)), Type.TEXT)[rng.below(WORDS, count)]
    bounds = column.bounds
    lo, hi = (bounds.lo, bounds.hi) if isinstance(bounds, Interval) else map(Fraction, _USUAL[column.type])
    if column.type is Type.DOUBLE:
        step = column.grid if column.grid is not None else (hi - lo) / STEPS
        steps = math.floor((hi - lo) / step) if step else 0
        drawn = float(lo) + float(step) * rng.below(min(steps + 1, BELOW_MAX), count)
        clipped: Array = np.clip(drawn, float(lo), float(hi))
        return clipped
    size = SECOND if column.type is Type.TIMESTAMP else 1
    whole = int(lo) + size * rng.below(min(int(hi - lo) // size + 1, BELOW_MAX), count)
    if column.type is Type.DATE:
        return whole.astype("datetime64[D]").astype(MOMENT)
    return whole.astype(MOMENT) if column.type is Type.TIMESTAMP else whole


def _array(values: tuple[object, ...], kind: Type) -> Array:
    import numpy as np

    return np.array(values, dtype=_STORED.get(kind, MOMENT))


def copied(table: Table, engine: Engine) -> dict[str, Array]:
    """All rows of a public table, as columns that can be handed over."""
    import numpy as np

    d = DIALECTS[engine.dialect]
    columns = [column for column in table.columns.values() if not column.hidden]
    read = ", ".join(f"{enforced(column, d)} AS c{n}" for n, column in enumerate(columns)) or "1 AS c0"
    rows = engine.run_public(f"SELECT {read} FROM {d.relation(table)} AS t", timeout_s=COPY_S).rows
    found: dict[str, Array] = {}
    for n, column in enumerate(columns):
        values = [row[n] for row in rows]
        if column.type is Type.TEXT:
            found[column.name] = np.array(values, dtype=object)
            continue
        present = [0 if value is None else value for value in values]
        found[column.name] = np.ma.masked_array(_array(tuple(present), column.type), mask=[value is None for value in values])
    return found or {"row": np.arange(len(rows))}
