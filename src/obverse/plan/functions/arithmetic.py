"""Numbers: + - * / // % and the functions that keep or tighten bounds.

Claim:   each is total and its value lies in the interval derived for it.
Proof:   interval arithmetic in exact fractions, over doubles rounded outward before and after (`doubles`). An integer
         operation is printed over 64-bit integers only when the exact interval of its result fits 64 bits, so it cannot
         overflow; otherwise over doubles, which never raise. Every divisor is guarded by a CASE, so division by zero is
         NULL, and so is the one quotient that 64 bits cannot hold.
Assumes: columns were clamped to their declared bounds by the scan.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from obverse.core.bounds import UNBOUNDED, Bounds, Interval
from obverse.core.types import INT64_MAX, INT64_MIN, Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts, number_bounds
from obverse.plan.functions.base import (
    Facts,
    Function,
    Printed,
    always_null,
    any_null,
    double_bounds,
    doubles,
    mismatch,
    need,
    tainted,
)

NUMBERS = (Type.INTEGER, Type.DOUBLE)
DOUBLE_MAX = Fraction(2) ** 1000  # beyond this an interval is no use and a double may overflow


def _whole(bounds: Bounds) -> bool:
    return isinstance(bounds, Interval) and bounds.lo >= INT64_MIN and bounds.hi <= INT64_MAX


def _sane(lo: Fraction, hi: Fraction) -> Bounds:
    return Interval(lo, hi) if max(abs(lo), abs(hi)) <= DOUBLE_MAX else UNBOUNDED


def _corners(f: Callable[[Fraction, Fraction], Fraction], a: Interval, b: Interval) -> Bounds:
    values = [f(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return _sane(min(values), max(values))


def _binary_bounds(facts: Facts, f: Callable[[Fraction, Fraction], Fraction]) -> Bounds:
    a = number_bounds(facts[0])
    b = number_bounds(facts[1])
    if a is None or b is None:
        return UNBOUNDED
    exact = _corners(f, a, b)
    whole = all(fact.type is Type.INTEGER for fact in facts) and _whole(exact)
    return exact if whole else _corners(f, doubles(a), doubles(b))


def _result(facts: Facts, bounds: Bounds, step: Fraction | None, *, null: bool = False) -> ColumnFacts:
    whole = all(f.type is Type.INTEGER for f in facts) and _whole(bounds)
    kind = Type.INTEGER if whole else Type.DOUBLE
    if not whole and isinstance(bounds, Interval):
        bounds = doubles(bounds)
    return ColumnFacts(kind, null or any_null(facts), bounds, Fraction(1) if whole else step, tainted(facts))


def as_type(args: Printed, facts: Facts, kind: Type, d: Dialect) -> Printed:
    """Arguments printed as one type: a cast where the type differs, and a NULL of that type for what is always NULL."""

    def one(arg: str, fact: ColumnFacts) -> str:
        if fact.type is kind:
            return arg
        return d.literal(None, kind) if always_null(fact) else d.cast(arg, kind)

    return tuple(map(one, args, facts))


def _at_least_one(fact: ColumnFacts) -> bool:
    """Whether the number is 0 or of magnitude 1 at least, so that no product with it is smaller than the other
    factor.
    """
    bounds = number_bounds(fact)
    return fact.type is Type.INTEGER or (bounds is not None and (bounds.lo >= 1 or bounds.hi <= -1))


def _reference(f: Callable[..., Any]) -> Callable[..., Value]:
    def meaning(*values: Value) -> Value:
        if any(v is None for v in values):
            return None
        try:
            value: Value = f(*values)
            return value
        except OverflowError:
            return math.inf

    return meaning


def _simple(name: str, sign: str, f: Callable[..., Any], step: Callable[[Facts], Fraction | None]) -> Function:
    def derive(facts: Facts) -> ColumnFacts:
        need(NUMBERS, facts, sign)
        return _result(facts, _binary_bounds(facts, f), step(facts))

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        made = derive(facts)
        left, right = as_type(args, facts, made.type, d)
        if made.type is Type.INTEGER:
            return f"({left} {sign} {right})"
        small = sign == "*" and not any(map(_at_least_one, facts))
        return d.operation(sign, left, right, large=made.bounds == UNBOUNDED, small=small)

    proof = "interval arithmetic; see the family's proof"
    return Function(name, derive, printed, _reference(f), proof, f"a {sign} b")


def _same_step(facts: Facts) -> Fraction | None:
    a = facts[0].step
    b = facts[1].step
    if a is None or b is None:
        return None
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def _product_step(facts: Facts) -> Fraction | None:
    a = facts[0].step
    b = facts[1].step
    if a is None or b is None or Fraction(1) not in (a, b):
        return None
    return a * b


add = _simple("add", "+", lambda a, b: a + b, _same_step)
subtract = _simple("subtract", "-", lambda a, b: a - b, _same_step)
multiply = _simple("multiply", "*", lambda a, b: a * b, _product_step)


def _divide_facts(facts: Facts) -> ColumnFacts:
    need(NUMBERS, facts, "/")
    a = double_bounds(facts[0])
    b = double_bounds(facts[1])
    bounds: Bounds = UNBOUNDED
    if a is not None and b is not None and (b.lo > 0 or b.hi < 0):
        bounds = _corners(lambda x, y: x / y, a, b)
    if isinstance(bounds, Interval):
        bounds = doubles(bounds)
    may_be_null = any_null(facts) or not isinstance(b, Interval) or b.lo <= 0 <= b.hi
    return ColumnFacts(Type.DOUBLE, may_be_null, bounds, None, tainted(facts))


def _divide_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    top, bottom = as_type(args, facts, Type.DOUBLE, d)
    a = double_bounds(facts[0])
    b = double_bounds(facts[1])
    large = _divide_facts(facts).bounds == UNBOUNDED and (a is None or facts[1].type is not Type.INTEGER)
    small = facts[0].type is not Type.INTEGER or b is None
    return f"(CASE WHEN {args[1]} <> 0 THEN {d.operation('/', top, bottom, large=large, small=small)} END)"


divide = Function(
    "divide",
    _divide_facts,
    _divide_sql,
    _reference(lambda a, b: None if b == 0 else float(a) / float(b)),
    "the CASE lets no zero divisor through; the quotient of intervals without zero is at their corners",
    "a / b (always a double, NULL where b is 0)",
)


def _whole_division_facts(name: str) -> Callable[[Facts], ColumnFacts]:
    def derive(facts: Facts) -> ColumnFacts:
        if any(f.type is not Type.INTEGER for f in facts):
            raise mismatch(f"{name} takes integers", "Use / for doubles, or CAST(x AS INTEGER).")
        a = number_bounds(facts[0])
        b = number_bounds(facts[1])
        null = any_null(facts) or b is None or b.lo <= 0 <= b.hi or _may_overflow(facts)
        bounds: Bounds = UNBOUNDED
        if a is not None and b is not None and name == "//":
            smallest = max(Fraction(1), Fraction(0) if b.lo <= 0 <= b.hi else min(abs(b.lo), abs(b.hi)))
            largest = Fraction(math.floor(a.magnitude / smallest))
            upwards = a.lo >= 0 and b.lo > 0
            lowest = Fraction(math.floor(a.lo / b.hi)) if upwards else -largest
            bounds = Interval(max(lowest, Fraction(INT64_MIN)), min(largest, Fraction(INT64_MAX)))
        if b is not None and name == "%":
            a = a or Interval(Fraction(INT64_MIN), Fraction(INT64_MAX))
            largest = min(max(b.magnitude - 1, Fraction(0)), a.magnitude)
            bounds = Interval(Fraction(0) if a.lo >= 0 else -largest, Fraction(0) if a.hi <= 0 else largest)
        return ColumnFacts(Type.INTEGER, null, bounds, Fraction(1), tainted(facts))

    return derive


def _may_overflow(facts: Facts) -> bool:
    """Whether the lowest integer may meet -1: the one pair whose quotient does not fit 64 bits."""
    a = number_bounds(facts[0])
    b = number_bounds(facts[1])
    return (a is None or a.lo <= INT64_MIN) and (b is None or b.lo <= -1 <= b.hi)


def _whole_division_sql(sign: str) -> Callable[[Printed, Facts, Dialect], str]:
    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        lowest = f"{args[1]} = -1 AND {args[0]} = {d.literal(INT64_MIN, Type.INTEGER)}"
        guard = f"{args[1]} <> 0 AND NOT ({lowest})" if _may_overflow(facts) else f"{args[1]} <> 0"
        found = d.whole_quotient(args[0], args[1]) if sign == "//" else f"{args[0]} {sign} {args[1]}"
        return f"(CASE WHEN {guard} THEN {found} END)"

    return printed


def _quotient(a: int, b: int) -> int | None:
    if b == 0 or (a == INT64_MIN and b == -1):
        return None
    return abs(a) // abs(b) * (1 if (a >= 0) == (b >= 0) else -1)


def _rest(a: int, b: int) -> int | None:
    quotient = _quotient(a, b)
    return None if quotient is None else a - b * quotient


integer_divide = Function(
    "integer_divide",
    _whole_division_facts("//"),
    _whole_division_sql("//"),
    _reference(_quotient),
    "truncation towards zero shrinks magnitudes; zero divisors and the one overflowing pair are NULL",
    "a // b (integers, NULL where b is 0)",
)
modulo = Function(
    "modulo",
    _whole_division_facts("%"),
    _whole_division_sql("%"),
    _reference(_rest),
    "the rest has the sign of a and is smaller than b",
    "a % b, MOD(a, b) (integers, NULL where b is 0)",
)


def _negate_facts(facts: Facts) -> ColumnFacts:
    need(NUMBERS, facts, "-")
    b = number_bounds(facts[0])
    return _result(facts, UNBOUNDED if b is None else Interval(-b.hi, -b.lo), facts[0].step)


negate = Function(
    "negate",
    _negate_facts,
    lambda args, facts, d: f"(-{as_type(args, facts, _negate_facts(facts).type, d)[0]})",
    _reference(lambda a: -a),
    "negation swaps the ends; integers without bounds become doubles, so the lowest integer cannot overflow",
    "-a",
)


def _abs_facts(facts: Facts) -> ColumnFacts:
    need(NUMBERS, facts, "ABS")
    b = number_bounds(facts[0])
    bounds: Bounds = UNBOUNDED
    if b is not None:
        low = Fraction(0) if b.lo <= 0 <= b.hi else min(abs(b.lo), abs(b.hi))
        bounds = Interval(low, b.magnitude)
    return _result(facts, bounds, facts[0].step)


absolute = Function(
    "abs",
    _abs_facts,
    lambda args, facts, d: f"abs({as_type(args, facts, _abs_facts(facts).type, d)[0]})",
    _reference(abs),
    "the magnitude lies between 0 and the larger end",
    "ABS(x)",
)

ARITHMETIC = (add, subtract, multiply, divide, integer_divide, modulo, negate, absolute)
