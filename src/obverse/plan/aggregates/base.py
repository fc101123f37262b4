"""One SQL aggregate is one value: the measures it needs, and how their noisy values become an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from obverse.core.errors import invariant
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.mechanisms.base import Additive
from obverse.plan.intervals import Noise
from obverse.plan.measures import Measure, Term, bits_under
from obverse.plan.query import AggregateCall
from obverse.plan.relation import Shape

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Setting:
    """What an aggregate may know of the relation below it."""

    shape: Shape
    rows: int  # the cap C
    cells: int
    neighbours: Neighbours
    always_present: bool
    size: int | None  # declared public number of units, under replace
    groups: int = 1  # the cap G on keys, or different values, of one unit
    sets: int = 1  # grouping sets, in each of which a unit counts
    discovered: bool = False  # some keys are not public
    apart: bool = False  # no two rows of a unit are in one cell
    alone: bool = True  # where rows are counted in full, each is of another unit; not so in the test harness

    @property
    def fixed_size(self) -> int | None:
        """The public divisor of an average: only for the whole table, one sure row per unit, and no groups."""
        whole = self.always_present and self.cells == 1 and not self.discovered and self.shape in (Shape.ROW, Shape.ONE)
        return self.size if whole and self.neighbours is Neighbours.REPLACE else None


@dataclass(frozen=True, slots=True)
class Noisy:
    """One measure's released integers as real values (worth `unit` each), and the mechanism whose noise they carry."""

    values: Floats
    unit: float
    mechanism: Additive
    noise: Noise
    gaussian: bool

    def half_width(self, level: float) -> float:
        return float(self.mechanism.interval(level)) * self.unit


@dataclass(frozen=True, slots=True)
class Estimate:
    """Values with their noise interval, one entry per cell."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Places:
    """Released leaf numbers of one tree or choice, per aggregate that it serves: the estimate and its interval."""

    value: Floats
    low: Floats
    high: Floats


Served = Noisy | Places


class Aggregate(Protocol):
    """A SQL aggregate: Claim, Proof and Assumes stand with each."""

    @property
    def name(self) -> str: ...

    @property
    def spoken(self) -> str: ...

    def type(self, call: AggregateCall) -> Type: ...

    def measures(self, call: AggregateCall, setting: Setting) -> tuple[Measure, ...]: ...

    def finish(self, served: tuple[Served, ...], call: AggregateCall, setting: Setting, level: float) -> Estimate: ...


def sums(served: tuple[Served, ...]) -> tuple[Noisy, ...]:
    """What serves an aggregate of sums."""
    found = tuple(one for one in served if isinstance(one, Noisy))
    invariant(len(found) == len(served), "an aggregate of sums is served by sums")
    return found


def counted(served: tuple[Served, ...], level: float) -> Estimate:
    """A noisy count as a whole number, its interval widened to whole numbers."""
    (count,) = sums(served)
    half = count.half_width(level)
    return Estimate(np.rint(count.values), np.floor(count.values - half), np.ceil(count.values + half))


def capped(name: str, term: Term, setting: Setting, *, paired: bool = False, most: Fraction | None = None) -> Measure:
    """A measure of the term, capped as the shape of the relation demands.

    A unit's whole contribution is at most rows * magnitude, or the declared cap on its sum where that is lower. Where
    weights or per-unit divisions round, up to 20 fractional bits keep the rounding small against the noise.
    """
    cap = setting.rows * term.magnitude
    if most is not None:
        cap = max(1, min(cap, int(most / term.unit)))
    counted = term.kind in ("tree", "choice")
    rounds = setting.shape is Shape.WEIGHTED or (setting.shape is Shape.TOTAL and (paired or counted))
    bits = bits_under(cap) if rounds else 0
    return Measure(name, term, cap, bits, paired)
