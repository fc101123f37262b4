"""Bounds that are found privately: how many units' own values lie between powers of two, and the bounds that follow.

The counts are a question like any other, with its own noise and part of the price. What is chosen from them is
post-processing, and any choice is safe: the bounds are enforced, and noise is scaled to them.

Limits that were learned: private histograms of rows per unit and of units' sums, and the caps that follow from them.

Choosing a cap is post-processing of what was released, so it is free, and any choice is safe: the cap is enforced.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.core.bounds import Interval, interval
from obverse.core.numbers import log2_ceil, up
from obverse.core.types import Type
from obverse.plan.expressions import AggregateRef, ColumnFacts, Expr, KeyRef, literal
from obverse.plan.functions import call
from obverse.plan.query import COUNT_MAX, AggregateCall, Output, Question
from obverse.plan.relation import Key, Relation

ROW_BITS = 16  # a unit with more rows counts as having 2**16
SUM_BITS = (-8, 16)  # sums from 2**-8 to 2**16 times the column's largest magnitude
CAP_MAX = 2.0**400
DIFFERENT = 1 / 64  # of their range: how far units above a cap are taken to differ from the others in what they have
# counts below so many noise deviations are taken as nobody: a hundred empty buckets pass for one in 1 of 1,000
SURE = 8.0


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many units lie in (cap / 2, cap], for caps that double; the first holds all below.

    Noisy, with its deviation.
    """

    caps: tuple[float, ...]
    units: tuple[float, ...]
    deviation: float

    @property
    def believed(self) -> tuple[float, ...]:
        """Counts that noise alone hardly makes; a little noise in a far bucket would stand for many rows."""
        return tuple(n if n > SURE * self.deviation else 0.0 for n in self.units)

    def clipped(self, cap: float) -> float:
        """What units above the cap would lose in total."""
        middles = (0.75 * c for c in self.caps)
        return sum(n * max(0.0, middle - cap) for n, middle in zip(self.believed, middles))

    @property
    def total(self) -> float:
        return sum(n * 0.75 * c for n, c in zip(self.believed, self.caps))

    def best(self, noise_per_cap: float, counts: int = 1, ratios: int = 0) -> float:
        """The cap with the least expected error, over so many counts or sums, and so many averages or order statistics.

        A count loses what is clipped, and has noise that grows with the cap. An average has that noise too, over what
        is kept; it errs by what is clipped only as far as those units differ from the others: see DIFFERENT.
        """

        def error(cap: float) -> float:
            lost = self.clipped(cap)
            noise = noise_per_cap * cap
            kept = max(self.total - lost, 1e-9 * self.total)
            return counts * (lost + noise) / self.total + ratios * (noise / kept + DIFFERENT * lost / self.total)

        return min(self.caps, key=error if self.total else lambda cap: cap)

    def share(self, cap: float) -> float:
        """The part of all rows, or of the sum, that the cap is expected to leave out."""
        return self.clipped(cap) / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Learned:
    """What the curator once paid for, of one table."""

    table: str
    rows: Histogram
    sums: Mapping[str, Histogram]
    epsilon: str
    receipt: str

    def as_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "table": self.table,
            "epsilon": self.epsilon,
            "receipt": self.receipt,
            "rows": _as_json(self.rows),
            "sums": {name: _as_json(histogram) for name, histogram in self.sums.items()},
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Learned:
        sums = {name: _from_json(found) for name, found in fields["sums"].items()}
        return cls(fields["table"], _from_json(fields["rows"]), sums, fields["epsilon"], fields["receipt"])


def _as_json(histogram: Histogram) -> dict[str, Any]:
    return {"caps": list(histogram.caps), "units": list(histogram.units), "deviation": histogram.deviation}


def _from_json(fields: Mapping[str, Any]) -> Histogram:
    """ValueError where it is no histogram of rising caps."""
    caps = tuple(float(cap) for cap in fields["caps"])
    units = tuple(float(n) for n in fields["units"])
    deviation = float(fields["deviation"])
    rising = all(0 < low < high < CAP_MAX for low, high in itertools.pairwise(caps))
    if (
        not rising
        or not 2 <= len(caps) == len(units)
        or not all(map(math.isfinite, (*units, deviation)))
        or deviation < 0
    ):
        raise ValueError("no histogram")
    return Histogram(caps, units, deviation)


def row_caps() -> tuple[int, ...]:
    return tuple(1 << bit for bit in range(ROW_BITS + 1))


def sum_caps(magnitude: Fraction) -> tuple[float, ...]:
    return tuple(float(magnitude * Fraction(2) ** bit) for bit in range(SUM_BITS[0], SUM_BITS[1] + 1))


LEVELS = 60  # powers of two below the largest: values closer to zero are all alike
LEAST = -256  # no power of two below: measures have numbers down to 2**-300
FALSE_ALARM = 0.01  # chance that noise at some level is believed
LIKELY = 2.0  # deviations from which on a level is believed that lies beside one that is
CLIPPED_MAX = 0.25  # of the units


