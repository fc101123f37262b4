"""A ladder: one integer whose noise follows how far its own neighbours are, without telling that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.core.loss import BoundedRangeLoss
from obverse.core.rng import Rng
from obverse.mechanisms.base import Example, Mechanism, noise_too_large, rounded_up
from obverse.mechanisms.bernoulli import bernoulli_exp
from obverse.mechanisms.enclosures import Enclosure, exp_minus, quotient
from obverse.mechanisms.samplers import SCALE_MAX, check_scale, discrete_laplace

if TYPE_CHECKING:
    from obverse.mechanisms.base import Vector

ROUND = 1 << 16  # candidates at a time
FAR = 1 << 15  # scales beyond which nothing is drawn
LIMIT = 2**62 - 1


@dataclass(frozen=True, slots=True)
class Ladder(Mechanism):
    """Release an integer f by its rungs: rung t has the step * min(reach + t - 1, top) integers next further out on
    each side, rung 0 is f itself, and P[z] is proportional to exp(-t / scale) for z on rung t.

    Claim:   bounded range 2 / scale (so pure DP with epsilon = 2 / scale, and epsilon**2 / 8 zCDP), for the unit and
             the neighbours of what is assumed. The exact vector is (f, reach), the released one has one entry.
    Proof:   the exponential mechanism with the score -t (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2015). Let I_s(x)
             = step * min(reach(x) + s, top) and S_t(x) the sum of I_s(x) over s < t; z is on rung t or lower when
             |z - f(x)| <= S_t(x). Then |z - f(y)| <= I_0(y) + S_t(x) for a neighbour y, and I_s(x) <= I_{s+1}(y), as
             reach moves by at most one; so |z - f(y)| <= S_{t+1}(y): scores move by at most one. Bounded range: as
             Exponential. Sampling: `_rungs` gives 0 or a rung t with weights 1 and 2 * step * (reach + t - 1) *
             exp(-t / scale); a uniform number below step * (reach + t - 1) is kept when it is below step * top, and
             then is uniform on the rung; the side is fair. Beyond FAR scales, an event of probability below
             exp(-2**15), the rung is cut.
    Assumes: f and reach are integers, 0 <= reach. Neighbours move reach by at most 1, and f by at most step * reach of
             each of the two, and by at most step * top.
    """

    name: ClassVar[str] = "ladder"
    scale: Fraction
    top: int
    step: int = 1

    def __post_init__(self) -> None:
        check_scale(self.scale)
        invariant(self.top >= 1 and self.step >= 1, "a rung holds an integer")
        if math.ceil(self.scale) * FAR * self.top * self.step >= LIMIT // 2:
            raise noise_too_large()

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, top: int, step: int = 1) -> Ladder:
        """The steepest whose loss is at most epsilon."""
        invariant(epsilon > 0, "noise needs a positive epsilon")
        if 2 / epsilon > SCALE_MAX:
            raise noise_too_large()
        return cls(rounded_up(2 / epsilon, 52), top, step)

    def loss(self) -> BoundedRangeLoss:
        return BoundedRangeLoss(2 / self.scale)

    def sample(self, exact: Vector, rng: Rng) -> Vector:
        invariant(len(exact) == 2, "a ladder has a foot and a reach")
        return self.draws((int(exact[0]), int(exact[1])), 1, rng)

    def draws(self, exact: Sequence[int], times: int, rng: Rng) -> Vector:
        foot = int(exact[0])
        reach = min(int(exact[1]), self.top)
        invariant(reach >= 0 and abs(foot) <= LIMIT // 2, "a foot and a reach that can be drawn from")
        parts: list[NDArray[np.int64]] = []
        missing = times
        while missing > 0:
            t = self._rungs(reach, min(ROUND, 64 * missing + 1024), rng)
            u = _below_each(np.where(t == 0, 1, self.step * (reach + t - 1)), rng)
            t = t[u < self.step * self.top]
            u = u[u < self.step * self.top]
            side = np.where(rng.bits(len(t)), 1, -1)
            z = foot + side * np.where(t == 0, 0, self._below(t - 1, reach) + 1 + u)
            parts.append(z[:missing])
            missing -= len(z)
        return np.concatenate(parts)

    def _rungs(self, reach: int, candidates: int, rng: Rng) -> Vector:
        """Those of the candidates that are kept: rungs before the top bounds them.

        Claim:   P[0] and P[t] are as 1 to 2 * step * (reach + t - 1) * q**t, q = exp(-1 / scale).
        Proof:   times (1 - q)**2, the weights are (1 - q)**2 for 0; 2 step reach q (1 - q) for "one geometric number",
                 whose law is (1 - q) q**(t - 1); and 2 step q**2 for "the sum of two", whose law is (1 - q)**2 (t - 1)
                 q**(t - 2). One of 1 + 2 step (reach + 1) places is drawn, and kept when two coins of q fall as its
                 weight says. |y| of a discrete Laplace y that is not 0 is geometric from 1.
        Assumes: reach >= 0.
        """
        place = rng.below(1 + 2 * self.step * (reach + 1), candidates)
        gamma = np.full(candidates, float(1 / self.scale))
        coins = [bernoulli_exp(gamma, lambda i: 1 / self.scale, rng) for _ in range(2)]
        parts = np.where(place == 0, 0, np.where(place <= 2 * self.step * reach, 1, 2))
        parts = parts[(coins[0] == (parts >= 1)) & (coins[1] == (parts == 2))]
        wanted = int(parts.sum())
        steps = np.empty(0, dtype=np.int64)
        while len(steps) < wanted:
            y = np.abs(discrete_laplace(self.scale, wanted, rng))
            steps = np.concatenate([steps, y[y > 0]])
        ends = np.cumsum(parts)
        total = np.concatenate([[0], np.cumsum(np.minimum(steps[:wanted], math.ceil(self.scale) * FAR))])
        rungs: Vector = np.minimum(total[ends] - total[ends - parts], math.ceil(self.scale) * FAR)
        return rungs

    def _below(self, rungs: Vector, reach: int) -> Vector:
        """Integers on so many rungs, on one side: the sum of step * min(reach + s, top) over s < rungs."""
        rising = np.minimum(rungs, self.top - reach)
        total: Vector = self.step * (rising * reach + rising * (rising - 1) // 2 + (rungs - rising) * self.top)
        return np.where(rungs <= 0, 0, total)

    def rung(self, away: int, reach: int) -> int:
        """The rung of an integer so far from the foot."""
        t = 0
        high = 1
        while int(self._below(np.array([high]), reach)[0]) < away:
            t = high
            high = 2 * high
        while away > 0 and high - t > 1:
            middle = (t + high) // 2
            t, high = (t, middle) if int(self._below(np.array([middle]), reach)[0]) >= away else (middle, high)
        return high if away > 0 else 0

    def probability(self, exact: Sequence[int], output: int) -> Enclosure:
        """exp(-t / scale) over the sum of all rungs: rising ones one by one, then a geometric series."""
        reach = min(int(exact[1]), self.top)
        low, high = self._normalizer(reach)
        return quotient(exp_minus(self.rung(abs(output - int(exact[0])), reach) / self.scale), (low, high))

    def _normalizer(self, reach: int) -> Enclosure:
        low = high = Fraction(1)
        rising = self.top - reach
        for t in range(1, rising + 1):
            power = exp_minus(t / self.scale)
            many = 2 * self.step * (reach + t - 1)
            low = low + many * power[0]
            high = high + many * power[1]
        power = exp_minus((rising + 1) / self.scale)
        one = exp_minus(1 / self.scale)
        tail = quotient(power, (1 - one[1], 1 - one[0]))
        return low + 2 * self.step * self.top * tail[0], high + 2 * self.step * self.top * tail[1]

    def half_width(self, reach: int, alpha: float) -> int:
        """An h with P[|z - f| > h] at most alpha, for such a reach."""
        reach = min(max(reach, 0), self.top)
        q = math.exp(-1 / self.scale)
        rising = np.arange(1, min(self.top - reach, math.ceil(float(self.scale) * 60)) + 1)
        weight = 2 * self.step * (reach + rising - 1) * q**rising
        first = len(rising)
        tail = 2.0 * self.step * self.top * q ** (first + 1) / (1 - q)
        total = 1 + float(weight.sum()) + tail
        beyond = np.append(np.cumsum(weight[::-1])[::-1], 0.0) + tail  # at and above rung 1, 2, ...
        inside = np.flatnonzero(beyond <= alpha * total)
        if len(inside):
            rungs = int(inside[0])
        else:
            rungs = first + math.ceil(math.log(tail / (alpha * total)) * float(self.scale))
        return int(self._below(np.array([rungs]), reach)[0])

    def scaled(self, factor: Fraction) -> Ladder:
        return replace(self, scale=self.scale * factor)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example(cls(Fraction(2), 3), (5, 1), (6, 2), range(-170, 180)),
            Example(cls(Fraction(3), 4, 2), (9, 2), (5, 3), range(-600, 620)),
        )


def _below_each(bounds: Vector, rng: Rng) -> Vector:
    """For each bound an integer, exactly uniform on 0 .. bound - 1: remainders of words below its largest multiple."""
    bounds = np.maximum(bounds, 1)  # where nothing can be drawn, nothing is kept
    found = np.empty(len(bounds), dtype=np.int64)
    open_ = np.arange(len(bounds))
    while len(open_):
        words = rng.below(1 << 62, len(open_))
        limit = ((1 << 62) // bounds[open_]) * bounds[open_]
        kept = words < limit
        found[open_[kept]] = words[kept] % bounds[open_[kept]]
        open_ = open_[~kept]
    return found
