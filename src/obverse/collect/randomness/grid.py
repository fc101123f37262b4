"""Numbers on a grid of places, between bounds; rounded at random, so that places are right on average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from obverse.collect.randomness.coins import Coins
from obverse.collect.randomness.odds import ONE
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Codes, Doubles


@dataclass(frozen=True, slots=True)
class Grid:
    """Places 0 .. size - 1 from low to high; numbers beyond the bounds are taken for the bounds."""

    low: Fraction
    high: Fraction
    size: int

    def __post_init__(self) -> None:
        invariant(self.low < self.high, "the lower bound is below the upper one")
        invariant(self.size >= 2, "a grid has two places at least")

    def place(self, number: float | Fraction, coins: Coins) -> int:
        """One of the two places beside the number, with its own for the mean, to 2**-53 of a step."""
        invariant(not isinstance(number, float) or math.isfinite(number), "a number is finite")
        along = (min(max(Fraction(number), self.low), self.high) - self.low) / (self.high - self.low) * (self.size - 1)
        whole = math.floor(along)
        return whole + coins.flip(round((along - whole) * ONE))

    def places(self, numbers: Doubles, rng: Rng) -> Codes:
        """Places of many; in doubles."""
        import numpy as np

        invariant(bool(np.isfinite(numbers).all()), "numbers are finite")
        low, high = float(self.low), float(self.high)
        along = (np.clip(numbers, low, high) - low) / (high - low) * (self.size - 1)
        whole = np.minimum(np.floor(along), self.size - 1)
        drawn = (rng.words(len(numbers)) >> np.uint64(11)) * 2.0**-53
        return (whole + (drawn < along - whole)).astype(np.uint64)

    def number(self, share: float) -> float:
        """What a mean of places, between 0 and 1, stands for."""
        return float(self.low) + share * float(self.high - self.low)
