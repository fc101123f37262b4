"""Leaves of a number: the public pieces that its line is cut into, and what a place on the line is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import Refused, invariant
from obverse.core.numbers import plain
from obverse.core.types import Type

Array = np.ndarray[Any, Any]
Floats = NDArray[np.float64]


DIGITS = 12


@dataclass(frozen=True, slots=True)
class Leaves:
    """Where each leaf begins and ends; a leaf of one value ends where it begins.

    `closed`: a leaf holds its end. If not, its end is where the next begins, and only the last leaf holds it.
    """

    lows: tuple[Fraction, ...]
    highs: tuple[Fraction, ...]
    closed: bool

    def __post_init__(self) -> None:
        invariant(len(self.lows) == len(self.highs) >= 2, "a line has leaves")
        rising = all(a < b for a, b in pairwise(self.lows)) and all(a <= b for a, b in zip(self.lows, self.highs))
        invariant(
            rising and all(h <= low for h, low in zip(self.highs, self.lows[1:])), "leaves rise and do not overlap"
        )

    @property
    def count(self) -> int:
        return len(self.lows)

    @property
    def whole(self) -> bool:
        """All ends are whole numbers."""
        return all(end.denominator == 1 for end in (*self.lows, *self.highs))

    @property
    def ends(self) -> str:
        """What a row below a leaf's end satisfies, in words."""
        return "at most" if self.closed else "below"

    def names(self) -> tuple[str, ...]:
        both = enumerate(zip(self.lows, self.highs))
        return tuple(self.named(low, high, last=n == self.count - 1) for n, (low, high) in both)

    def named(self, low: Fraction, high: Fraction, *, last: bool) -> str:
        """From a leaf's beginning to a leaf's end, in words; `last`: to the end of the line."""
        shown = plain(high, DIGITS)
        return shown if low == high else f"{plain(low, DIGITS)} to {'' if last or self.closed else 'below '}{shown}"

    @property
    def type(self) -> Type:
        return Type.INTEGER if self.whole else Type.DOUBLE

    def numbers(self, ends: Sequence[Fraction]) -> Array:
        """Ends of leaves as a column."""
        return np.array(
            [int(end) if self.whole else float(end) for end in ends], dtype=np.int64 if self.whole else np.float64
        )

    def between(self, first: Fraction, last: Fraction) -> tuple[int, int]:
        """The leaves that a range is made of."""
        if first in self.lows and last in self.highs and self.lows.index(first) <= self.highs.index(last):
            return self.lows.index(first), self.highs.index(last)
        raise Refused(
            "bad_range",
            f"the range {plain(first)},{plain(last)} is not made of whole leaves.",
            why=f"leaves are {', '.join(self.names()[:3])} and so on; what lies inside one is not measured.",
            fix="Choose ends of leaves, or other --bins.",
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "lows": [str(end) for end in self.lows],
            "highs": [str(end) for end in self.highs],
            "closed": self.closed,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Leaves:
        lows, highs = (tuple(Fraction(end) for end in fields[name]) for name in ("lows", "highs"))
        return cls(lows, highs, bool(fields["closed"]))


def isotonic(values: Floats) -> Floats:
    """The nearest rising numbers that are not negative, of each row: neighbours that fall are put at their mean."""
    found = np.empty(values.shape)
    for row, out in zip(values.reshape(-1, values.shape[-1]), found.reshape(-1, values.shape[-1])):
        means: list[float] = []
        sizes: list[int] = []
        for value in row.tolist():
            mean = value
            size = 1
            while means and means[-1] >= mean:
                before = means.pop()
                many = sizes.pop()
                mean = (before * many + mean * size) / (many + size)
                size = many + size
            means.append(mean)
            sizes.append(size)
        out[:] = np.repeat(np.maximum(means, 0.0), sizes)
    return found


def inverted(rising: Floats, total: float, leaves: Leaves, at: Fraction) -> float | None:
    """The value that this share of the rows does not exceed: linear inside a leaf. None where there are no rows.

    `total` is unbiased; what was made to rise is too high at its end, where noise has only gone up.
    """
    if total <= 0 or rising[-1] <= 0:
        return None
    target = min(float(at) * total, float(rising[-1]))
    place = min(int(np.searchsorted(rising, target)), leaves.count - 1)
    before = float(rising[place - 1]) if place else 0.0
    part = (target - before) / (float(rising[place]) - before) if rising[place] > before else 1.0
    low = float(leaves.lows[place])
    high = float(leaves.highs[place])
    return low + part * (high - low)


def held(prefixes: Floats, wide: Floats, at: Fraction) -> tuple[int, int]:
    """Between which leaves a quantile lies; `wide` is how far the noise of prefix less `at` times the last one may
    stray.

    Claim:   with twice the chance that one of those differences strays further to one side, it does not.
    Proof:   the quantile is the first leaf i whose prefix is at least `at` of the whole. Let g be the differences. Of
             leaf i, g is not negative, so that its estimate and `wide` reach 0 but with one such chance: the first leaf
             of which that is so is at most i. Of the leaf before, g is negative, so that its estimate less as much is
             below 0 but with one such chance: the last leaf after such a one is at least i. No other event is used.
    Assumes: estimates are unbiased.
    """
    moved = prefixes - float(at) * prefixes[-1]
    above = np.flatnonzero(moved + wide >= 0)
    under = np.flatnonzero((moved - wide)[:-1] < 0)
    return int(above[0]) if len(above) else len(prefixes) - 1, int(under[-1]) + 1 if len(under) else 0
