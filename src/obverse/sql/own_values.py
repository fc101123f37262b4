"""A unit's own value in a group, and the bounds that it is clamped to."""

from __future__ import annotations

from fractions import Fraction

from obverse.core.bounds import Interval
from obverse.core.errors import Refused
from obverse.core.types import INT64_MAX
from obverse.plan.expressions import Expr, literal
from obverse.plan.functions import call
from obverse.plan.measures import bounded
from obverse.sql.google.google import Contribution

WIDE = 256  # times the larger bound of a group: a row further out counts as that


def far_out(bounds: Contribution) -> int | float:
    """Beyond it a row is clamped before it is added up, so that the grid of sums stays fine."""
    far = WIDE * max(abs(bounds.lo), abs(bounds.hi)) or WIDE
    return min(far, INT64_MAX) if isinstance(far, int) else far


def clamped(value: Expr, bounds: Contribution) -> Expr:
    return call("clamp", value, literal(bounds.lo), literal(bounds.hi))


def known_bounds(value: Expr) -> Interval | None:
    try:
        return bounded(value)
    except Refused:
        return None


def rows_to_reach(value: Interval, bounds: Contribution) -> int:
    """The least number of rows whose sum reaches both bounds, where any does; more would only coarsen the grid."""
    up, down = Fraction(bounds.hi), -Fraction(bounds.lo)
    needed = [Fraction(1)]
    if value.hi > 0:
        needed.append(up / value.hi)
    if value.lo < 0:
        needed.append(down / -value.lo)
    most = max(needed)
    return -(-most.numerator // most.denominator)


def alone(kind: str, value: Expr | None) -> Expr:
    """The own aggregate of a unit that is one row."""
    if kind != "count":
        assert value is not None
        return value
    if value is None:
        return literal(1)
    there = call("is_null", value)
    return call("case", there, literal(0), literal(1))
