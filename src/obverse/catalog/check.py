"""A catalog's own consistency: what no single key can tell.

What the law asks of tables: a basis, a last day, and tables that are kept apart; and what is wrong with such words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from fractions import Fraction

from obverse.catalog.graphs import network_problems
from obverse.catalog.keys import suggestion
from obverse.catalog.locate import KeyParts, Place, dotted
from obverse.catalog.model import Catalog, Limits, Table
from obverse.catalog.tables import entity_problems
from obverse.core.bounds import Interval
from obverse.core.errors import CatalogError, Refused
from obverse.core.ledger import Budget
from obverse.core.types import Type
from obverse.core.units import Neighbours

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
                why = (
                    f"the unit of {name} is found through {min(between)}, so every question over one brings both "
                    "together."
                )
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


UNIT_TYPES = (Type.INTEGER, Type.TEXT)


def catalog_problems(catalog: Catalog, place: Place = dotted) -> Iterator[CatalogError]:
    """Every contradiction between the declared facts; `place` turns a key into words that locate it."""
    yield from _names(catalog, place)
    yield from entity_problems(catalog.tables, place)
    yield from network_problems(catalog, place)
    for table in catalog.tables.values():
        yield from _limits(table, catalog, place)
        yield from _size(table, catalog, place)
        yield from _unit_types(table, catalog, place)
        yield from _values_from(table, catalog, place)
        yield from _partition(table, catalog, place)
    yield from _prices(catalog, place)
    yield from _purposes(catalog, place)
    yield from policy_problems(catalog, place)


def _names(catalog: Catalog, place: Place) -> Iterator[CatalogError]:
    yield from names_twice((table.name for table in catalog.held), ("tables",), place)
    for table in catalog.tables.values():
        yield from names_twice(table.columns, ("tables", table.name, "columns"), place)


def names_twice(names: Iterable[str], path: KeyParts, place: Place) -> Iterator[CatalogError]:
    """Names that SQL would take for the same."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            message = f"{name!r} and {other!r} differ only in case"
            why = "SQL does not tell them apart."
            yield CatalogError("name_twice", message, why=why, fix="Rename one.", place=place((*path, name)))


def _limits(table: Table, catalog: Catalog, place: Place) -> Iterator[CatalogError]:
    where = place(("tables", table.name, "limits"))
    if table.unit is None or catalog.unit is None:
        return
    if table.row_is_unit and table.limits is not None:
        message = "each row is its own unit, so there is nothing to limit"
        yield CatalogError("bad_limits", message, fix="Remove the limits.", place=where)
    elif table.limits is None and table.unit.steps:
        message = f"how much may one unit contribute to {table.name!r}?"
        why = "A unit may have many rows here; the noise must cover all that count."
        fix = 'Add limits = { rows = 20, groups = 5 } with your own numbers, or limits = "auto".'
        yield CatalogError("limits_missing", message, why=why, fix=fix, place=where)
    elif isinstance(table.limits, Limits):
        yield from _sums(table, table.limits, place)


def _sums(table: Table, limits: Limits, place: Place) -> Iterator[CatalogError]:
    for name, cap in limits.sums.items():
        where = place(("tables", table.name, "limits", "sums", name))
        column = table.columns.get(name)
        if column is None or not column.type.numeric:
            numeric = [c.name for c in table.columns.values() if c.type.numeric]
            message = f"{name!r} is not a declared number of {table.name!r}"
            yield CatalogError("bad_limits", message, fix=suggestion(name, numeric), place=where)
        elif isinstance(column.bounds, Interval) and cap > limits.rows * column.bounds.magnitude:
            message = f"this cap on the sum of {name!r} is above rows times the largest magnitude"
            fix = "Remove it, or lower it."
            yield CatalogError("bad_limits", message, why="It would never bind.", fix=fix, place=where)


def _size(table: Table, catalog: Catalog, place: Place) -> Iterator[CatalogError]:
    if table.size is None or catalog.unit is None:
        return
    where = place(("tables", table.name, "size"))
    if catalog.unit.neighbours is not Neighbours.REPLACE:
        why = "Under add-remove the number of units is itself protected."
        fix = 'Remove the size, or set neighbours = "replace".'
        yield CatalogError("conflict", "a public size is for replace only", why=why, fix=fix, place=where)
    elif table.unit is not None and table.unit.steps:
        message = f"the size belongs to {catalog.unit.table!r}, where the units are"
        yield CatalogError("conflict", message, fix="Move it there.", place=where)


