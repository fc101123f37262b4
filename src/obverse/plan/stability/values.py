"""Facts of rows that the question itself writes down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from obverse.core.bounds import Bounds, Categories, Interval
from obverse.core.types import Type, Value
from obverse.plan.expressions import ColumnFacts, as_number, empty_bounds
from obverse.plan.relation import Facts


def listed(columns: tuple[tuple[str, Type], ...], rows: tuple[tuple[Value, ...], ...]) -> Facts:
    """Facts of the rows.

    Claim:   every value lies within the returned facts, and a value that is not NULL stands in at most `copies` rows.
    Proof:   they are read off the rows.
    Assumes: rows are constants of the question, which no database changes.
    """
    return Facts({name: _column(kind, [row[n] for row in rows]) for n, (name, kind) in enumerate(columns)}, None)


def _column(kind: Type, values: Sequence[Value]) -> ColumnFacts:
    there = [value for value in values if value is not None]
    copies = max(Counter(there).values(), default=0)
    step = Fraction(1) if kind is Type.INTEGER else None
    return ColumnFacts(kind, len(there) < len(values), _bounds(kind, there), step, copies=copies)


def _bounds(kind: Type, values: Sequence[Value]) -> Bounds:
    if not values:
        return empty_bounds(kind)
    if kind in (Type.DOUBLE, Type.TIMESTAMP):
        numbers = [Fraction(number) for value in values if (number := as_number(value)) is not None]
        return Interval(min(numbers), max(numbers))
    return Categories(tuple(sorted(set(values))))  # type: ignore[type-var]
