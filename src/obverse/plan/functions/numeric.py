"""Powers, signs, angles' units and buckets.

Claim:   each is total, never infinite and never NaN where its arguments are not; its value lies in its interval.
Proof:   beside each. A power that is not a finite double is NULL; where its interval is known, none is. The other
         functions are sums, products and comparisons of doubles, which never raise.
Assumes: a library's power is within a relative 2**-41 of the exact one; power raises on no pair of doubles (the
         dialect's engine gives infinity or NaN).

Roots, exponentials, logarithms and angles of doubles.

Claim:   each is total, never infinite and never NaN; its value lies in the interval derived for it.
Proof:   the argument is cut to the function's own domain before the function sees it, so that no order of evaluation
         meets an argument on which an engine raises: what lies outside is NULL. On the domain a monotone function lies
         between its values at the ends, widened by a relative 2**-40 (and 2**-1000) for the errors of libraries; the
         square root is rounded correctly, and sines and cosines lie within 1.
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
from obverse.plan.expressions import ColumnFacts, number_bounds
from obverse.plan.functions.arithmetic import DOUBLE_MAX, NUMBERS, as_type
from obverse.plan.functions.base import (
    ANY,
    Facts,
    Function,
    Printed,
    any_null,
    double_bounds,
    doubles,
    literal_integer,
    literal_number,
    mismatch,
    need,
    ranked,
    tainted,
)

MOST = sys.float_info.max
TINY = 5e-324
EXPONENT_MAX = 690.0  # e**690 is below 2**1000
WIDER = Fraction(1, 2**40)
LEAST_WIDTH = Fraction(1, 2**1000)


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
        low = max(low, down(bounds.lo))
        high = min(high, up(bounds.hi))
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


BUCKETS_MAX = 10_000
LIMIT_MAX = 10**15
EXACT = 2**53


def _power(x: Value, y: Value) -> Value:
    if not isinstance(x, (int, float)) or not isinstance(y, (int, float)):
        return None
    try:
        found = math.pow(x, y)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _power_bounds(facts: Facts) -> Bounds:
    """At the corners: for a positive base, a power is monotone in each; for others only whole exponents are looked
    at.
    """
    a = double_bounds(facts[0])
    b = double_bounds(facts[1])
    if a is None or b is None or max(a.magnitude, b.magnitude) > DOUBLE_MAX:
        return UNBOUNDED
    bases = [down(a.lo), up(a.hi)]
    whole = b.lo == b.hi and b.lo.denominator == 1
    if a.lo <= 0 and not (whole and b.lo >= 0) and not (a.lo == 0 and b.lo >= 0):
        return UNBOUNDED
    if a.lo < 0 < a.hi:
        bases.append(0.0)
    corners = [_power(x, y) for x in bases for y in (down(b.lo), up(b.hi))]
    values = tuple(c for c in corners if isinstance(c, float))
    return around(values) if len(values) == len(corners) else UNBOUNDED


def _power_facts(facts: Facts) -> ColumnFacts:
    need(NUMBERS, facts, "POWER")
    bounds = _power_bounds(facts)
    exponent = literal_number(facts[1])
    whole = facts[0].step == 1 and exponent is not None and exponent >= 0 and exponent.denominator == 1
    exact = whole and isinstance(bounds, Interval) and bounds.magnitude <= EXACT
    null = any_null(facts) or bounds == UNBOUNDED
    return ColumnFacts(Type.DOUBLE, null, bounds, Fraction(1) if exact else None, tainted(facts))


def _power_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    x, y = as_type(args, facts, Type.DOUBLE, d)
    return d.power(x, y, sure=_power_bounds(facts) != UNBOUNDED)


power = Function(
    "power",
    _power_facts,
    _power_sql,
    _power,
    "at the corners of base and exponent, widened for the library; NULL where it is not finite",
    "POWER(x, y), POW(x, y), x ^ y",
    (ANY, ANY),
)


def _sign(x: Value) -> Value:
    if x is None:
        return None
    return (ranked(x) > ranked(0.0)) - (ranked(x) < ranked(0.0))


def _sign_facts(facts: Facts) -> ColumnFacts:
    need(NUMBERS, facts, "SIGN")
    b = number_bounds(facts[0]) or Interval(Fraction(-1), Fraction(1))
    ends = [Fraction((end > 0) - (end < 0)) for end in (b.lo, b.hi)]
    return ColumnFacts(Type.INTEGER, facts[0].nullable, Interval(*ends), Fraction(1), tainted(facts))


def _sign_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    plus, minus, none = (d.literal(n, Type.INTEGER) for n in (1, -1, 0))
    return f"(CASE WHEN {args[0]} > 0 THEN {plus} WHEN {args[0]} < 0 THEN {minus} WHEN {args[0]} = 0 THEN {none} END)"


sign = Function("sign", _sign_facts, _sign_sql, _sign, "one of -1, 0, 1; monotone", "SIGN(x)", (ANY,))


def _scaled(name: str, factor: float, spoken: str) -> Function:
    def derive(facts: Facts) -> ColumnFacts:
        need(NUMBERS, facts, name.upper())
        b = double_bounds(facts[0])
        bounds: Bounds = UNBOUNDED
        if b is not None and b.magnitude * 60 <= DOUBLE_MAX:
            bounds = doubles(Interval(b.lo * Fraction(factor), b.hi * Fraction(factor)))
        return ColumnFacts(Type.DOUBLE, facts[0].nullable or bounds == UNBOUNDED, bounds, None, tainted(facts))

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        known = derive(facts).bounds != UNBOUNDED
        x = as_type(args, facts, Type.DOUBLE, d)[0]
        by = d.literal(factor, Type.DOUBLE)
        text = d.operation("*", x, by, large=not known, small=factor < 1 and facts[0].type is not Type.INTEGER)
        return text if known else f"(CASE WHEN {d.is_finite(text)} THEN {text} END)"

    def reference(x: Value) -> Value:
        found = float(x) * factor if isinstance(x, (int, float)) else math.inf
        return found if math.isfinite(found) else None

    return Function(name, derive, printed, reference, "one product; NULL where it is not finite", spoken, (ANY,))


degrees = _scaled("degrees", 180 / math.pi, "DEGREES(x)")
radians = _scaled("radians", math.pi / 180, "RADIANS(x), PI()")


def _limits(facts: Facts) -> tuple[float, float, int]:
    low = literal_number(facts[1])
    high = literal_number(facts[2])
    if low is None or high is None or max(abs(low), abs(high)) > LIMIT_MAX or float(low) >= float(high):
        raise mismatch("WIDTH_BUCKET takes two literal ends, the lower first", "Write WIDTH_BUCKET(x, 0, 100, 10).")
    return float(low), float(high), literal_integer(facts[3], 1, BUCKETS_MAX, "WIDTH_BUCKET's number of buckets")


def _bucket(x: Value, low: Value, high: Value, count: Value) -> Value:
    if x is None:
        return None
    assert isinstance(x, (int, float))
    assert isinstance(low, (int, float))
    assert isinstance(high, (int, float))
    assert isinstance(count, int)
    x = float(x)
    low = float(low)
    high = float(high)
    if x < low:
        return 0
    if x >= high or x != x:
        return count + 1
    return min(math.floor((x - low) * count / (high - low)), count - 1) + 1


def _bucket_facts(facts: Facts) -> ColumnFacts:
    need(NUMBERS, facts, "WIDTH_BUCKET")
    low, high, count = _limits(facts)
    first = 0
    last = count + 1
    b = double_bounds(facts[0])
    if b is not None:
        ends = [_bucket(x=end, low=low, high=high, count=count) for end in (down(b.lo), up(b.hi))]
        first, last = (end for end in ends if isinstance(end, int))
    return ColumnFacts(
        Type.INTEGER, facts[0].nullable, Interval(Fraction(first), Fraction(last)), Fraction(1), tainted(facts)
    )


def _bucket_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    low, high, count = _limits(facts)
    x = as_type(args, facts, Type.DOUBLE, d)[0]
    lowest, highest, width = (d.literal(n, Type.DOUBLE) for n in (low, high, high - low))
    # in a CASE that lets x between the ends through
    times = f"(({x} - {lowest}) * {d.literal(float(count), Type.DOUBLE)})"
    place = d.try_cast(
        d.call("floor", d.operation("/", times, width, large=False, small=True)), Type.INTEGER, Type.DOUBLE
    )
    none = d.literal(0, Type.INTEGER)
    over = d.literal(count + 1, Type.INTEGER)
    inner = f"WHEN {x} < {highest} THEN LEAST({place}, {d.literal(count - 1, Type.INTEGER)}) + 1"
    return f"(CASE WHEN {x} < {lowest} THEN {none} {inner} WHEN {x} >= {highest} THEN {over} END)"


width_bucket = Function(
    "width_bucket",
    _bucket_facts,
    _bucket_sql,
    _bucket,
    "0 below, n + 1 from the upper end on, else 1 to n; each step is monotone, so the ends map to the ends",
    "WIDTH_BUCKET(x, lo, hi, n)",
    (ANY, (-3, 0, 0.5), (1, 7.25, 1000), (1, 4, 7)),
)

NUMERIC = (power, sign, degrees, radians, width_bucket)