def _unit_types(table: Table, catalog: Catalog, place: Place) -> Iterator[CatalogError]:
    """Of the own key and those passed on the way, if declared as columns; `complete` sees the others."""
    if table.unit is None or table.unit.column is None:
        return
    steps = ((table.name, table.unit.column), *table.unit.steps[:-1])
    declared = [(there, key, catalog.tables[there].columns.get(key)) for there, key in steps if there in catalog.tables]
    for there, key, column in declared:
        if column is not None and column.type not in UNIT_TYPES:
            yield unit_type_error(there, key, place)


def unit_type_error(table: str, key: str, place: Place) -> CatalogError:
    message = f"{table}.{key} leads to the unit, and is neither integer nor text"
    why = "Units are told apart by equality, which must be exact."
    fix = f'Declare {key} = {{ type = "text" }} under [tables.{table}.columns]; it is then read as text.'
    return CatalogError("unit_type", message, why=why, fix=fix, place=place(("tables", table, "columns", key)))


def _values_from(table: Table, catalog: Catalog, place: Place) -> Iterator[CatalogError]:
    for column in table.columns.values():
        if column.values_from is None:
            continue
        where = place(("tables", table.name, "columns", column.name, "values"))
        listing = catalog.tables.get(column.values_from[0])
        if listing is None or not listing.public:
            public = [t.name for t in catalog.tables.values() if t.public]
            state = "not declared" if listing is None else "private"
            message = f"{column.values_from[0]!r} is {state}, so its values are not public"
            fix = f"Name a column of a public table. {suggestion(column.values_from[0], public)}"
            yield CatalogError("bad_values", message, fix=fix, place=where)


def _partition(table: Table, catalog: Catalog, place: Place) -> Iterator[CatalogError]:
    """Partitions have budgets of their own only where each unit lies in one of them."""
    if table.partition is None or catalog.unit is None or table.unit is None:
        return
    where = place(("tables", table.name, "partition"))
    column = table.columns.get(table.partition.column)
    counted = column is not None and column.type in (Type.INTEGER, Type.DATE) and isinstance(column.bounds, Interval)
    if not counted:
        message = "the partition column is no declared integer or date with bounds"
        fix = f'Declare {table.partition.column} = {{ type = "date", bounds = ["2024-01-01", "2034-12-31"] }}.'
        yield CatalogError("bad_partition", message, fix=fix, place=where)
    elif catalog.unit.neighbours is not Neighbours.ADD_REMOVE:
        why = "Who replaces another may come in another partition, so that two of them change."
        yield CatalogError(
            "bad_partition", "partitions are for add-remove", why=why, fix="Remove `neighbours`.", place=where
        )
    elif sum(not other.public for other in catalog.tables.values()) > 1 or table.unit.steps:
        why = "A unit may have rows of other tables beside those of its partition."
        fix = "Make a project with this private table alone, whose unit is one of its own columns."
        yield CatalogError(
            "bad_partition", "a partitioned table is the only private one", why=why, fix=fix, place=where
        )
    elif table.partition.counts == "each" and table.row_is_unit:
        message = "a row is in one partition as it is"
        yield CatalogError("bad_partition", message, fix='Write counts = "first".', place=where)


def _prices(catalog: Catalog, place: Place) -> Iterator[CatalogError]:
    if catalog.unit is None:
        return
    if catalog.accounting == "zcdp":
        for section, delta in (("privacy", catalog.delta), ("budget", catalog.budget.delta)):
            if delta == 0:
                fix = f"Set delta = 1e-8 or so in [{section}]."
                message = "zcdp states its loss at a delta above 0"
                yield CatalogError("bad_parameter", message, fix=fix, place=place((section, "delta")))
    for key, price, cap in _defaults(catalog.epsilon, catalog.delta, catalog.budget):
        if price > cap:
            message = f"the default {key} of one question is above the budget's"
            fix = f"Lower [privacy] {key}, or raise [budget] {key}."
            yield CatalogError("price_over_budget", message, fix=fix, place=place(("privacy", key)))


def _defaults(epsilon: Fraction, delta: Fraction, budget: Budget) -> tuple[tuple[str, Fraction, Fraction], ...]:
    return ("epsilon", epsilon, budget.epsilon), ("delta", delta, budget.delta)


def _purposes(catalog: Catalog, place: Place) -> Iterator[CatalogError]:
    named = [("analysts", "analyst", analyst.name, analyst.purposes) for analyst in catalog.analysts.values()]
    named += [("tables", "table", table.name, table.purposes) for table in catalog.tables.values()]
    for section, what, name, purposes in named:
        for purpose in purposes:
            if purpose not in catalog.purposes:
                message = f"purpose {purpose!r} of {what} {name!r} is not declared"
                fix = f"Add [purposes.{purpose}] with its epsilon. {suggestion(purpose, catalog.purposes)}"
                where = place((section, name, "purposes"))
                yield CatalogError("purpose_not_declared", message, fix=fix, place=where)
