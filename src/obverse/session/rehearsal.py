"""Rehearsal: the very same pipeline on rows made up from obverse.toml; free, and no private file is opened.

Rows made up from declarations alone: types, bounds, values, NULLs, limits, and keys that match across tables.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from obverse.answers.answer import Answer, Price, Remaining
from obverse.catalog.complete import complete, needed_values
from obverse.catalog.load import load, locator
from obverse.catalog.model import Catalog, Column, Limits, Source, Table
from obverse.core.bounds import Categories, Interval
from obverse.core.claim import DECLARED, PUBLIC
from obverse.core.engine import Engine
from obverse.core.errors import Failed, Refused
from obverse.core.rng import BELOW_MAX, Rng
from obverse.core.types import Type
from obverse.ledger.home import default_home
from obverse.ledger.memory import MemoryLedger
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit.expressions import enforced
from obverse.session.planning import Number
from obverse.session.project import (
    Project,
    check_public,
    claimed,
    engine_of,
    grown,
    public_private,
    public_values,
    with_public_facts,
)
from obverse.session.session import Session

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
    """Every private table of a completed catalog, as columns that the engine takes; NULLs are masks, or None in
    text.
    """
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
    """The column that leads to the unit, row by row: all units once, or none to a few rows of each; None: rows are
    units.
    """
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
    return np.array(values, dtype=_STORED.get(kind, MOMENT))


def copied(table: Table, engine: Engine) -> dict[str, Array]:
    """All rows of a public table, as columns that can be handed over."""
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
        found[column.name] = np.ma.masked_array(
            _array(tuple(present), column.type), mask=[value is None for value in values]
        )
    return found or {"row": np.arange(len(rows))}


UNITS = 1_000
UNITS_MAX = 100_000
SEED = 0
NAME = "rehearsal"


def rehearse(
    project: str | Path,
    sql: str,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    within: Number | None = None,
    confidence: float = 0.95,
    analyst: str = "",
    purpose: str = "",
    rows: int = UNITS,
    seed: int = SEED,
    tables: Mapping[str, Any] | None = None,
    bounds: Mapping[str, str] | None = None,
) -> Answer:
    """Ask of made-up rows: what is refused, how the answer looks and how much noise it carries are as they would be.

    Nothing is spent and no private file is opened, so it may be missing. `rows` is how many protected units are made
    up, unless the project declares their public number; the same seed gives the same rows and the same noise. Public
    tables are read as they are; `tables` hands over those that are data frames. `bounds` keep the engine small where
    the process is not the asker's own: its memory_limit, its threads, and the limit_s of each run.
    """
    wanted = {"analyst": analyst, "purpose": purpose, "rows": rows, "seed": seed, "tables": tables, "bounds": bounds}
    with rehearsal(project, **wanted) as session:  # type: ignore[arg-type]
        try:
            answer = session.ask(sql, epsilon=epsilon, delta=delta, within=within, confidence=confidence)
        except Failed as failed:
            raise _uncharged(failed) from None
    if answer.claim in (PUBLIC, DECLARED):
        return replace(answer, remaining=Remaining(1.0, None, None))
    return _marked(answer, session.catalog, _units(session.catalog, rows))


def rehearsal(
    project: str | Path = ".",
    *,
    analyst: str = "",
    purpose: str = "",
    rows: int = UNITS,
    seed: int = SEED,
    tables: Mapping[str, Any] | None = None,
    bounds: Mapping[str, str] | None = None,
) -> Session:
    """A session over made-up rows, whose ledger is in memory and forgotten. Its answers are not yet marked as such."""
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= UNITS_MAX:
        raise Refused("bad_parameter", f"a rehearsal makes up 1 to {UNITS_MAX:,} units.", fix=f"Write {UNITS}.")
    catalog, public = declared(Path(project), tables or {})
    made = made_up(catalog, _units(catalog, rows), seed)
    bounded = replace(catalog, engine={**catalog.engine, **(bounds or {})})
    loaded = Project(catalog, engine_of(bounded, {**public, **made}))
    try:
        ledger = None if catalog.unit is None else MemoryLedger(NAME, claimed(catalog).terms, catalog.budget)
        rng = Repeatable(seed, "noise")
        return Session(loaded, ledger, analyst=analyst, purpose=purpose, dataset=NAME, rng=rng)
    except BaseException:
        loaded.engine.close()
        raise


def declared(path: Path, tables: Mapping[str, Any]) -> tuple[Catalog, dict[str, Any]]:
    """The catalog, completed from itself and the public tables alone, its private tables cut off from their files.

    Made-up rows lie in DuckDB, whatever engine the project has; public tables of a server are copied there.
    """
    catalog = load(path)
    _check_apart(catalog)
    public = {name: table for name, table in catalog.tables.items() if table.public}
    objects = {name: tables[name] for name in public if name in tables}
    catalog = replace(catalog, graphs={}, unit=None if catalog.graphs else catalog.unit)  # edges are not made up
    open_ = replace(catalog, tables=public, unit=None)
    engine = engine_of(open_, objects)
    try:
        if default_home().exists():  # else nothing is known here as private
            check_public(Project(open_, engine))
        schemas = {n: engine.schema(n) if t.public else _schema(t, catalog) for n, t in catalog.tables.items()}
        values = {place: public_values(engine, catalog, *place) for place in needed_values(catalog)}
        whole = with_public_facts(complete(catalog, schemas, values, locator(path)), engine)
        if catalog.engine["kind"] != "duckdb":
            objects = {name: copied(whole.tables[name], engine) for name in public}
    finally:
        engine.close()
    cut = {
        n: replace(t, source=Source("object")) if n in objects or not t.public else t for n, t in whole.tables.items()
    }
    return grown(replace(whole, tables=cut, engine={"kind": "duckdb"}), whole.last_partition()), objects


def _check_apart(catalog: Catalog) -> None:
    """No file is declared public and private at once: what is read here as public must be so."""
    private = {t.source.path.resolve() for t in catalog.held if not t.public and t.source.path is not None}
    for table in catalog.tables.values():
        if table.public and table.source.path is not None and table.source.path.resolve() in private:
            raise public_private(table)


def _schema(table: Table, catalog: Catalog) -> dict[str, str]:
    """What a private source is taken to hold: the declared columns, and the keys that lead to the unit."""
    found = {name: DIALECTS["duckdb"].type_name(column.type) for name, column in table.columns.items()}
    for (there, key), kind in _key_types(catalog).items():
        if there == table.name:
            found.setdefault(key, DIALECTS["duckdb"].type_name(kind))
    return found


def _key_types(catalog: Catalog) -> dict[tuple[str, str], Type]:
    """The type of every key that leads to the unit: declared, or that of the key it meets, or integer."""
    pairs: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for table in catalog.tables.values():
        if table.unit is not None and table.unit.column is not None:
            own = (table.name, table.unit.column)
            pairs += [(own, other) for other in (table.unit.steps[:1] or (own,))]
    keys = [key for pair in pairs for key in pair]
    known = {(t, k): catalog.tables[t].columns[k].type for t, k in keys if k in catalog.tables[t].columns}
    for _ in pairs:  # a type travels at least one step each time
        for one, other in pairs:
            if one in known:
                known.setdefault(other, known[one])
            elif other in known:
                known[one] = known[other]
    return {key: known.get(key, Type.INTEGER) for key in keys}


def _units(catalog: Catalog, rows: int) -> int:
    """How many units are made up: the declared public number of them, where there is one."""
    sizes = [table.size for table in catalog.tables.values() if table.size is not None]
    return min(sizes[0], UNITS_MAX) if sizes else rows


def _marked(answer: Answer, catalog: Catalog, units: int) -> Answer:
    """The answer with a claim that says what it is, and without a price."""
    real = answer.price
    delta = f", delta {real.delta}" if real.delta != "0" else ""
    sentence = (
        f"A rehearsal on made-up rows of {units:,} units: no private row was read, nothing was spent, and no privacy "
        "is "
        "claimed or needed. The numbers mean nothing; the columns, the noise and the refusals are those of the real "
        f"question, which would cost epsilon {real.epsilon}{delta}, {100 * real.share:.3g} % of the budget."
    )
    claim = replace(answer.claim, epsilon="0", delta="0", belief="", receipt="", sentence=sentence)
    return replace(answer, claim=claim, price=Price("0", "0", 0.0, False), remaining=Remaining(1.0, None, None))


def _uncharged(failed: Failed) -> Refused:
    """What went wrong after the debit of a ledger that is forgotten: nothing was spent."""
    message = (
        "the rehearsal was interrupted." if failed.code == "interrupted" else ("the rehearsal could not be finished.")
    )
    return Refused(failed.code, message, why="its rows are made up, so nothing was spent.")
