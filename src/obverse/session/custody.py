"""The other door: the curator's own reading of rows, written into the ledger each time. No analyst's route leads here.

It serves what is not private by its nature: the input of `anonymize`, what attacks are measured against, a person's own
rows. Nothing is charged, because nothing is released by it; what leaves the curator's hands afterwards is theirs to
answer for, and the record says that they looked, at what, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.catalog.check import within_policy
from obverse.catalog.complete import type_of
from obverse.catalog.keys import suggestion
from obverse.catalog.model import Catalog, Column, Table
from obverse.core.engine import Engine
from obverse.core.errors import Refused, invariant
from obverse.core.types import Type, Value
from obverse.plan.dialects import DIALECTS
from obverse.plan.dialects.base import Dialect
from obverse.plan.emit.expressions import enforced, raw_column
from obverse.plan.emit.overlay import NOTHING, Overlay
from obverse.plan.emit.sources import unit_source
from obverse.plan.stability.derive import own_type
from obverse.session.authorization import today
from obverse.session.session import Session
from obverse.session.session import open as open_project

READ_S = 600.0


@dataclass(frozen=True, slots=True)
class Collapsed:
    """The different rows of a table in some columns, and how often each occurs; a missing value is None."""

    columns: dict[str, list[Any]]
    counts: NDArray[np.int64]
    types: dict[str, Type]


def collapsed(
    project: Path, table: str, columns: Sequence[str], *, what: str, reason: str, unit: str = ""
) -> Collapsed:
    """Rows of a project's table, exactly, for the curator. `what` they are for and the `reason` are sealed into the
    ledger
    before a row is read. Under the name `unit` stands whose each row is, if one is given."""
    if not columns:
        fix = "Name the columns; of a table that is to be anonymized --quasi, --sensitive and --keep."
        raise Refused("no_columns", "which columns are to be read?", fix=fix)
    given(reason)
    with open_project(project) as session:
        declared = _declared(session.catalog.tables, table)
        wanted = [_column(declared, name) for name in columns]
        within_policy([table], session.catalog, today())
        if declared.unit is not None:
            own = [declared.unit.column] if unit and declared.unit.column is not None else []
            session.ledger.record_custody(declared.name, tuple(dict.fromkeys([*columns, *own])), what, reason)
        d = DIALECTS[session.engine.dialect]
        overlay = session.overlay() if declared.unit is not None else NOTHING
        corrected = overlay.table(declared).columns
        read = ", ".join(f"{enforced(corrected[name], d)} AS c{n}" for n, name in enumerate(columns))
        names = [*(f"c{n}" for n in range(len(wanted))), *(["u", "several"] if unit else [])]
        source, kept = spared(declared, session.catalog, overlay, d)
        if unit:
            source, whose, several = owned(declared, session.catalog, overlay, d, source)
            read += f", {d.cast(whose, Type.TEXT)} AS u, {several} AS several"
        inner = f"SELECT {read} FROM {source}{f' WHERE {kept}' if kept else ''}"
        sql = f"SELECT {', '.join(names)}, COUNT(*) AS n FROM ({inner}) AS r GROUP BY {', '.join(names)}"
        rows = session.engine.run_public(sql, timeout_s=READ_S).rows
    found = {name: [row[n] for row in rows] for n, name in enumerate(columns)}
    types = {column.name: column.type for column in wanted}
    if unit:
        if any(row[-2] not in (None, 1) for row in rows):
            raise Refused(
                "not_one_person",
                f"rows of {table} are of several people at once, so people cannot be counted.",
                why="a key on the way to the unit has several rows there, of different units.",
                fix="Correct the table on the way; or write a file with a column of the person, and name it by "
                "--person.",
            )
        found[unit] = [row[len(wanted)] for row in rows]
        types[unit] = Type.TEXT
    return Collapsed(found, np.array([row[-1] for row in rows], dtype=np.int64), types)


def counted(
    session: Session, table: str, columns: Sequence[str], sql: str, *, what: str, reason: str
) -> dict[str, NDArray[np.int64]]:
    """Exact counts of a project's table, for the curator; recorded as above. `sql` gives integers alone."""
    given(reason)
    within_policy([table] if table in session.catalog.tables else (), session.catalog, today())  # else it is a network
    session.ledger.record_custody(table, tuple(columns), what, reason)
    found = session.engine.run_public(sql, timeout_s=READ_S)
    read = np.array(found.rows, dtype=np.int64).reshape(-1, len(found.names))
    return {name: read[:, n] for n, name in enumerate(found.names)}


def given(reason: str) -> None:
    """Refuse to read without a reason."""
    if not reason.strip():
        raise Refused(
            "no_reason", "why are rows read past the budget?", fix='Say it: --reason "release to the ethics board".'
        )


