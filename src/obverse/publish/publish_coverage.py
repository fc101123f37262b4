"""Coverage of a release: how many rows of the raw source it counts, and how columns read missing and undeclared values.

For the curator alone: exact counts, read through the curator's gateway and recorded in the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from obverse.catalog.model import OTHER, Column, Table
from obverse.core.bounds import Categories, Interval
from obverse.plan.dialects import DIALECTS
from obverse.plan.dialects.base import Dialect
from obverse.plan.emit.expressions import enforced, raw_column
from obverse.publish.comparison import Coverage, Residue
from obverse.session.custody import counted

if TYPE_CHECKING:
    from obverse.session.session import Session

LEFT_OUT = "left out"


def coverage(
    session: Session, table: Table, columns: Sequence[str], inside: int, what: str, reason: str, needed: str = ""
) -> Coverage:
    """Rows of the raw source beside those that the release counts (`inside`), and how each column reads odd values.

    `needed`: the column without which a row is in no cell, whatever its declaration.
    """
    read = [table.columns[name] for name in columns]
    sql = source_sql(table, read, DIALECTS[session.engine.dialect])
    found = counted(session, table.name, columns, sql, what=what, reason=reason)
    residues = tuple(residue(column, int(found[f"m{n}"][0]), int(found[f"o{n}"][0])) for n, column in enumerate(read))
    residues = tuple(replace(one, missing_as=LEFT_OUT) if one.column == needed else one for one in residues)
    return Coverage(table.name, int(found["n"][0]), inside, residues)


def source_sql(table: Table, columns: Sequence[Column], d: Dialect) -> str:
    """Counts of rows, of missing values and of values outside the declaration, all of the source as it is stored."""
    parts = ["COUNT(*) AS n"]
    for n, column in enumerate(columns):
        raw = raw_column(column, d)
        missing, wild = f"{raw} IS NULL", f"NOT COALESCE({enforced(plain(column), d)} = {raw}, FALSE)"
        parts += [_times(missing, f"m{n}"), _times(f"{raw} IS NOT NULL AND {wild}", f"o{n}")]
    return f"SELECT {', '.join(parts)} FROM {d.relation(table)} AS t"


def plain(column: Column) -> Column:
    """The column without its residual category, so that an undeclared value is NULL."""
    bounds = Categories(column.declared or ()) if column.other else column.bounds
    return replace(column, bounds=bounds, nullable=True, other=False)


def residue(column: Column, missing: int, outside: int) -> Residue:
    return Residue(column.name, missing, read_missing(column), outside, read_outside(column))


def read_missing(column: Column) -> str:
    """How answers read a missing value, by the column's declaration."""
    if column.nullable:
        return "NULL"
    if column.drops:
        return LEFT_OUT
    return OTHER if column.other else "the lowest value"


def read_outside(column: Column) -> str:
    """How answers read a value that the declaration does not allow."""
    if isinstance(column.bounds, Interval):
        return "the nearest bound"
    if column.other:
        return OTHER
    return LEFT_OUT if column.drops else "NULL"


def _times(condition: str, name: str) -> str:
    return f"COALESCE(SUM(CASE WHEN {condition} THEN 1 ELSE 0 END), 0) AS {name}"
