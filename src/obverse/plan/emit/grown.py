"""Rows of growing data: none past the last published partition, and of a unit only those of its first partition."""

from __future__ import annotations

from obverse.catalog.model import Table
from obverse.plan.dialects.base import Dialect
from obverse.plan.emit import expressions as printing
from obverse.plan.partitions import published, value_of


def grown_source(table: Table, source: str, unit: str | None, d: Dialect) -> tuple[str, str | None, list[str]]:
    """FROM text, the unit, and what a row must satisfy.

    Where the unit is one's part of a partition, both make its key. Else each row is joined with the first partition of its
    unit, over all rows of the unit that are published, whatever a question filters.
    """
    if table.partition is None:
        return source, unit, []
    column, among = table.columns[table.partition.column], published(table)
    at = printing.raw_column(column, d)  # as it lies: a value moved to a bound would come to another partition with the bound
    first, last = (d.literal(value_of(end, column.type), column.type) for end in (among.first, among.last))
    inside = f"{at} BETWEEN {first} AND {last}"
    if unit is None:
        return source, unit, [inside]
    assert table.unit is not None
    assert table.unit.column is not None
    if table.partition.counts == "each":
        own = d.canonical(unit, table.columns[table.unit.column].type)
        return source, f"({d.canonical(at, column.type)} || {d.text(':')} || {own})", [inside]
    rows = f"SELECT {unit} AS u, {at} AS p FROM {source} WHERE {unit} IS NOT NULL AND {inside}"
    begun = f"(SELECT u, MIN(p) AS p FROM ({rows}) AS b GROUP BY u)"
    return f"{source} JOIN {begun} AS begun ON {unit} = begun.u AND {at} = begun.p", unit, []
