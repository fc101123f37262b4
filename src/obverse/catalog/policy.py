"""What the law asks of tables: a basis, a last day, and tables that are kept apart; and what is wrong with such words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator

from obverse.catalog.locate import Place
from obverse.catalog.model import Catalog
from obverse.core.errors import CatalogError, Refused

BASIS_MAX = 200


def policy_problems(catalog: Catalog, place: Place) -> Iterator[CatalogError]:
    """Texts of one line; groups of different declared tables, none of which is read on the way to another's unit."""
    for table in catalog.tables.values():
        if table.basis and (not table.basis.isprintable() or len(table.basis) > BASIS_MAX):
            where = place(("tables", table.name, "basis"))
            message = f"a basis is one line of up to {BASIS_MAX} letters"
            yield CatalogError("bad_policy", message, fix="Shorten it.", place=where)
    where = place(("policy", "apart"))
    for group in catalog.apart:
        unknown = [name for name in group if name not in catalog.tables]
        if unknown or len(set(group)) < len(group):
            message = f"{unknown[0]!r} is not declared" if unknown else "a table is not kept apart from itself"
            yield CatalogError("bad_policy", message, fix="Name different tables of this file.", place=where)
            continue
        for name in group:
            between = read_with(catalog, name) & set(group) - {name}
            if between:
                message = f"{name} is kept apart from {min(between)}, and is read by way of it"
                why = f"the unit of {name} is found through {min(between)}, so every question over one brings both together."
                yield CatalogError("bad_policy", message, why=why, fix="Declare another path.", place=where)


def read_with(catalog: Catalog, name: str) -> set[str]:
    """The table, and those that its rows find their unit through."""
    unit = catalog.tables[name].unit
    return {name} | {there for there, _ in (() if unit is None else unit.steps[:-1])}


def within_policy(tables: Iterable[str], catalog: Catalog, today: dt.date) -> None:
    """Refuse what reads a table past its last day, or tables that are kept apart together, however it combines them.

    A union counts too: the number of people in two tables together tells how many are in both.
    """
    read = {there for name in set(tables) for there in read_with(catalog, name)}
    for name in sorted(read):
        last = catalog.tables[name].retain_until
        if last is not None and today > last:
            raise Refused(
                "retention_over",
                f"table {name} is kept until {last.isoformat()}, and is not asked any more.",
                why="its owner declared this day as the last.",
                fix="the curator deletes the rows, or declares a later day with its reason.",
            )
    for group in catalog.apart:
        both = sorted(read & set(group))
        if len(both) > 1:
            raise Refused(
                "tables_apart",
                f"{both[0]} and {both[1]} are kept apart: no question may bring them together.",
                why="their owner declared it under [policy].",
                fix="ask of each by itself.",
            )
