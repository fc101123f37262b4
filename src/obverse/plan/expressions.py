"""Typed scalar expressions. Each carries its own facts, derived when it is built and checked again by verify."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval, Unbounded
from obverse.core.types import Type, Value, date_of, days, micros, moment_of

DOMAIN_MAX = 1 << 20  # values that one key may have


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What is proved of every row's value: its type, whether it may be NULL, its bounds, the grid it lies on."""

    type: Type
    nullable: bool = True
    bounds: Bounds = UNBOUNDED
    step: Fraction | None = None  # declared resolution: values are meant as multiples of it
    identifies: bool = False  # derived from the unit's key
    names: str = ""  # the key "table.column" that every value is a value of; only of columns read as they lie
    copies: int | None = None  # in a public relation: rows that share one value, at most
    sum_cap: Fraction | None = None  # declared cap on one unit's sum of the column


@dataclass(frozen=True, slots=True)
class Ref:
    """A column of the relation below, by its name there."""

    name: str
    facts: ColumnFacts

    @property
    def slot(self) -> Slot:
        return self.name


@dataclass(frozen=True, slots=True)
class KeyRef:
    """The value of a query's grouping key, in post-processing."""

    index: int
    facts: ColumnFacts

    @property
    def slot(self) -> tuple[str, int]:
        return ("key", self.index)


@dataclass(frozen=True, slots=True)
class AggregateRef:
    """The released value of a query's aggregate, in post-processing."""

    index: int
    facts: ColumnFacts

    @property
    def slot(self) -> tuple[str, int]:
        return ("agg", self.index)


@dataclass(frozen=True, slots=True)
class GroupingRef:
    """Whether a row is a subtotal over a query's grouping key: 1 or 0, as GROUPING says it."""

    index: int
    facts: ColumnFacts

    @property
    def slot(self) -> tuple[str, int]:
        return ("left_out", self.index)


