"""Roots, exponentials, logarithms and angles of doubles.

Claim:   each is total, never infinite and never NaN; its value lies in the interval derived for it.
Proof:   the argument is cut to the function's own domain before the function sees it, so that no order of evaluation meets
         an argument on which an engine raises: what lies outside is NULL. On the domain a monotone function lies between
         its values at the ends, widened by a relative 2**-40 (and 2**-1000) for the errors of libraries; the square root
         is rounded correctly, and sines and cosines lie within 1.
Assumes: the engine's library and Python's are within a relative 2**-41 of the exact value; libraries promise 2**-51.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

from obverse.core.bounds import UNBOUNDED, Bounds, Interval
from obverse.core.numbers import down, up
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts
from obverse.plan.functions.arithmetic import DOUBLE_MAX, NUMBERS, as_type
from obverse.plan.functions.base import ANY, Facts, Function, Printed, double_bounds, doubles, need, tainted

MOST = sys.float_info.max
TINY = 5e-324
EXPONENT_MAX = 690.0  # e**690 is below 2**1000
WIDER, LEAST_WIDTH = Fraction(1, 2**40), Fraction(1, 2**1000)


def around(values: tuple[float, ...]) -> Bounds:
    """An interval that holds whatever a library may give between these values of it."""
    low, high = (Fraction(side(values)) for side in (min, max))
    if max(abs(low), abs(high)) > DOUBLE_MAX:
        return UNBOUNDED
    return doubles(Interval(low - abs(low) * WIDER - LEAST_WIDTH, high + abs(high) * WIDER + LEAST_WIDTH))


def inside(fact: ColumnFacts, low: float, high: float) -> bool:
    """Whether every value that is not NULL surely lies in the domain."""
    bounds = double_bounds(fact)
    return bounds is not None and low <= bounds.lo and bounds.hi <= high


def kept(x: str, fact: ColumnFacts, low: float, high: float, d: Dialect) -> str:
    """The argument where it lies in the domain, else NULL; NaN lies above every double."""
    if inside(fact, low, high):
        return x
    return f"(CASE WHEN {x} BETWEEN {d.literal(low, Type.DOUBLE)} AND {d.literal(high, Type.DOUBLE)} THEN {x} END)"


def _met(fact: ColumnFacts, low: float, high: float) -> tuple[float, float] | None:
    """The ends of the arguments that lie in the domain; None when none does."""
    bounds = double_bounds(fact)
    if bounds is not None:
        low, high = max(low, down(bounds.lo)), min(high, up(bounds.hi))
    return (low, high) if low <= high else None


def _analytic(
    name: str,
    f: Callable[[float], float],
    spoken: str,
    *,
    low: float = -MOST,
    high: float = MOST,
    within: Callable[[float, float], Bounds] | None = None,
) -> Function:
    """A function of one double; monotone on its domain unless `within` says where its values lie."""

    def derive(facts: Facts) -> ColumnFacts:
        need(NUMBERS, facts, name.upper())
        met = _met(facts[0], low, high)
        bounds: Bounds = Interval(Fraction(0), Fraction(0))
        if met is not None:
            bounds = within(*met) if within is not None else around((f(met[0]), f(met[1])))
        null = facts[0].nullable or not inside(facts[0], low, high)
        return ColumnFacts(Type.DOUBLE, null, bounds, None, tainted(facts))

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        x = kept(as_type(args, facts, Type.DOUBLE, d)[0], facts[0], low, high, d)
        return d.call(name, x)

    def reference(x: Value) -> Value:
        return None if not isinstance(x, (int, float)) or not low <= x <= high else f(float(x))

    return Function(name, derive, printed, reference, "the argument is cut to the domain", spoken, (ANY,))


def _root_bounds(low: float, high: float) -> Bounds:
    return Interval(Fraction(math.sqrt(low)), Fraction(math.sqrt(high)))


def _unit(low: float, high: float) -> Bounds:
    return around((-1.0, 1.0))


def _unknown(low: float, high: float) -> Bounds:
    return UNBOUNDED


sqrt = _analytic("sqrt", math.sqrt, "SQRT(x) (NULL where x is negative)", low=0.0, within=_root_bounds)
cbrt = _analytic("cbrt", math.cbrt, "CBRT(x)")
exp = _analytic("exp", math.exp, f"EXP(x) (NULL where x is above {EXPONENT_MAX:.0f})", high=EXPONENT_MAX)
ln = _analytic("ln", math.log, "LN(x) (NULL where x is not positive)", low=TINY)
log10 = _analytic("log10", math.log10, "LOG(x), LOG10(x), LOG(10, x)", low=TINY)
log2 = _analytic("log2", math.log2, "LOG2(x), LOG(2, x)", low=TINY)
sin = _analytic("sin", math.sin, "SIN(x)", within=_unit)
cos = _analytic("cos", math.cos, "COS(x)", within=_unit)
tan = _analytic("tan", math.tan, "TAN(x)", within=_unknown)
asin = _analytic("asin", math.asin, "ASIN(x) (NULL outside -1 to 1)", low=-1.0, high=1.0)
acos = _analytic("acos", math.acos, "ACOS(x) (NULL outside -1 to 1)", low=-1.0, high=1.0)
atan = _analytic("atan", math.atan, "ATAN(x)")

ANALYTIC = (sqrt, cbrt, exp, ln, log10, log2, sin, cos, tan, asin, acos, atan)
