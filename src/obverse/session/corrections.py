"""What may be put right in somebody's rows: which tables and columns, and which values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from obverse.catalog.columns import fitted
from obverse.catalog.model import Catalog, Table
from obverse.catalog.shape import suggestion
from obverse.core.errors import Refused
from obverse.core.types import Type


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
