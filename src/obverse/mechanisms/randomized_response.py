"""Randomized response: report one's category, or now and then another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from obverse.core.errors import invariant
from obverse.core.loss import PureLoss
from obverse.core.rng import Rng
from obverse.mechanisms.base import Example
from obverse.mechanisms.bernoulli import bernoulli
from obverse.mechanisms.enclosures import Enclosure, exp_minus, log_up

if TYPE_CHECKING:
    from obverse.mechanisms.base import Vector

GRID = 2**40  # of probabilities that are found from an epsilon


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """Each entry, one of 0 .. categories - 1, is kept with probability `truth`, else replaced by a uniform other one.

    Claim:   pure DP with epsilon = ln(truth * (categories - 1) / (1 - truth)) for one entry (rounded up).
    Proof:   Warner 1965, Kairouz et al. 2014: the two probabilities that a report can have are truth and
             (1 - truth) / (categories - 1), and epsilon is the logarithm of their ratio.
    Assumes: the unit owns one entry of the vector, and neighbours replace it (the length is public).
    """

    name: ClassVar[str] = "randomized_response"
    categories: int
    truth: Fraction

    def __post_init__(self) -> None:
        invariant(2 <= self.categories <= 2**62, "randomized response needs two categories or more")
        invariant(Fraction(1, self.categories) <= self.truth < 1, "the truth is told at least as often as any other")

    @classmethod
    def two_coins(cls) -> RandomizedResponse:
        """Heads: tell the truth. Tails: toss again and say yes or no by that coin. epsilon = ln 3."""
        return cls(2, Fraction(3, 4))

    @classmethod
    def for_epsilon(cls, categories: int, epsilon: Fraction) -> RandomizedResponse:
        """The least noise, on a grid of probabilities, whose loss is at most epsilon."""
        invariant(epsilon > 0, "randomized response needs a positive epsilon")
        best = 1 / (1 + (categories - 1) * exp_minus(epsilon)[1])
        steps = best.numerator * GRID // best.denominator
        while steps * categories > GRID and cls(categories, Fraction(steps, GRID)).loss().epsilon > epsilon:
            steps -= 1
        return cls(categories, max(Fraction(steps, GRID), Fraction(1, categories)))

    def loss(self) -> PureLoss:
        return PureLoss(log_up(self.truth / self._each_other))

    @property
    def _each_other(self) -> Fraction:
        return (1 - self.truth) / (self.categories - 1)

    def sample(self, exact: Vector, rng: Rng) -> Vector:
        inside = (exact >= 0) & (exact < self.categories)
        invariant(exact.dtype == np.int64 and bool(np.all(inside)), "an entry is one of the categories")
        other = rng.below(self.categories - 1, len(exact))
        other += other >= exact
        return np.where(bernoulli(self.truth, len(exact), rng), exact, other)

    def draws(self, exact: Sequence[int], times: int, rng: Rng) -> Vector:
        return self.sample(np.full(times, exact[0], dtype=np.int64), rng)

    def probability(self, exact: Sequence[int], output: int) -> Enclosure:
        p = self.truth if output == exact[0] else self._each_other
        return p, p

    def scaled(self, factor: Fraction) -> RandomizedResponse:
        return RandomizedResponse.for_epsilon(self.categories, self.loss().epsilon / factor)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example(cls.two_coins(), (0,), (1,), range(2)), Example(cls(7, Fraction(1, 3)), (2,), (6,), range(7)))
