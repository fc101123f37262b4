"""The sparse vector technique: which counts are the first to pass a threshold, at a price that skipped ones do not
raise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.core.loss import PureLoss
from obverse.core.rng import Rng
from obverse.mechanisms.base import Example, least, outside
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.enclosures import Enclosure
from obverse.mechanisms.key_threshold import at_least

if TYPE_CHECKING:
    from obverse.mechanisms.base import Vector

EXACT_MAX = 2**61
SPLIT_BITS = 10  # of the ratio in which epsilon is split
TAIL_MIN = Fraction(1, 1 << 90)  # threshold noise that is rarer than this is bounded, not summed
BATCH = 2**20  # noises at a time when many calls are drawn


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Go through a vector in order and name the first `first` entries with entry + noise >= threshold + its noise.

    Claim:   pure DP with epsilon, for the unit and the neighbours of the sensitivity, whatever the length of the
             vector. Only the places of the named entries are told, no value. `monotone` says that neighbours move all
             entries the same way, as adding or removing a unit does with counts; it halves the noise of the entries.
    Proof:   Lyu, Su, Li 2017, here on integers. Let R be the noise of the threshold, of scale sensitivity / epsilon_1,
             V_i those of the entries, of scale k c sensitivity / epsilon_2, where c = first and k = 2 (1 if monotone).
             Given R = z the entries are judged independently, so P[output] is the sum over z of P[R = z] times
             P[x_i + V_i < T + z] over the skipped times P[x_i + V_i >= T + z] over the named. For a neighbour x' take
             the term z + s there (s = sensitivity, an integer, so it is a term). R: a factor exp(epsilon_1) at most.
             Skipped: x_i + V_i < T + z implies x'_i + V_i < T + z + s, so together they cost nothing, however many:
             this is why one draw of R serves all. Named: V_i must reach at most 2 s further, so each costs at
             most exp(2 s epsilon_2 / (2 c s)), and there are at most c, then it stops. Monotone and x' >= x: the same,
             but V_i reaches at most s further. Monotone and x' <= x: take z itself; skipped stay skipped, named reach
             s further. R need not be drawn anew after a name: all terms above share one z, and what follows the last
             name is not told. Whether equality passes is a shift of T by one, on which nothing here depends.
    Assumes: the vector is integer, within +-2**61, of public length and order; each entry moves by at most
             `sensitivity` between neighbours, and all in one direction if `monotone`.
    """

    name: ClassVar[str] = "sparse_vector"
    sensitivity: int
    epsilon: Fraction
    threshold: int
    first: int
    monotone: bool = False

    def __post_init__(self) -> None:
        invariant(
            self.sensitivity >= 1 and self.epsilon > 0, "noise needs a positive sensitivity and a positive epsilon"
        )
        invariant(self.first >= 1, "at least one entry may be named")
        invariant(abs(self.threshold) <= EXACT_MAX, "a threshold lies within 61 bits")
        _ = self.noises  # refuses noise that does not fit

    def loss(self) -> PureLoss:
        return PureLoss(self.epsilon)

    @property
    def noises(self) -> tuple[DiscreteLaplace, DiscreteLaplace]:
        """The noise of the threshold and that of each entry.

        The ratio epsilon_2 : epsilon_1 = (k c)**(2/3) gives the comparison the least variance (Lyu, Su, Li 2017,
        section 4.2). Any exact split is as private, so the root is taken to a few bits.
        """
        reach = self.first if self.monotone else 2 * self.first
        ratio = Fraction(_cube_root(reach**2 << 3 * SPLIT_BITS), 1 << SPLIT_BITS)
        epsilon_1 = self.epsilon / (1 + ratio)
        reached = DiscreteLaplace.for_epsilon(reach * self.sensitivity, self.epsilon - epsilon_1)
        return DiscreteLaplace.for_epsilon(self.sensitivity, epsilon_1), reached

    def sample(self, exact: Vector, rng: Rng) -> Vector:
        """The places of the named entries, rising; at most `first`."""
        return np.flatnonzero(self._passed(exact, 1, rng)[0])[: self.first]

    def draws(self, exact: Sequence[int], times: int, rng: Rng) -> Vector:
        """The first place named by each of many calls; the length of the vector where none is."""
        vector = np.array(exact, dtype=np.int64)
        batch = max(1, BATCH // len(exact))
        calls = [self._passed(vector, min(batch, times - at), rng) for at in range(0, times, batch)]
        return np.concatenate([np.where(p.any(axis=1), p.argmax(axis=1), len(exact)) for p in calls])

    def _passed(self, exact: Vector, times: int, rng: Rng) -> NDArray[np.bool_]:
        """For each call and each entry whether it passes; noise beyond 2**61, below exp(-2**14) likely, is cut."""
        invariant(exact.dtype == np.int64 and exact.ndim == 1, "an exact vector has 64-bit integers")
        invariant(bool(np.all((exact >= -EXACT_MAX) & (exact <= EXACT_MAX))), "an exact value lies within 61 bits")
        shared, each = self.noises
        moved = self.threshold + np.clip(shared.noise(times, rng), -EXACT_MAX, EXACT_MAX)
        noise = np.clip(each.noise(times * len(exact), rng), -EXACT_MAX, EXACT_MAX)
        return np.asarray(exact + noise.reshape(times, len(exact)) >= moved[:, None])

    def probability(self, exact: Sequence[int], output: int) -> Enclosure:
        """The chance that `output` is the first place named (the length of the vector: that none is).

        Claim:   a rigorous enclosure.
        Proof:   the sum over the threshold's noise in bounds; what lies beyond is between zero and its tail.
        Assumes: nothing.
        """
        shared, each = self.noises
        reach = least(lambda h: shared.tail(h)[1] <= TAIL_MIN, 0)
        total = [Fraction(0), shared.tail(reach)[1]]
        for z in range(-reach, reach + 1):
            low, high = shared.mass(z)
            for i, entry in enumerate(exact[: output + 1]):
                passes = at_least(self.threshold + z - entry, each.scale)
                chance = passes if i == output else (1 - passes[1], 1 - passes[0])
                low = low * chance[0]
                high = high * chance[1]
            total = [total[0] + low, total[1] + high]
        return total[0], min(total[1], Fraction(1))

    def shortfall(self, length: int, level: float) -> int:
        """An a such that, with probability `level` or more, no decision is wrong by more than a.

        Claim:   with that probability every named entry is at least threshold - a, and every entry that was skipped
                 (before the last named, or anywhere if fewer than `first` are named) is at most threshold + a.
        Proof:   a = h + k. Except with half the risk or so, |R| <= h. An entry below threshold - a is named only if
                 V_i > k, one above threshold + a skipped only if V_i < -k; each entry is at risk on one side at most,
                 and the union bound over them takes the rest of the risk. Shares in proportion to the scales are best.
        Assumes: the vector has `length` entries.
        """
        invariant(length >= 1, "a vector has entries")
        shared, each = self.noises
        risk = outside(level)
        share = risk * shared.scale / (shared.scale + each.scale)
        h = least(lambda half: shared.tail(half)[1] <= share, math.ceil(shared.scale))
        return h + least(lambda half: length * at_least(half + 1, each.scale)[1] <= risk - share, math.ceil(each.scale))

    def scaled(self, factor: Fraction) -> SparseVector:
        return replace(self, epsilon=self.epsilon / factor)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Entries that all come nearer while the last stays or goes: there the claim is met with near equality."""
        return (
            Example(cls(1, Fraction(3), 7, 1, monotone=True), (6, 6, 6, 6, 6, 7), (7, 7, 7, 7, 7, 7), range(7)),
            Example(cls(1, Fraction(2), 0, 1), (5, 5, 5, 5, 5, 5, 0), (6, 6, 6, 6, 6, 6, -1), range(8)),
        )


def _cube_root(number: int) -> int:
    """The largest integer whose cube is at most the number."""
    return least(lambda root: (root + 1) ** 3 > number, round(number ** (1 / 3)))
