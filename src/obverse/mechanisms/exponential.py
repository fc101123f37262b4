"""The exponential mechanism: a private choice among candidates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.core.loss import BoundedRangeLoss
from obverse.core.rng import Rng
from obverse.mechanisms.base import Example, outside
from obverse.mechanisms.bernoulli import bernoulli_exp
from obverse.mechanisms.enclosures import Enclosure, exp_minus, log_up

if TYPE_CHECKING:
    from obverse.mechanisms.base import Vector
    from obverse.mechanisms.bernoulli import Bits

ROUND = 2**16  # trials at a time, at most


@dataclass(frozen=True, slots=True)
class Exponential:
    """Choose one candidate by its score: P[i] is proportional to exp(epsilon * score_i / (2 sensitivity)).

    Claim:   bounded range epsilon (so pure DP with epsilon, and epsilon**2 / 8 zCDP), for the unit and the neighbours
             of the sensitivity. The released vector has one entry, the index chosen.
    Proof:   McSherry and Talwar 2007; the range by Durfee and Rogers 2019. The weights move by factors between
             exp(-epsilon/2) and exp(epsilon/2), the normalizer likewise, and it cancels in the range. Sampling is by
             rejection: a uniform candidate kept with probability exp(-epsilon * (best - score) / (2 sensitivity)).
    Assumes: scores are integers within +-2**62, one per candidate, the list of candidates is public, and each score
             moves by at most `sensitivity` between neighbours.
    """

    name: ClassVar[str] = "exponential"
    sensitivity: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        check_choice(self.sensitivity, self.epsilon)

    def loss(self) -> BoundedRangeLoss:
        return BoundedRangeLoss(self.epsilon)

    def sample(self, exact: Vector, rng: Rng) -> Vector:
        return self._choices(exact, 1, rng)

    def draws(self, exact: Sequence[int], times: int, rng: Rng) -> Vector:
        return self._choices(np.array(exact, dtype=np.int64), times, rng)

    def _choices(self, scores: Vector, times: int, rng: Rng) -> Vector:
        """Rounds of four trials per candidate: the first mostly suffices, so time says little of the scores."""
        chosen = np.empty(times, dtype=np.int64)
        filled = 0
        while filled < times:
            trials = rng.below(len(scores), min(ROUND, 4 * len(scores) * (times - filled) + 64))
            kept = trials[flips(scores, trials, self.epsilon / (2 * self.sensitivity), rng)][: times - filled]
            chosen[filled : filled + len(kept)] = kept
            filled += len(kept)
        return chosen

    def each(self, scores: Vector, rng: Rng) -> Vector:
        """One choice for every row of scores, independently: as `sample` of each row."""
        cells, values = scores.shape
        invariant(values >= 1 and scores.dtype == np.int64, "a choice needs integer scores, one per candidate")
        rate = self.epsilon / (2 * self.sensitivity)
        gaps = scores.max(axis=1, keepdims=True).astype(np.uint64) - scores.astype(np.uint64)
        chosen = np.empty(cells, dtype=np.int64)
        pending = np.arange(cells)
        while len(pending):
            rows = pending[: max(1, ROUND // (4 * values))]
            trials = rng.below(values, 4 * values * len(rows)).reshape(len(rows), 4 * values)
            apart = np.take_along_axis(gaps[rows], trials, axis=1).ravel()
            heads = _kept(apart, rate, rng).reshape(trials.shape)
            found = heads.any(axis=1)
            first = heads.argmax(axis=1)
            chosen[rows[found]] = trials[found, first[found]]
            pending = np.concatenate((rows[~found], pending[len(rows) :]))
        return chosen

    def probability(self, exact: Sequence[int], output: int) -> Enclosure:
        best = max(exact)
        others = Counter(exact)
        others[exact[output]] -= 1
        weights = {score: exp_minus(self.epsilon * (best - score) / (2 * self.sensitivity)) for score in others}
        rest = [sum((times * weights[score][end] for score, times in others.items()), Fraction(0)) for end in (0, 1)]
        low, high = weights[exact[output]]
        return low / (low + rest[1]), high / (high + rest[0])

    def shortfall(self, candidates: int, level: float) -> int:
        """With probability `level` or more, the chosen score is at most this far below the best."""
        return shortfall(self.sensitivity, self.epsilon, candidates, level)

    def scaled(self, factor: Fraction) -> Exponential:
        return replace(self, epsilon=self.epsilon / factor)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example(cls(1, Fraction(1)), (3, 5, 4), (4, 4, 3), range(3)),
            Example(cls(2, Fraction(3)), (0,) * 200, (2,) + (-2,) * 199, range(200)),
        )


def check_choice(sensitivity: int, epsilon: Fraction) -> None:
    invariant(sensitivity >= 1 and epsilon > 0, "a choice needs a positive sensitivity and a positive epsilon")
    invariant((epsilon / sensitivity).denominator < 1 << 256, "epsilon has a denominator of at most 256 bits")


def flips(scores: Vector, trials: Vector, rate: Fraction, rng: Rng) -> Bits:
    """For each trial (an index into scores) a coin, true with probability exp(-rate * (best - score)).

    Claim:   exactly this probability, independently.
    Proof:   the gap is below 2**64 and exact in unsigned words. Its double, that of the rate and their product err
             relatively by less than 2**-51 together, so as x * exp(-x) <= 1/e, by less than the 2**-41 that
             bernoulli_exp asks for.
    Assumes: there is at least one score, and scores lie within +-2**62.
    """
    invariant(len(scores) >= 1 and scores.dtype == np.int64, "a choice needs integer scores, one per candidate")
    gaps = scores.max().astype(np.uint64) - scores.astype(np.uint64)
    gamma = (gaps.astype(np.float64) * float(rate))[trials]
    return bernoulli_exp(gamma, lambda i: rate * int(gaps[trials[i]]), rng)


def _kept(gaps: NDArray[np.uint64], rate: Fraction, rng: Rng) -> Bits:
    """For each gap a coin, true with probability exp(-rate * gap): as `flips`."""
    return bernoulli_exp(gaps.astype(np.float64) * float(rate), lambda i: rate * int(gaps[i]), rng)


def shortfall(sensitivity: int, epsilon: Fraction, candidates: int, level: float) -> int:
    """The least integer h for which candidates * exp(-epsilon * h / (2 sensitivity)) <= 1 - level is certain.

    Claim:   with probability `level` or more the chosen score is at most h below the best.
    Proof:   each candidate more than h below has at most exp(-epsilon * h / (2 sensitivity)) times the best's
             probability (under permute-and-flip: is chosen only if its coin, of at most that probability, shows
             heads); there are fewer than `candidates` of them.
    Assumes: nothing.
    """
    return math.ceil(2 * sensitivity / epsilon * log_up(max(Fraction(candidates) / outside(level), Fraction(1))))
