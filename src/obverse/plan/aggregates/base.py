"""One SQL aggregate is one value: the measures it needs, and how their noisy values become an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from obverse.core.numbers import log2_ceil
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.mechanisms.base import Additive
from obverse.plan.expressions import Expr
from obverse.plan.intervals import Noise
from obverse.plan.measure import SPARE_BITS, Measure, Term
from obverse.plan.nodes import Shape

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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

    @property
    def fixed_size(self) -> int | None:
        """The public divisor of an average: only for the whole table, one sure row per unit, and no groups."""
        whole = self.always_present and self.cells == 1 and self.shape in (Shape.ROW, Shape.ONE)
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


class Aggregate(Protocol):
    """A SQL aggregate: Claim, Proof and Assumes stand with each."""

    @property
    def name(self) -> str: ...

    @property
    def spoken(self) -> str: ...

    def type(self, argument: Expr | None) -> Type: ...

    def measures(self, argument: Expr | None, setting: Setting) -> tuple[Measure, ...]: ...

    def finish(self, noisy: tuple[Noisy, ...], argument: Expr | None, setting: Setting, level: float) -> Estimate: ...


def capped(name: str, term: Term, setting: Setting, *, paired: bool = False, most: Fraction | None = None) -> Measure:
    """A measure of the term, capped as the shape of the relation demands.

    A unit's whole contribution is at most rows * magnitude, or the declared cap on its sum where that is lower. Where
    weights or per-unit divisions round, up to 20 fractional bits keep the rounding small against the noise.
    """
    cap = setting.rows * term.magnitude
    if most is not None:
        cap = max(1, min(cap, int(most / term.unit)))
    rounds = setting.shape is Shape.WEIGHTED or (setting.shape is Shape.TOTAL and paired)
    bits = min(20, SPARE_BITS - log2_ceil(cap)) if rounds else 0
    return Measure(name, term, cap, bits, paired)
