"""Tables past their last day: what the curator has to delete, and what cannot be asked any more."""

from __future__ import annotations

import datetime as dt

from obverse.catalog.load import FILE_NAME
from obverse.catalog.model import Catalog, Table
from obverse.catalog.policy import read_with


def overdue(catalog: Catalog, table: Table, today: dt.date) -> str | None:
    """What `check` says of a table that is past its last day, or whose rows are found through one; None of others."""
    if _past(table, today):
        others = [one for one in catalog.tables.values() if one is not table]
        return _to_delete(table, [one for one in others if table.name in read_with(catalog, one.name)])
    for name in sorted(read_with(catalog, table.name)):
        if _past(catalog.tables[name], today):
            last = catalog.tables[name].retain_until
            return f"every question of it is refused: its rows are found through {name}, whose last day, {last}, is over"
    return None


def _to_delete(table: Table, reached: list[Table]) -> str:
    """Its rows, and those of tables that name people by way of it: without it nobody can tell whose they are."""
    rows = f"the rows of {table.name} ({_place(table)})"
    rows += "".join(f" and those of {one.name} ({_place(one)}) that are found through them" for one in reached)
    out = "the table" if not reached else "the tables " + ", ".join([table.name, *(one.name for one in reached)])
    return (
        f"its last day, {table.retain_until}, is over: every question of it is refused, and its rows are still held; delete"
        f" {rows} with their copies and backups, then take {out} out of {FILE_NAME}"
    )


def _past(table: Table, today: dt.date) -> bool:
    return table.retain_until is not None and today > table.retain_until


def _place(table: Table) -> str:
    return table.source.path.name if table.source.path is not None else table.source.table or table.name

