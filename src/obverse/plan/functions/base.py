"""One SQL function is one value: its typing and bounds, its total SQL, and its meaning in Python."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval
from obverse.core.bounds import join as join_bounds
from obverse.core.errors import Refused
from obverse.core.numbers import down, up
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts, as_kind, empty_bounds, number_bounds

Facts = tuple[ColumnFacts, ...]
Printed = tuple[str, ...]
# literals that the conformance suite tries, or none where any expression does
Arguments = tuple[tuple[Value, ...], ...]
ANY: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A total scalar function.

    Claim:   for arguments within their facts, the SQL raises on no row, ends, and gives a value within `derive`'s facts
             that equals `reference`.
    Proof:   beside each function, in `proof`; held by the conformance suite on every engine.
    Assumes: arguments were built by `call`, so their own facts hold.
    """

    name: str
    derive: Callable[[Facts], ColumnFacts]
    sql: Callable[[Printed, Facts, Dialect], str]
    reference: Callable[..., Value]
    proof: str
    spoken: str = ""  # as people write it, for the table of supported SQL
    arguments: Arguments = ()  # one for each that it takes; none: `derive` alone says how many
    more: bool = False  # the last one may stand several times

    def fits(self, count: int) -> bool:
        """Whether it takes that many arguments."""
        return not self.arguments or count == len(self.arguments) or (self.more and count > len(self.arguments))


def mismatch(message: str, fix: str = "") -> Refused:
    return Refused("type_error", message, fix=fix or "Cast one side, for example CAST(x AS DOUBLE).")


def need(kinds: tuple[Type, ...], facts: Facts, what: str) -> None:
    for fact in facts:
        if fact.type not in kinds and not always_null(fact):
            wanted = " or ".join(kind.value for kind in kinds)
            raise mismatch(f"{what} takes {wanted}, not {fact.type.value}")


def always_null(fact: ColumnFacts) -> bool:
    return fact.nullable and fact.bounds == Categories(())


def literal_text(fact: ColumnFacts) -> str | None:
    """The text that the argument always is, or None."""
    match fact.bounds:
        case Categories((str() as text,)) if not fact.nullable:
            return text
        case _:
            return None


def literal_number(fact: ColumnFacts) -> Fraction | None:
    """The number that the argument always is, or None."""
    bounds = number_bounds(fact) if fact.type.numeric and not fact.nullable else None
    return bounds.lo if bounds is not None and bounds.lo == bounds.hi else None


def literal_integer(fact: ColumnFacts, low: int, high: int, what: str) -> int:
    """The integer that the argument always is; refuses any other, and what lies outside."""
    number = literal_number(fact) if fact.type is Type.INTEGER else None
    if number is None or not low <= number <= high:
        raise mismatch(f"{what} is a literal from {low} to {high}", "Write a number.")
    return int(number)


def tainted(facts: Facts) -> bool:
    return any(fact.identifies for fact in facts)


def any_null(facts: Facts) -> bool:
    return any(fact.nullable for fact in facts)


def common_type(facts: Facts, what: str) -> Type:
    """The one type that all arguments can be read as: integers widen to doubles, dates to timestamps."""
    kinds = {fact.type for fact in facts if not always_null(fact)}
    if not kinds:
        return facts[0].type
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {Type.INTEGER, Type.DOUBLE}:
        return Type.DOUBLE
    if kinds == {Type.DATE, Type.TIMESTAMP}:
        return Type.TIMESTAMP
    raise mismatch(f"{what} cannot mix {' and '.join(sorted(kind.value for kind in kinds))}")


def doubles(bounds: Interval) -> Interval:
    """The least interval with doubles as its ends that holds these bounds.

    Claim:   where the exact result of an operation lies within the bounds, the engine's double lies within the
             interval.
    Proof:   rounding to the nearest double is monotone and leaves doubles alone: lo' <= lo <= x <= hi <= hi' gives
             lo' <= fl(x) <= hi'.
    Assumes: the ends are far from overflow (arithmetic keeps them below 2**1000).
    """
    return Interval(Fraction(down(bounds.lo)), Fraction(up(bounds.hi)))


def double_bounds(fact: ColumnFacts) -> Interval | None:
    """The interval of a number once it is read as a double: large integers are rounded."""
    bounds = number_bounds(fact)
    return None if bounds is None else doubles(bounds)


def aligned(*values: Value) -> tuple[Value, ...]:
    """Values as the one type that the engine casts them to: integers beside doubles, dates beside timestamps."""
    if any(isinstance(v, float) for v in values):
        return tuple(as_kind(v, Type.DOUBLE) for v in values)
    if any(isinstance(v, dt.datetime) for v in values):
        return tuple(as_kind(v, Type.TIMESTAMP) for v in values)
    return values


def ranked(value: Value) -> tuple[bool, Value]:
    """What values of one type are compared by: as in the engines, NaN equals itself and is above every number."""
    return (True, 0.0) if isinstance(value, float) and value != value else (False, value)


def widened(fact: ColumnFacts, kind: Type) -> Bounds:
    """A fact's bounds once its values are read as the wider type."""
    if always_null(fact):
        return Categories(())
    if fact.type is Type.INTEGER and kind is Type.DOUBLE:
        match fact.bounds:
            case Interval():
                return doubles(fact.bounds)
            case Categories(values):
                return Categories(tuple(dict.fromkeys(as_kind(v, kind) for v in values)))
    if fact.type is Type.DATE and kind is Type.TIMESTAMP:
        day = 86_400_000_000
        match fact.bounds:
            case Interval(lo, hi):
                return Interval(lo * day, hi * day)
            case Categories(values):
                return Categories(tuple(as_kind(v, kind) for v in values))
            case _:
                return UNBOUNDED
    return fact.bounds


def join_all(facts: Facts, kind: Type) -> Bounds:
    """Bounds of a value that is one of these arguments."""
    joined: Bounds = Categories(())
    for fact in facts:
        bounds = widened(fact, kind)
        if bounds == Categories(()):
            continue
        joined = bounds if joined == Categories(()) else join_bounds(joined, bounds)
    return empty_bounds(kind) if joined == Categories(()) else joined
