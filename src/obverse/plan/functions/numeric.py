"""Powers, signs, angles' units and buckets.

Claim:   each is total, never infinite and never NaN where its arguments are not; its value lies in its interval.
Proof:   beside each. A power that is not a finite double is NULL; where its interval is known, none is. The other
         functions are sums, products and comparisons of doubles, which never raise.
Assumes: a library's power is within a relative 2**-41 of the exact one; power raises on no pair of doubles (the dialect's
         engine gives infinity or NaN).
"""

from __future__ import annotations

import math
from fractions import Fraction

from obverse.core.bounds import UNBOUNDED, Bounds, Interval
from obverse.core.numbers import down, up
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts, number_bounds
from obverse.plan.functions.analytic import around
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
    """At the corners: for a positive base, a power is monotone in each; for others only whole exponents are looked at."""
    a, b = double_bounds(facts[0]), double_bounds(facts[1])
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
        x, by = as_type(args, facts, Type.DOUBLE, d)[0], d.literal(factor, Type.DOUBLE)
        text = d.operation("*", x, by, large=not known, small=factor < 1 and facts[0].type is not Type.INTEGER)
        return text if known else f"(CASE WHEN {d.is_finite(text)} THEN {text} END)"

    def reference(x: Value) -> Value:
        found = float(x) * factor if isinstance(x, (int, float)) else math.inf
        return found if math.isfinite(found) else None

    return Function(name, derive, printed, reference, "one product; NULL where it is not finite", spoken, (ANY,))


degrees = _scaled("degrees", 180 / math.pi, "DEGREES(x)")
radians = _scaled("radians", math.pi / 180, "RADIANS(x), PI()")


def _limits(facts: Facts) -> tuple[float, float, int]:
    low, high = literal_number(facts[1]), literal_number(facts[2])
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
    x, low, high = float(x), float(low), float(high)
    if x < low:
        return 0
    if x >= high or x != x:
        return count + 1
    return min(math.floor((x - low) * count / (high - low)), count - 1) + 1


def _bucket_facts(facts: Facts) -> ColumnFacts:
    need(NUMBERS, facts, "WIDTH_BUCKET")
    low, high, count = _limits(facts)
    first, last = 0, count + 1
    b = double_bounds(facts[0])
    if b is not None:
        ends = [_bucket(end, low, high, count) for end in (down(b.lo), up(b.hi))]
        first, last = (end for end in ends if isinstance(end, int))
    return ColumnFacts(Type.INTEGER, facts[0].nullable, Interval(Fraction(first), Fraction(last)), Fraction(1), tainted(facts))


def _bucket_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    low, high, count = _limits(facts)
    x = as_type(args, facts, Type.DOUBLE, d)[0]
    lowest, highest, width = (d.literal(n, Type.DOUBLE) for n in (low, high, high - low))
    times = f"(({x} - {lowest}) * {d.literal(float(count), Type.DOUBLE)})"  # in a CASE that lets x between the ends through
    place = d.try_cast(d.call("floor", d.operation("/", times, width, large=False, small=True)), Type.INTEGER, Type.DOUBLE)
    none, over = d.literal(0, Type.INTEGER), d.literal(count + 1, Type.INTEGER)
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
