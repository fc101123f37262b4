"""What may be put right in somebody's rows: which tables and columns, and which values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from obverse.catalog.columns import fitted
from obverse.catalog.model import OTHER, Catalog, Column, Table
from obverse.catalog.shape import suggestion
from obverse.core.bounds import Categories, Interval, Unbounded
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.expressions import from_number


def correctable(catalog: Catalog, name: str) -> Table:
    table = catalog.tables.get(name)
    if table is None:
        raise Refused("unknown_table", f"no table {name!r} is declared.", fix=suggestion(name, catalog.tables))
    if table.unit is None or table.unit.column is None or len(table.unit.steps) > 1:
        raise Refused(
            "correct_at_source",
            f"rows of {name} do not name the person themselves, so they are put right where they lie.",
            fix="Change them in the source, then: obverse data publish.",
        )
    return table


def keys(catalog: Catalog, table: str) -> set[str]:
    """Columns that lead to a unit: to put one right would give rows to somebody else."""
    paths = [one.unit for one in catalog.tables.values() if one.unit is not None]
    own = {path.column for path in paths if path.table == table and path.column is not None}
    return own | {key for path in paths for there, key in path.steps if there == table}


def values_of(table: Table, told: Mapping[str, Any]) -> dict[str, Any]:
    """Values of declared columns, of their types."""
    found = {}
    for name, value in told.items():
        if name not in table.columns:
            raise Refused("unknown_column", f"table {table.name} has no column {name!r}.", fix=suggestion(name, table.columns))
        found[name] = typed(table, name, value)
    return found


def declared_values(table: Table, told: Mapping[str, Any]) -> dict[str, Any]:
    """The same, for values that are put right: each counts as it is told, or is refused."""
    found = values_of(table, told)
    for name, value in found.items():
        column = table.columns[name]
        if value is not None and not _counts(column, fitted(column.type, value)):
            raise _not_declared(table.name, column)
    return found


def _counts(column: Column, value: Any) -> bool:
    """Whether answers read a value as it is; compared as engines do, with the bounds in the column's type."""
    match column.bounds:
        case Interval(lo, hi):
            low, high = (from_number(end, column.type) for end in (lo, hi))
            return bool(low <= value <= high)
        case Categories():
            return value in (column.declared or ())
        case Unbounded():
            return True


def _not_declared(table: str, column: Column) -> Refused:
    name = column.name
    if isinstance(column.bounds, Interval):
        low, high = (from_number(end, column.type) for end in (column.bounds.lo, column.bounds.hi))
        message = f"{table}.{name} is declared within [{low}, {high}], and this value is outside."
        why = "it would count as the nearest bound, not as it is told."
    else:
        message = f"{table}.{name} has a declared list of values, and this is none of them."
        rest = f", and the row be in no answer over {name}" if column.drops else ""
        why = f"it would be read as {OTHER if column.other else 'missing'}{rest}."
    fix = f"Check the value. If it is right, declare {name} wider in obverse.toml, as wide as it can ever be, then do this."
    return Refused("value_not_declared", message, why=why, fix=fix)


def typed(table: Table, name: str, value: Any) -> Any:
    """A value as JSON or the command line has it, in the column's type; None is NULL where that may be."""
    column = table.columns[name]
    if value is None and column.nullable:
        return None
    if isinstance(value, str) and column.type in (Type.INTEGER, Type.DOUBLE, Type.BOOLEAN):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    found = fitted(column.type, value)
    if found is None:
        raise Refused("bad_parameter", f"this is no value of {table.name}.{name}, which is {column.type.value}.")
    return found if isinstance(found, (str, int, float)) else str(found)
