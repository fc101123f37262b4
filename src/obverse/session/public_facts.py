"""What public tables tell of themselves: their columns' values, bounds, NULLs, and how often a value stands."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from obverse.catalog.columns import categories
from obverse.catalog.model import Catalog, Column, Table
from obverse.core.bounds import Bounds, Categories, Interval, Unbounded
from obverse.core.engine import Engine
from obverse.core.types import Type, Value
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit.expressions import enforced
from obverse.plan.expressions import as_number

LISTED_MAX = 10_000  # different values of a public column that may become keys
TIMEOUT_S = 60.0


def with_public_facts(catalog: Catalog, engine: Engine) -> Catalog:
    """The catalog with the facts of its public tables, read from them: what is public needs no declaration."""
    tables = {name: _table(table, engine) if table.public else table for name, table in catalog.tables.items()}
    return replace(catalog, tables=tables)


def _table(table: Table, engine: Engine) -> Table:
    columns = {name: column if column.hidden else _column(table, column, engine) for name, column in table.columns.items()}
    return replace(table, columns=columns)


def _column(table: Table, column: Column, engine: Engine) -> Column:
    d = DIALECTS[engine.dialect]
    value = enforced(column, d)
    grouped = f"SELECT {value} AS v, COUNT(*) AS n FROM {d.relation(table)} AS t GROUP BY 1"
    figures = "COUNT(v), COALESCE(MAX(n) FILTER (WHERE v IS NOT NULL), 0), COUNT(*) FILTER (WHERE v IS NULL), MIN(v), MAX(v)"
    found = engine.run_public(f"SELECT {figures} FROM ({grouped}) AS g", timeout_s=TIMEOUT_S).rows[0]
    different, copies, nulls, low, high = found
    assert isinstance(different, int)
    assert isinstance(copies, int)
    bounds = column.bounds
    if isinstance(bounds, Unbounded):
        bounds = _bounds(column, different, low, high, f"SELECT v FROM ({grouped}) AS g WHERE v IS NOT NULL ORDER BY v", engine)
    return replace(column, bounds=bounds, nullable=bool(nulls) and column.nullable, copies=copies)


def _bounds(column: Column, different: int, low: Value, high: Value, listing: str, engine: Engine) -> Bounds:
    """Few texts, numbers or truths are listed; of many numbers or dates the ends are known."""
    ordered = column.type in (Type.INTEGER, Type.DATE, Type.TIMESTAMP, Type.DOUBLE)
    if different == 0:
        return Categories(())
    if different <= LISTED_MAX and column.type is not Type.TIMESTAMP and column.type is not Type.DOUBLE:
        listed = categories(column.type, (row[0] for row in engine.run_public(listing, timeout_s=TIMEOUT_S).rows))
        return listed or column.bounds  # a text with a zero byte cannot be named in SQL
    first, last = as_number(low), as_number(high)
    if ordered and first is not None and last is not None:
        return Interval(Fraction(first), Fraction(last))
    return column.bounds