@dataclass(frozen=True, slots=True)
class Scale:
    """Powers of two up to the largest magnitude.

    Level n holds magnitudes in (caps[n - 1], caps[n]], level 0 all below.
    """

    caps: tuple[int | float, ...]
    signed: bool

    @property
    def levels(self) -> tuple[int, ...]:
        """The places of values, those below zero first."""
        last = len(self.caps) - 1
        return tuple(range(-last if self.signed else 0, last + 1))

    @property
    def ends(self) -> tuple[int | float, ...]:
        """What a bound can be, from the lowest to the highest."""
        below = tuple(-cap for cap in reversed(self.caps)) if self.signed else ()
        return (*below, type(self.caps[0])(0), *self.caps)

    def place(self, value: Expr) -> Expr:
        """The level of a value, below zero for values below it; NULL is level 0."""
        arms: list[Expr] = [call("is_null", value), literal(0)]
        for level, cap in reversed(list(enumerate(self.caps[:-1], 1))):
            arms += [call("gt", value, literal(cap)), literal(level)]
            if self.signed:
                arms += [call("lt", value, literal(-cap)), literal(-level)]
        return call("case", *arms, literal(0))


def scale_of(value: Expr, bounds: Interval) -> Scale:
    """The scale on which a value within the bounds is looked for."""
    whole = value.facts.type is Type.INTEGER
    top = log2_ceil(bounds.magnitude) if bounds.magnitude > 0 else 0
    least = max(top - LEVELS, LEAST)
    if value.facts.step is not None and value.facts.step > 0:
        least = max(least, log2_ceil(value.facts.step))
    exponents = range(min(max(least, 0) if whole else least, top), top + 1)
    caps: list[int | float] = [1 << n if whole else 2.0**n for n in exponents]
    if bounds.magnitude > 0:
        caps[-1] = math.ceil(bounds.magnitude) if whole else up(bounds.magnitude)
    return Scale(tuple(caps), bounds.lo < 0)


@dataclass(frozen=True, slots=True)
class Search:
    """An aggregate whose bounds are to be found, known by `name`, and the value that they will bound."""

    name: str
    spoken: str
    value: Expr
    scale: Scale
    centred: bool  # its noise grows with the distance of the bounds, not with the larger one

    def question(self, relation: Relation, groups: int | None) -> Question:
        """How many of the rows, which are units' own, have their value at each level."""
        place = self.scale.place(self.value)
        key = Key(f"level of {self.spoken}", place, self.scale.levels, False)
        units = AggregateRef(0, ColumnFacts(Type.INTEGER, nullable=False, bounds=interval(-COUNT_MAX, COUNT_MAX)))
        outputs = (Output("level", KeyRef(0, place.facts)), Output("units", units))
        return Question(relation, (key,), (AggregateCall("count", None, "COUNT(*)"),), outputs, groups=groups)


def chosen(
    search: Search, units: NDArray[np.float64], deviation: float, noise: float
) -> tuple[int | float, int | float]:
    """The bounds with the least expected error: what is clipped, and `noise` of the whole answer for each 1 that they
    reach.

    Counts that noise alone makes are taken as nobody, but for less noise where a level beside is full: what people have
    is seldom full of holes. If there are no others, the bounds stay as wide as they can be. No more than a quarter of
    the others may lie beyond the bounds: noise that drowns an answer is told, and clipping is not. A sum's bounds lie
    around zero: moving the nearer one saves no noise.
    """
    scale = search.scale
    levels = np.array(scale.levels)
    caps = np.array([0.0, *map(float, scale.caps)])
    sizes = (caps[np.abs(levels)] + caps[np.abs(levels) + 1]) / 2 * np.where(levels < 0, -1.0, 1.0)
    # deviations that Laplace noise reaches at any level
    sure = math.log(len(levels) / (2 * FALSE_ALARM)) / math.sqrt(2)
    seen = units > sure * deviation
    if not seen.any():
        return scale.ends[0], scale.ends[-1]
    likely = units > LIKELY * deviation
    for _ in levels:  # a level beside one that is seen
        beside = np.concatenate((seen[1:], [False])) | np.concatenate(([False], seen[:-1]))
        seen = seen | (beside & likely)
    believed = np.where(seen, units, 0.0)
    if scale.signed:  # what is near zero may lie on either side
        near = believed[levels == 0] / 2
        believed = np.concatenate([np.where(levels == 0, near, believed), near])
        sizes = np.concatenate([sizes, -sizes[levels == 0]])
    ends = np.array([float(end) for end in scale.ends])
    above = np.maximum(sizes[None, :] - ends[:, None], 0.0) @ believed
    below = np.maximum(ends[:, None] - sizes[None, :], 0.0) @ believed
    lows = ends[:, None]
    highs = ends[None, :]
    reach = (highs - lows) / 2 if search.centred else np.maximum(np.abs(lows), np.abs(highs))
    error = below[:, None] + above[None, :] + noise * reach
    beyond = (sizes[None, :] < ends[:, None]) @ believed, (sizes[None, :] > ends[:, None]) @ believed
    allowed = (lows < highs) & (beyond[0][:, None] + beyond[1][None, :] <= CLIPPED_MAX * believed.sum())
    allowed &= search.centred | ((lows <= 0) & (highs >= 0))
    error = np.where(allowed, error, np.inf)
    width = np.where(error == error.min(), highs - lows, np.inf)  # of those that are as good, the narrowest
    low, high = np.unravel_index(int(np.argmin(width)), width.shape)
    return scale.ends[low], scale.ends[high]
