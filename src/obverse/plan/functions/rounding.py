"""Rounding and limiting numbers: ROUND, FLOOR, CEIL, TRUNC, LEAST, GREATEST, CLAMP.

Claim:   each is total and its value lies in the interval derived for it.
Proof:   rounding is monotone, so the ends map to the ends (widened to the grid, then to doubles); LEAST and GREATEST
         pick an argument; CLAMP lies within its literal limits.
Assumes: arguments lie within their facts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from obverse.core.bounds import UNBOUNDED, Bounds, Interval
from obverse.core.errors import Refused
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts, number_bounds
from obverse.plan.functions.arithmetic import DOUBLE_MAX, NUMBERS, as_type
from obverse.plan.functions.base import (
    Facts,
    Function,
    Printed,
    aligned,
    always_null,
    any_null,
    common_type,
    double_bounds,
    doubles,
    join_all,
    mismatch,
    need,
    ranked,
    tainted,
)

DIGITS_MAX = 12


def _digits(facts: Facts) -> int:
    if len(facts) == 1:
        return 0
    bounds = number_bounds(facts[1])
    constant = bounds is not None and bounds.lo == bounds.hi and not facts[1].nullable
    if facts[1].type is not Type.INTEGER or not constant or bounds is None or abs(bounds.lo) > DIGITS_MAX:
        raise mismatch(f"ROUND takes a literal from -{DIGITS_MAX} to {DIGITS_MAX} as digits", "Write ROUND(x, 2).")
    return int(bounds.lo)


def _round_facts(facts: Facts) -> ColumnFacts:
    need(NUMBERS, facts[:1], "ROUND")
    unit = Fraction(10) ** -_digits(facts)
    b = number_bounds(facts[0])
    if facts[0].type is Type.INTEGER and unit <= 1:
        return facts[0]
    bounds: Bounds = UNBOUNDED
    if b is not None and doubles(b).magnitude <= DOUBLE_MAX * min(unit, Fraction(1)):
        b = doubles(b)
        scaled = doubles(Interval(b.lo / unit, b.hi / unit))
        bounds = doubles(Interval(math.floor(scaled.lo) * unit, math.ceil(scaled.hi) * unit))
    return ColumnFacts(Type.DOUBLE, facts[0].nullable, bounds, unit, tainted(facts))


def _round_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    if facts[0].type is Type.INTEGER and _digits(facts) >= 0:
        return args[0]
    number = as_type(args[:1], facts[:1], Type.DOUBLE, d)[0]
    return d.rounded(number, _digits(facts))


def half_away(x: float | int, digits: int = 0) -> float | int:
    """Rounding as the engines do it: halves go away from zero."""
    if isinstance(x, int) and digits >= 0:
        return x
    scaled = abs(float(x)) * 10.0**digits if digits >= 0 else abs(float(x)) / 10.0**-digits
    if not math.isfinite(scaled):
        return float(x)
    whole = math.floor(scaled)
    whole += scaled - whole >= 0.5
    return math.copysign(whole / 10.0**digits if digits >= 0 else whole * 10.0**-digits, x)


rounded = Function(
    "round",
    _round_facts,
    _round_sql,
    lambda x, digits=0: None if x is None else half_away(x, digits),
    "monotone; the ends are widened to the grid of the digits",
    "ROUND(x), ROUND(x, digits)",
)


def _snap(name: str, outward: Callable[[Fraction], int], meaning: Callable[[float], int]) -> Function:
    def derive(facts: Facts) -> ColumnFacts:
        need(NUMBERS, facts, name.upper())
        b = number_bounds(facts[0])
        if facts[0].type is Type.INTEGER:
            return facts[0]
        bounds: Bounds = UNBOUNDED if b is None else Interval(Fraction(outward(b.lo)), Fraction(outward(b.hi)))
        return ColumnFacts(Type.DOUBLE, facts[0].nullable, bounds, Fraction(1), tainted(facts))

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        return args[0] if facts[0].type is Type.INTEGER else d.call(name, args[0])

    def reference(x: Value) -> Value:
        if x is None or isinstance(x, int) or not isinstance(x, float):
            return x
        return float(meaning(x)) if math.isfinite(x) else x

    return Function(name, derive, printed, reference, "monotone, so the ends map to the ends", f"{name.upper()}(x)")


floor = _snap("floor", math.floor, math.floor)
ceil = _snap("ceil", math.ceil, math.ceil)
trunc = _snap("trunc", math.trunc, math.trunc)


def _pick(name: str, side: Callable[..., Fraction], meaning: Callable[..., Value]) -> Function:
    def derive(facts: Facts) -> ColumnFacts:
        kind = common_type(facts, name.upper())
        if kind in (Type.BOOLEAN, Type.TEXT):
            raise mismatch(f"{name.upper()} takes numbers, dates or timestamps, not {kind.value}")
        known = [number_bounds(f) for f in facts if not always_null(f) and f.type is kind]
        bounds = join_all(facts, kind)
        if isinstance(bounds, Interval) and len(known) == len(facts) and not any_null(facts):
            intervals = [b for b in known if b is not None]
            bounds = Interval(side(b.lo for b in intervals), side(b.hi for b in intervals))
        step = Fraction(1) if kind is Type.INTEGER else None
        return ColumnFacts(kind, all(f.nullable for f in facts), bounds, step, tainted(facts))

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        return d.call(name, *as_type(args, facts, common_type(facts, name), d))

    def reference(*values: Value) -> Value:
        known = [v for v in aligned(*values) if v is not None]
        return meaning(known, key=ranked) if known else None

    proof = "one of the arguments; NULLs are passed over, as both PostgreSQL and DuckDB do"
    return Function(name, derive, printed, reference, proof, f"{name.upper()}(a, b, ...)")


least = _pick("least", min, min)
greatest = _pick("greatest", max, max)


def _clamp_facts(facts: Facts) -> ColumnFacts:
    need(NUMBERS, facts, "CLAMP")
    lo = number_bounds(facts[1])
    hi = number_bounds(facts[2])
    if lo is None or hi is None or lo.lo != lo.hi or hi.lo != hi.hi or facts[1].nullable or facts[2].nullable:
        raise mismatch("CLAMP takes literal limits", "Write CLAMP(x, 0, 100).")
    if lo.lo > hi.hi:
        raise Refused(
            "bad_parameter", "CLAMP's limits are the wrong way round", fix="Write CLAMP(x, lo, hi), lo <= hi."
        )
    kind = common_type(facts, "CLAMP")
    inside = number_bounds(facts[0])
    if kind is Type.DOUBLE:
        lo = doubles(lo)
        hi = doubles(hi)
        inside = double_bounds(facts[0])
    low = lo.lo
    high = hi.hi
    if inside is not None:
        low, high = max(low, min(inside.lo, high)), min(high, max(inside.hi, low))
    step = facts[0].step
    # limits that are reached
    values = [end for end in (low, high) if inside is None or end not in (inside.lo, inside.hi)]
    if step is not None and not all(on_grid(end, step) for end in values):
        step = None
    return ColumnFacts(kind, facts[0].nullable, Interval(low, high), step, tainted(facts))


def on_grid(number: Fraction, step: Fraction) -> bool:
    """Whether a limit, as it is written in decimals, is a multiple of the step."""
    written = number if number.denominator == 1 else Fraction(repr(float(number)))
    return step > 0 and (written / step).denominator == 1


def _clamp_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    x, lo, hi = as_type(args, facts, common_type(facts, "CLAMP"), d)
    return f"(CASE WHEN {x} < {lo} THEN {lo} WHEN {x} > {hi} THEN {hi} ELSE {x} END)"


def _clamp_meaning(*values: Value) -> Value:
    x, lo, hi = aligned(*values)
    return None if x is None else min(max(x, lo, key=ranked), hi, key=ranked)


clamp = Function(
    "clamp",
    _clamp_facts,
    _clamp_sql,
    _clamp_meaning,
    "the CASE gives lo, hi or a value that is neither below lo nor above hi; NaN is above every number and gives hi",
    "CLAMP(x, lo, hi)",
)

ROUNDING = (rounded, floor, ceil, trunc, least, greatest, clamp)