ReleasedRef = KeyRef | AggregateRef | GroupingRef
Slot = str | tuple[str, int]  # of a column's values: by its name, or by what of the query it is


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of the question."""

    value: Value
    facts: ColumnFacts


@dataclass(frozen=True, slots=True)
class Call:
    """A function of FUNCTIONS over expressions."""

    function: str
    args: tuple[Expr, ...]
    facts: ColumnFacts


Expr = Ref | ReleasedRef | Literal | Call


def literal(value: Value) -> Literal:
    """A constant with the tightest facts there are."""
    if value is None:
        return Literal(None, ColumnFacts(Type.TEXT, nullable=True, bounds=Categories(())))
    kind = type_of(value)
    return Literal(value, ColumnFacts(kind, False, point(value), step_of(value)))


def null_of(kind: Type) -> Literal:
    return Literal(None, ColumnFacts(kind, nullable=True, bounds=Categories(())))


def empty_bounds(kind: Type) -> Bounds:
    """Bounds of a column that is always NULL: any bounds hold; zero keeps joins tight."""
    return Interval(Fraction(0), Fraction(0)) if kind.numeric else Categories(())


def type_of(value: Value) -> Type:
    match value:
        case bool():
            return Type.BOOLEAN
        case int():
            return Type.INTEGER
        case float():
            return Type.DOUBLE
        case str():
            return Type.TEXT
        case dt.datetime():
            return Type.TIMESTAMP
        case dt.date():
            return Type.DATE
        case _:
            raise TypeError("NULL has no type of its own")


def as_number(value: Value) -> Fraction | None:
    """Numbers, dates (days) and timestamps (microseconds) on one exact line."""
    match value:
        case bool() | None | str():
            return None
        case int() | float():
            return Fraction(value)
        case dt.datetime():
            return Fraction(micros(value))
        case dt.date():
            return Fraction(days(value))


def from_number(number: Fraction, kind: Type) -> Value:
    match kind:
        case Type.DATE:
            return date_of(int(number))
        case Type.TIMESTAMP:
            return moment_of(int(number))
        case Type.INTEGER:
            return int(number)
        case _:
            return float(number)


def as_kind(value: Value, kind: Type) -> Value:
    """A value read as a wider type: an integer as a double, a date as its midnight; any other as it is."""
    if kind is Type.DOUBLE and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is Type.TIMESTAMP and isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    return value


def point(value: Value) -> Bounds:
    number = as_number(value)
    return Categories((value,)) if number is None else Interval(number, number)


def step_of(value: Value) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int):
        return Fraction(1)
    decimal = Fraction(repr(value))
    return Fraction(1, decimal.denominator) if decimal.denominator <= 10**6 else None


def number_bounds(facts: ColumnFacts) -> Interval | None:
    """The interval of a number, date or timestamp; None when nothing is known."""
    match facts.bounds:
        case Interval():
            return facts.bounds
        case Categories(values) if values:
            numbers = [as_number(v) for v in values]
            known = [n for n in numbers if n is not None]
            return Interval(min(known), max(known)) if len(known) == len(numbers) else None
        case Categories() if facts.type.numeric:
            return Interval(Fraction(0), Fraction(0))  # no value at all: any bounds hold
        case _:
            return None


def domain(facts: ColumnFacts, most: int = DOMAIN_MAX) -> tuple[Value, ...] | None:
    """Every value that the column may have, in public order (NULL not counted); None when not finite or too many."""
    match facts.bounds:
        case Categories(values):
            return values if len(values) <= most else None
        case Interval(lo, hi) if facts.type in (Type.INTEGER, Type.DATE):
            first = -((-lo.numerator) // lo.denominator)
            last = hi.numerator // hi.denominator
            if last - first + 1 > most:
                return None
            return tuple(from_number(Fraction(n), facts.type) for n in range(first, last + 1))
        case Interval() | Unbounded():
            pass
    return (False, True) if facts.type is Type.BOOLEAN else None


def refs(expr: Expr) -> Iterator[Ref]:
    """The columns that the expression reads."""
    match expr:
        case Ref():
            yield expr
        case Call(_, args):
            for arg in args:
                yield from refs(arg)


def aggregates_in(expr: Expr) -> set[int]:
    """The aggregates that the expression reads, in post-processing."""
    match expr:
        case AggregateRef(index):
            return {index}
        case Call(_, args):
            return set().union(*map(aggregates_in, args))
        case _:
            return set()


def key_named(expr: Expr) -> str:
    """The key that the expression's values are values of: a bare column's, or what a COALESCE of such columns agrees
    on.
    """
    match expr:
        case Ref(_, facts):
            return facts.names
        case Call("coalesce", args):
            found = {key_named(arg) for arg in args}
            return found.pop() if len(found) == 1 else ""
        case _:
            return ""


def size(expr: Expr) -> int:
    """How many parts the expression has."""
    return 1 + sum(size(arg) for arg in expr.args) if isinstance(expr, Call) else 1


def substitute(expr: Expr, facts: Mapping[str, ColumnFacts]) -> Expr:
    """The same expression over columns of which more is known; facts are derived anew."""
    from obverse.plan.functions import call

    match expr:
        case Ref(name):
            return Ref(name, facts[name]) if name in facts else expr
        case Literal() | KeyRef() | AggregateRef() | GroupingRef():
            return expr
        case Call(function, args):
            return call(function, *(substitute(arg, facts) for arg in args))


def canonical(expr: Expr) -> str:
    """One text for one meaning of the expression, whatever it was written like."""
    match expr:
        case Ref(name):
            return '"' + name.replace('"', '""') + '"'
        case KeyRef() | AggregateRef() | GroupingRef():
            kind, index = expr.slot
            return f'"{kind}{index}"'
        case Literal(value, facts):
            return f"{facts.type.value}:{value!r}"
        case Call(function, args):
            return f"{function}({', '.join(canonical(arg) for arg in args)})"
