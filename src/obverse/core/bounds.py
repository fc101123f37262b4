"""What is known of a column's values: an interval, a finite list, or nothing; a lattice with Unbounded on top."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from obverse.core.errors import invariant
from obverse.core.types import Value


@dataclass(frozen=True, slots=True)
class Interval:
    """Every non-null value x satisfies lo <= x <= hi. Dates are days, timestamps microseconds, since 1970."""

    lo: Fraction
    hi: Fraction

    def __post_init__(self) -> None:
        invariant(isinstance(self.lo, Fraction) and isinstance(self.hi, Fraction), "bounds are exact fractions")
        invariant(self.lo <= self.hi, f"empty interval [{self.lo}, {self.hi}]")

    @property
    def magnitude(self) -> Fraction:
        return max(abs(self.lo), abs(self.hi))

    @property
    def spread(self) -> Fraction:
        return self.hi - self.lo

    @property
    def middle(self) -> Fraction:
        return (self.lo + self.hi) / 2


@dataclass(frozen=True, slots=True)
class Categories:
    """Every non-null value is one of these, in this public order."""

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        invariant(len(set(self.values)) == len(self.values), "a category stands twice")
        invariant(None not in self.values, "NULL is not a category; nullability is a fact of its own")


@dataclass(frozen=True, slots=True)
class Unbounded:
    """Nothing is known. Not infinity: a rule that meets it must refuse."""


Bounds = Interval | Categories | Unbounded
UNBOUNDED = Unbounded()


def interval(lo: int | Fraction, hi: int | Fraction) -> Interval:
    return Interval(Fraction(lo), Fraction(hi))


def hull(bounds: Bounds) -> Interval | None:
    """The interval around numeric bounds, or None when there is none."""
    match bounds:
        case Interval():
            return bounds
        case Categories(values) if values and all(
            isinstance(v, (int, float)) and not isinstance(v, bool) for v in values
        ):
            numbers = [Fraction(v) for v in values if isinstance(v, (int, float))]
            return Interval(min(numbers), max(numbers))
        case _:
            return None


def join(a: Bounds, b: Bounds) -> Bounds:
    """The least bounds that we can write holding whatever a or b hold."""
    match a, b:
        case (Categories(()), other) | (other, Categories(())):
            return other
        case Categories(x), Categories(y):
            return Categories(x + tuple(v for v in y if v not in x))
        case Interval() as i, Interval() as j:
            return Interval(min(i.lo, j.lo), max(i.hi, j.hi))
        case (Interval() as i, Categories() as c) | (Categories() as c, Interval() as i):
            around = hull(c)
            return UNBOUNDED if around is None else Interval(min(i.lo, around.lo), max(i.hi, around.hi))
        case _:
            return UNBOUNDED


def contains(bounds: Bounds, value: Value) -> bool:
    """Whether a non-null value lies within the bounds (dates and timestamps as their integers)."""
    match bounds:
        case Unbounded():
            return True
        case Categories(values):
            return value in values
        case Interval(lo, hi):
            return isinstance(value, (int, float)) and lo <= Fraction(value) <= hi
