"""Questions that the declarations of a project suggest: of each private table a count, a histogram, a sum and an average."""

from __future__ import annotations

from obverse.catalog.model import Catalog, Column, Table
from obverse.core.bounds import Categories, Interval
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.dialects import DIALECTS

TABLES_MAX = 3
quoted = DIALECTS["duckdb"].identifier
RESERVED = frozenset(
    "all and any as asc between by case cast check column create cross default desc distinct do else end except exists false "
    "fetch filter for from full grant group having in inner intersect into is join lateral left like limit natural not null "
    "offset on or order outer over primary qualify references right row rows select session set some table then to true "
    "union unique update user using values when where window with within".split()
)


def usual_questions(catalog: Catalog) -> tuple[str, ...]:
    """From columns, bounds and public values alone."""
    private = [table for table in catalog.tables.values() if not table.public][:TABLES_MAX]
    if not private:
        raise Refused("no_private_table", "this project has no private table, so nothing in it has noise.")
    return tuple(sql for table in private for sql in _of(table))


def _of(table: Table) -> list[str]:
    name = _name(table.name)
    shown = [column for column in table.columns.values() if not column.hidden]
    keys = [column for column in shown if isinstance(column.bounds, Categories)]
    numbers = [column for column in shown if _summed(column)]
    found = []
    if keys:
        found.append(f"SELECT {_name(keys[0].name)}, COUNT(*) AS n FROM {name} GROUP BY {_name(keys[0].name)}")
    else:
        found.append(f"SELECT COUNT(*) AS n FROM {name}")
    if numbers:
        found.append(f"SELECT SUM({_name(numbers[-1].name)}) AS total FROM {name}")
    return found


def _summed(column: Column) -> bool:
    return column.type in (Type.INTEGER, Type.DOUBLE) and isinstance(column.bounds, Interval)


def _name(text: str) -> str:
    plain = text.isascii() and text.replace("_", "a").isalnum() and text == text.lower() and not text[0].isdigit()
    return text if plain and text not in RESERVED else quoted(text)
