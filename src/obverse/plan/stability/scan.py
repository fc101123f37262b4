"""Facts of a declared table as the emitted SQL reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from obverse.catalog.model import Catalog, Column, Limits, Table
from obverse.core.bounds import UNBOUNDED, Interval
from obverse.core.sensitivity import Stability
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.plan.expressions import ColumnFacts
from obverse.plan.relation import Facts


def scan(
    table: Table, neighbours: Neighbours, columns: tuple[str, ...], named: Mapping[str, str] = {}, *, alone: bool = True
) -> Facts:
    """Facts of the scan.

    Claim:   every value read lies within the returned column facts, whatever the file holds; two neighbouring databases
             differ here only in the rows of one unit.
    Proof:   the emitted scan casts by TRY_CAST, clamps numbers and dates to their bounds, reads values outside a public
             list as the category (other) or as NULL (and leaves the row out where neither is declared), and puts the
             lower bound in place of a NULL that was declared away. A row belongs to its key column's unit, or to
             itself, or along a path to each unit that its key leads to, for each within that unit's cap; rows without a
             unit are left out. Under replace each unit surely has a row where its table is the only private one
             (`alone`), or where rows are units: then whoever comes in place of another has rows nowhere else.
    Assumes: nothing of the data.
    """
    if table.public:
        return Facts({c: column_facts(table.columns[c]) for c in columns}, None)
    limits = table.limits if isinstance(table.limits, Limits) else None
    facts = {
        c: replace(
            column_facts(table.columns[c], identifies=c == (table.unit and table.unit.column)),
            names=named.get(c, ""),
            sum_cap=limits.sums.get(c) if limits is not None else None,
        )
        for c in columns
    }
    dropping = any(table.columns[c].drops for c in columns)
    present = (
        neighbours is Neighbours.REPLACE and not dropping and table.limits is None and (alone or table.row_is_unit)
    )
    rows = 1 if table.row_is_unit else UNBOUNDED
    cap = 1 if table.limits is None else limits.rows if limits is not None else None
    keyed = table.unit is not None and table.unit.column is not None
    groups = limits.groups if limits is not None else None
    return Facts(facts, Stability(neighbours, rows, present, keyed, cap, groups, table.limits is None))


def keys_named(catalog: Catalog) -> dict[str, dict[str, str]]:
    """Per private table, the columns whose values are keys, and of what: those that lead to the unit."""
    paths = [t.unit for t in catalog.tables.values() if t.unit is not None and t.unit.column is not None]
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        there, key = path.steps[0] if path.steps else (path.table, path.column)
        found.setdefault(path.table, {})[str(path.column)] = f"{there}.{key}"
    for path in paths:
        for there, key in path.steps:
            found.setdefault(there, {}).setdefault(key, f"{there}.{key}")
    return found


def column_facts(column: Column, *, identifies: bool = False) -> ColumnFacts:
    """The column as declared; the ends of a double's bounds as the engine holds them, the nearest doubles."""
    step = column.grid if column.grid is not None else Fraction(1) if column.type is Type.INTEGER else None
    bounds = column.bounds
    if column.type is Type.DOUBLE and isinstance(bounds, Interval):
        bounds = Interval(Fraction(float(bounds.lo)), Fraction(float(bounds.hi)))
    return ColumnFacts(column.type, column.nullable, bounds, step, identifies, copies=column.copies)
