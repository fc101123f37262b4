"""Casts between the six types; what cannot be read becomes NULL, never an error.

Claim:   each is total; a number's cast keeps its bounds, widened to whole numbers for integers.
Proof:   TRY_CAST gives NULL where the engine would raise; rounding to integers is monotone.
Assumes: nothing beyond the arguments' facts.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval
from obverse.core.types import INT64_MAX, INT64_MIN, Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts, number_bounds
from obverse.plan.functions.base import Facts, Function, Printed, always_null, mismatch, widened
from obverse.plan.functions.categorical import over_lists

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII)
FROM: dict[Type, tuple[Type, ...]] = {
    Type.INTEGER: (Type.INTEGER, Type.DOUBLE, Type.BOOLEAN, Type.TEXT),
    Type.DOUBLE: (Type.DOUBLE, Type.INTEGER, Type.TEXT),
    Type.BOOLEAN: (Type.BOOLEAN, Type.INTEGER, Type.TEXT),
    Type.TEXT: (Type.TEXT, Type.INTEGER, Type.BOOLEAN, Type.DATE),
    Type.DATE: (Type.DATE, Type.TIMESTAMP, Type.TEXT),
    Type.TIMESTAMP: (Type.TIMESTAMP, Type.DATE, Type.TEXT),
}


def _bounds(fact: ColumnFacts, kind: Type) -> Bounds:
    b = number_bounds(fact)
    match fact.type, kind:
        case (Type.DOUBLE, Type.INTEGER) if b is not None:
            low = max(math.floor(b.lo), INT64_MIN)
            high = min(math.ceil(b.hi), INT64_MAX)
            return Interval(Fraction(min(low, high)), Fraction(max(low, high)))
        case Type.BOOLEAN, Type.INTEGER:
            return Interval(Fraction(0), Fraction(1))
        case (Type.BOOLEAN, Type.TEXT):
            return Categories(("false", "true"))
        case (Type.INTEGER, Type.DOUBLE) | (Type.DATE, Type.TIMESTAMP):
            return widened(fact, kind)
        case (Type.INTEGER | Type.DATE, Type.TEXT):
            return over_lists((fact,), kind, _text).bounds
        case (Type.TIMESTAMP, Type.DATE) if isinstance(fact.bounds, Categories):
            return over_lists((fact,), kind, _date).bounds
        case (Type.TIMESTAMP, Type.DATE) if b is not None:
            day = 86_400_000_000
            return Interval(Fraction(b.lo // day), Fraction(b.hi // day))
        case _:
            return fact.bounds if fact.type is kind else UNBOUNDED


def _whole_cast_fits(fact: ColumnFacts) -> bool:
    b = number_bounds(fact)
    return b is not None and b.lo >= INT64_MIN and b.hi <= INT64_MAX


def _may_fail(fact: ColumnFacts, kind: Type) -> bool:
    if fact.type is Type.TEXT and kind is not Type.TEXT:
        return True
    return fact.type is Type.DOUBLE and kind is Type.INTEGER and not _whole_cast_fits(fact)


def _cast(kind: Type, meaning: Callable[[Value], Value]) -> Function:
    def derive(facts: Facts) -> ColumnFacts:
        fact = facts[0]
        if always_null(fact):
            return ColumnFacts(kind, True, Categories(()))
        if fact.type not in FROM[kind]:
            raise mismatch(f"{fact.type.value} cannot be cast to {kind.value}", "Compare or cast through another type.")
        step = Fraction(1) if kind is Type.INTEGER else fact.step if kind is Type.DOUBLE else None
        return ColumnFacts(kind, fact.nullable or _may_fail(fact, kind), _bounds(fact, kind), step, fact.identifies)

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        return args[0] if facts[0].type is kind else d.try_cast(args[0], kind, facts[0].type)

    def reference(value: Value) -> Value:
        if value is None:
            return None
        try:
            return meaning(value)
        except (ValueError, ArithmeticError, TypeError):
            return None

    spoken = f"CAST(x AS {kind.value.upper()}), x::{kind.value.upper()}"
    return Function(f"to_{kind.value}", derive, printed, reference, "TRY_CAST raises on no value", spoken)


def _integer(value: Value) -> Value:
    if isinstance(value, str):
        whole = int(Decimal(value.strip()).to_integral_value(ROUND_HALF_UP))  # of texts halves go away from zero ...
    else:
        whole = round(value) if isinstance(value, float) else int(value)  # type: ignore[arg-type]  # ... of doubles to even
    return whole if INT64_MIN <= whole <= INT64_MAX else None


def _double(value: Value) -> Value:
    return float(value)  # type: ignore[arg-type]


def _boolean(value: Value) -> Value:
    if isinstance(value, str):
        word = value.lower()
        if word in ("true", "t", "1", "yes", "y"):
            return True
        return False if word in ("false", "f", "0", "no", "n") else None
    return bool(value)


def _text(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def _date(value: Value) -> Value:
    if isinstance(value, dt.datetime):
        return value.date()
    return value if isinstance(value, dt.date) else _read_moment(str(value)).date()


def _moment(value: Value) -> Value:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)
    return _read_moment(str(value))


def _read_moment(text: str) -> dt.datetime:
    if not _MOMENT.fullmatch(text.strip()):
        raise ValueError("not a date, with or without a time of day")
    return dt.datetime.fromisoformat(text.strip())


CASTS = (
    _cast(Type.INTEGER, _integer),
    _cast(Type.DOUBLE, _double),
    _cast(Type.BOOLEAN, _boolean),
    _cast(Type.TEXT, _text),
    _cast(Type.DATE, _date),
    _cast(Type.TIMESTAMP, _moment),
)
