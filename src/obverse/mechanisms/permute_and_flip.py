"""Permute-and-flip: the same choice as the exponential mechanism with less error, at pure epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from obverse.core.loss import PureLoss
from obverse.core.rng import Rng
from obverse.mechanisms.base import Example
from obverse.mechanisms.enclosures import Enclosure, exp_minus
from obverse.mechanisms.exponential import check_choice, flips, shortfall

if TYPE_CHECKING:
    from obverse.mechanisms.base import Vector


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """Visit the candidates in random order; take the first whose coin shows heads.

    A candidate's coin shows heads with probability exp(-epsilon * (best - score) / (2 sensitivity)).

    Claim:   pure DP with epsilon, for the unit and the neighbours of the sensitivity. The released vector has one
             entry, the index chosen.
    Proof:   McKenna and Sheldon 2020. All coins may be flipped first, because they do not depend on the
             order: the first heads of a random order is a uniform choice among the heads. The best candidate's coin
             always shows heads, so there is one.
    Assumes: scores are integers within +-2**62, one per candidate, the list of candidates is public, and each score
             moves by at most `sensitivity` between neighbours.
    """

    name: ClassVar[str] = "permute_and_flip"
    sensitivity: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        check_choice(self.sensitivity, self.epsilon)

    def loss(self) -> PureLoss:
        return PureLoss(self.epsilon)

    def sample(self, exact: Vector, rng: Rng) -> Vector:
        heads = np.flatnonzero(flips(exact, np.arange(len(exact)), self.epsilon / (2 * self.sensitivity), rng))
        return heads[rng.below(len(heads), 1)]

    def draws(self, exact: Sequence[int], times: int, rng: Rng) -> Vector:
        """Many choices at once: one row of coins each, then uniform tries until each row has met one of its heads."""
        scores = np.array(exact, dtype=np.int64)
        each = np.tile(np.arange(len(scores)), times)
        heads = flips(scores, each, self.epsilon / (2 * self.sensitivity), rng).reshape(times, len(scores))
        chosen = np.empty(times, dtype=np.int64)
        waiting = np.arange(times)
        while len(waiting):
            tried = rng.below(len(scores), len(waiting))
            met = heads[waiting, tried]
            chosen[waiting[met]] = tried[met]
            waiting = waiting[~met]
        return chosen

    def probability(self, exact: Sequence[int], output: int) -> Enclosure:
        """P[its coin shows heads] times the mean of 1 / (1 + heads among the others).

        Claim:   a rigorous enclosure.
        Proof:   the mean falls when any other coin becomes likelier, so bounds of the coins give bounds of it.
        Assumes: nothing.
        """
        coins = [exp_minus(self.epsilon * (max(exact) - score) / (2 * self.sensitivity)) for score in exact]
        others = [coin for i, coin in enumerate(coins) if i != output]
        low, high = coins[output]
        return low * _mean_share([top for _, top in others]), high * _mean_share([bottom for bottom, _ in others])

    def shortfall(self, candidates: int, level: float) -> int:
        """With probability `level` or more, the chosen score is at most this far below the best."""
        return shortfall(self.sensitivity, self.epsilon, candidates, level)

    def scaled(self, factor: Fraction) -> PermuteAndFlip:
        return replace(self, epsilon=self.epsilon / factor)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example(cls(1, Fraction(1)), (3, 5, 4), (4, 4, 3), range(3)),
            Example(cls(1, Fraction(2)), (10, 10), (9, 11), range(2)),
        )


def _mean_share(coins: list[Fraction]) -> Fraction:
    """The mean of 1 / (1 + number of heads) of independent coins."""
    counts = [Fraction(1)]  # P[this many heads]
    for coin in coins:
        counts = [
            (counts[m] * (1 - coin) if m < len(counts) else Fraction(0)) + (counts[m - 1] * coin if m else Fraction(0))
            for m in range(len(counts) + 1)
        ]
    return sum((p / (m + 1) for m, p in enumerate(counts)), Fraction(0))