def spared(table: Table, catalog: Catalog, overlay: Overlay, d: Dialect) -> tuple[str, str]:
    """FROM text and a condition: each row once, corrected, and none that reaches somebody who is left out."""
    source = f"{overlay.relation(table, d)} AS t" if table.unit is not None else f"{d.relation(table)} AS t"
    path = table.unit
    if not overlay.left_out or path is None or path.column is None:
        return source, ""
    own = raw_column(table.columns[path.column], d)
    gone = overlay.gone(own_type(catalog), d)
    if len(path.steps) <= 1:
        return f"{source} LEFT JOIN {gone} AS gone ON {own} = gone.u", "gone.u IS NULL"
    through, unit = unit_source(table, catalog, d, overlay)
    reaching = f"SELECT {own} AS k FROM {through} JOIN {gone} AS away ON {unit} = away.u"
    return f"{source} LEFT JOIN (SELECT DISTINCT k FROM ({reaching}) AS x) AS gone ON gone.k = {own}", "gone.k IS NULL"


def owned(table: Table, catalog: Catalog, overlay: Overlay, d: Dialect, source: str) -> tuple[str, str, str]:
    """FROM text, whose a row `t` is, and of how many people its key tells; longer paths join a map from key to unit."""
    path = table.unit
    invariant(path is not None and path.column is not None, "rows are of somebody")
    assert path is not None
    assert path.column is not None
    own = raw_column(overlay.table(table).columns[path.column], d)
    if len(path.steps) <= 1:
        return source, own, "1"
    through, unit = unit_source(table, catalog, d, overlay)
    known = f"SELECT DISTINCT {own} AS k, {unit} AS u FROM {through} WHERE {unit} IS NOT NULL"
    keyed = f"SELECT k, MIN(u) AS u, COUNT(*) AS many FROM ({known}) AS w GROUP BY k"
    return f"{source} LEFT JOIN ({keyed}) AS whose ON whose.k = {own}", "whose.u", "whose.many"


@dataclass(frozen=True, slots=True)
class Rows:
    """Somebody's rows of one table, as they lie in its source, with every column that the source has.

    `in_force`: the value that answers read, by row and by column of `columns`, where a correction put one right.
    """

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    in_force: Mapping[tuple[int, int], Any]


def rows_of(engine: Engine, catalog: Catalog, person: Value, overlay: Overlay) -> list[Rows]:
    """All rows that reach a person, of every private table.

    Whoever calls it has written into the ledger that it does.
    """
    d = DIALECTS[engine.dialect]
    found = []
    for table in catalog.tables.values():
        if table.unit is None:
            continue
        names = tuple(engine.schema(table.name))
        source, unit = unit_source(table, catalog, d)
        corrected = overlay.corrected(table, person, d)
        read = [_as_it_lies(name, stored, d) for name, stored in engine.schema(table.name).items()]
        read += [f"{text} AS {part}{n}" for n, pair in enumerate(corrected.values()) for part, text in zip("wv", pair)]
        sql = f"SELECT {', '.join(read)} FROM {source} WHERE {unit} = {d.literal(person, own_type(catalog))}"
        rows = sorted(engine.run_public(sql, timeout_s=READ_S).rows, key=repr)
        width = len(names)
        own = [_position(names, name) for name in corrected]
        pairs = [(n, column, row[width + 2 * k :]) for n, row in enumerate(rows) for k, column in enumerate(own)]
        changed = {(n, column): told[1] for n, column, told in pairs if told[0]}
        found.append(Rows(table.name, names, tuple(row[:width] for row in rows), changed))
    return found


def _position(names: Sequence[str], column: str) -> int:
    """Where a declared column is among those of the source, whose letters may be of another case."""
    return [name.lower() for name in names].index(column.lower()) if column not in names else names.index(column)


def count_of(engine: Engine, catalog: Catalog, table: Table, person: Value, where: Mapping[str, Value]) -> int:
    """How many rows of a table reach a person now, with these values as they lie. Whoever calls it has recorded why."""
    d = DIALECTS[engine.dialect]
    source, unit = unit_source(table, catalog, d)
    told = [f"{unit} = {d.literal(person, own_type(catalog))}"]
    for name, value in where.items():
        raw = raw_column(table.columns[name], d)
        told.append(f"{raw} IS NULL" if value is None else f"{raw} = {d.literal(value, table.columns[name].type)}")
    found = engine.run_public(f"SELECT COUNT(*) AS n FROM {source} WHERE {' AND '.join(told)}", timeout_s=READ_S).rows[
        0
    ][0]
    invariant(isinstance(found, int), "a count is an integer")
    assert isinstance(found, int)
    return found


def _as_it_lies(name: str, stored: str, d: Dialect) -> str:
    """A column of a type that every engine hands over as a value, else as a text."""
    return f"t.{d.identifier(name)}" if type_of(stored) is not None else d.cast(f"t.{d.identifier(name)}", Type.TEXT)


def _declared(tables: Any, name: str) -> Table:
    if name not in tables:
        raise Refused("unknown_table", f"no table {name!r} is declared.", fix=suggestion(name, tables))
    found: Table = tables[name]
    return found


def _column(table: Table, name: str) -> Column:
    if name not in table.columns:
        raise Refused(
            "unknown_column", f"table {table.name} has no column {name!r}.", fix=suggestion(name, table.columns)
        )
    return table.columns[name]
