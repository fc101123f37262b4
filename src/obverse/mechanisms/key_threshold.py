"""Discovered keys: which groups exist, told only for those that many units are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from obverse.core.errors import invariant
from obverse.core.loss import ApproxLoss
from obverse.core.rng import Rng
from obverse.mechanisms.base import Example, least, outside
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.enclosures import Enclosure, exp_minus, log_up, quotient
from obverse.mechanisms.samplers import saturating_add

if TYPE_CHECKING:
    from obverse.mechanisms.base import Vector
    from obverse.mechanisms.bernoulli import Bits

DELTA_MIN = Fraction(1, 1 << 1000)


@dataclass(frozen=True, slots=True)
class KeyThreshold:
    """Release a key iff its count of units plus discrete Laplace noise Z of scale b = reach / epsilon is >= threshold.

    Claim:   approximate DP with (epsilon, delta), for both notions of neighbours; nothing but the set of released
             keys is told. `groups` = G is how many keys one unit may vote for, `reach` how far one unit moves the
             counts in L1: G when neighbours add or remove a unit, 2 G when they replace one.
    Proof:   let p = P[1 + Z >= T] be the chance that a key with a single unit is released, and q = exp(-1/b). The
             threshold T is the least with G p <= delta and p <= 1 - q. Let D and D' be neighbours. A key of D that
             is none of D' has exactly one unit, the one that left, so there are at most G of them, and with chance
             at least 1 - G p >= 1 - delta none is released: that is the only use of delta, under replace too, where
             the keys that come have no share in it. On this event, compare the chances key by key. Gone: not released
             with chance at most 1 in D, and surely in D'. New: surely not released in D, and in D' with
             1 - p >= q. In both: the count moves by d, and both events have chances within exp(|d| / b) of each other,
             as functions of a discrete Laplace. The moves add up to at most `reach`, a new key's being one, so
             P_D[set and event] <= exp(reach / b) P_D'[set]. Where delta / G <= 1 - q, in all but odd cases, T is
             1 + ceil(b ln(G / (delta (1 + q)))): P[Z >= m] = q**m / (1 + q) for m >= 0.
             With `least` = k units at least, all this is said of the counts max(0, n - k + 1): a unit moves them no
             further, and where one is zero the key is never released. The threshold is k - 1 higher, and a key of fewer
             than k units is not released, whatever the noise.
    Assumes: counts are of distinct units, each unit in at most `groups` keys; a key of no unit has no entry, or zero.
    """

    name: ClassVar[str] = "key_threshold"
    groups: int
    epsilon: Fraction
    delta: Fraction
    reach: int
    least: int = 1

    def __post_init__(self) -> None:
        invariant(
            self.groups >= 1 and self.least >= 1, "a unit votes for at least one key, a key has at least one unit"
        )
        invariant(
            self.reach in (self.groups, 2 * self.groups), "a unit reaches its keys, or twice as many when replaced"
        )
        invariant(self.epsilon > 0 and DELTA_MIN <= self.delta < 1, "keys need a positive epsilon and a positive delta")
        _ = self._noise  # refuses noise that does not fit

    def loss(self) -> ApproxLoss:
        return ApproxLoss(self.epsilon, self.delta)

    @property
    def threshold(self) -> int:
        """The least noisy count that is released."""
        return _threshold(self.groups, self.delta, self._noise.scale) + self.least - 1

    @property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace.for_epsilon(self.reach, self.epsilon)

    def passes(self, counts: Vector, rng: Rng) -> Bits:
        """For each key, whether it is released. A count of zero is a key that is not there: never."""
        invariant(bool(np.all(counts >= 0)), "a key's count of units is never negative")
        noisy = saturating_add(counts, self._noise.noise(len(counts), rng))
        return np.asarray((noisy >= self.threshold) & (counts >= self.least))

    def sample(self, exact: Vector, rng: Rng) -> Vector:
        """One for each key that is released, zero for the others."""
        return self.passes(exact, rng).astype(np.int64)

    def draws(self, exact: Sequence[int], times: int, rng: Rng) -> Vector:
        return self.sample(np.full(times, exact[0], dtype=np.int64), rng)

    def probability(self, exact: Sequence[int], output: int) -> Enclosure:
        """The chance that the first key is released (output one) or not (output zero)."""
        if output not in (0, 1):
            return Fraction(0), Fraction(0)
        there = exact[0] >= self.least
        low, high = at_least(self.threshold - exact[0], self._noise.scale) if there else (Fraction(0), Fraction(0))
        return (low, high) if output else (1 - high, 1 - low)

    def seen_from(self, level: float) -> int:
        """The least count of units from which on a key is released with probability `level` or more."""
        missed = outside(level)
        scale = self._noise.scale
        return self.threshold + least(lambda more: at_least(more + 1, scale)[1] <= missed, 0)

    def scaled(self, factor: Fraction) -> KeyThreshold:
        return replace(self, epsilon=self.epsilon / factor)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        near = cls(1, Fraction(1), Fraction(1, 10**6), 1)
        fresh = cls(1, Fraction(2), Fraction(1, 50), 2)
        many = cls(1, Fraction(2), Fraction(1, 50), 2, 5)
        return (
            Example(near, (near.threshold - 1,), (near.threshold,), range(2)),
            Example(fresh, (0,), (1,), range(2)),
            Example(many, (4,), (5,), range(2)),
        )


def at_least(m: int, scale: Fraction) -> Enclosure:
    """P[Z >= m] for discrete Laplace Z: q**m / (1 + q) for m >= 0 with q = exp(-1 / scale), else one minus its
    mirror.
    """
    if m < 0:
        low, high = at_least(1 - m, scale)
        return 1 - high, 1 - low
    low, high = exp_minus(1 / scale)
    return quotient(exp_minus(m / scale), (1 + low, 1 + high))


@lru_cache(maxsize=256)
def _threshold(groups: int, delta: Fraction, scale: Fraction) -> int:
    """The least T >= 1 with G P[Z >= T - 1] <= delta and P[Z >= T - 1] <= 1 - q, decided in rational bounds."""
    allowed = min(delta / groups, 1 - exp_minus(1 / scale)[1])
    guess = scale * log_up(1 / allowed)
    return 1 + least(lambda m: at_least(m, scale)[1] <= allowed, guess.numerator // guess.denominator)
