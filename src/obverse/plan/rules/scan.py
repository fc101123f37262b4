"""Facts of a declared table as the emitted SQL reads it."""

from __future__ import annotations

from fractions import Fraction

from obverse.catalog.model import Column, Table
from obverse.core.bounds import UNBOUNDED, Categories, Interval
from obverse.core.sensitivity import Stability
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.plan.expressions import ColumnFacts
from obverse.plan.facts import Facts


def scan(table: Table, neighbours: Neighbours, columns: tuple[str, ...]) -> Facts:
    """Facts of the scan.

    Claim:   every value read lies within the returned column facts, whatever the file holds; two neighbouring databases
             differ here only in the rows of one unit.
    Proof:   the emitted scan casts by TRY_CAST, clamps numbers and dates to their bounds, reads values outside a public
             list as NULL (and leaves the row out where the column may not be NULL), and puts the lower bound in place of
             a NULL that was declared away. A row belongs to its key column's unit, or to itself, or along a path to
             each unit that its key leads to, for each within that unit's cap; rows without a unit are left out.
    Assumes: nothing of the data.
    """
    if table.public:
        return Facts({c: column_facts(table.columns[c]) for c in columns}, None)
    key = None if table.unit is None else table.unit.column
    facts = {c: column_facts(table.columns[c], identifies=c == key) for c in columns}
    dropping = any(not f.nullable and isinstance(f.bounds, Categories) for f in facts.values())
    present = neighbours is Neighbours.REPLACE and not dropping and table.limits is None
    return Facts(facts, Stability(neighbours, 1 if table.row_is_unit else UNBOUNDED, always_present=present))


def column_facts(column: Column, *, identifies: bool = False) -> ColumnFacts:
    """The column as declared; the ends of a double's bounds as the engine holds them, the nearest doubles."""
    step = column.grid if column.grid is not None else Fraction(1) if column.type is Type.INTEGER else None
    bounds = column.bounds
    if column.type is Type.DOUBLE and isinstance(bounds, Interval):
        bounds = Interval(Fraction(float(bounds.lo)), Fraction(float(bounds.hi)))
    return ColumnFacts(column.type, column.nullable, bounds, step, identifies)
