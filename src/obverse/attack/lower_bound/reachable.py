"""Reachable outputs: what the textbook's floating-point Laplace noise, added to a true value, can give at all (Mironov)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from obverse.attack.lower_bound.events import Candidates
from obverse.attack.lower_bound.tails import numbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.attack.lower_bound.scores import Floats

# Of u below and above the truth: a uniform double is a multiple of 2^-53, twice of it one of 2^-52. numpy has one of each.
GRAINS = ((52, 52), (53, 53), (52, 53))
WHOLE_MAX = 2.0**53
CHOOSING_MAX = 100_000  # outputs of a side that choose


@dataclass(frozen=True, slots=True)
class Supposed:
    """What an attacker supposes of the noise: epsilon, and perhaps the true values of both sides."""

    epsilon: float
    truths: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Sampler:
    """The truth plus or minus scale * log(u), where u is a whole multiple of 2^-grain, with a grain below and one above."""

    truth: float
    scale: float
    grains: tuple[int, int]

    def reaches(self, outputs: Floats) -> NDArray[np.bool_]:
        """Whether one of the three likeliest u gives exactly the output."""
        import numpy as np

        below = outputs < self.truth
        steps = np.where(below, 2.0 ** self.grains[0], 2.0 ** self.grains[1])
        sign = np.where(below, self.scale, -self.scale)
        with np.errstate(over="ignore"):  # of a scale near zero
            nearest = np.rint(np.exp(-np.abs(outputs - self.truth) / self.scale) * steps)
        found = np.zeros(len(outputs), dtype=np.bool_)
        for step in (-1, 0, 1):
            found |= self.truth + sign * np.log(np.clip(nearest + step, 1, steps) / steps) == outputs
        return found


@dataclass(frozen=True, slots=True)
class Reached:
    """Outputs that the noise can give around one true value, and cannot around the other."""

    here: Sampler
    there: Sampler

    @property
    def words(self) -> str:
        here, there = self.here, self.there
        bits = f"uniform to {here.grains[0]} bits below, {here.grains[1]} above"
        noise = f"floating-point Laplace noise of scale {here.scale:g} ({bits})"
        return f"{noise} reaches the output from {here.truth:g} and not from {there.truth:g}"

    def hits(self, samples: NDArray[np.generic]) -> int:
        import numpy as np

        outputs = _finite(samples)
        return int(np.count_nonzero(self.here.reaches(outputs) & ~self.there.reaches(outputs)))


def reachable(left: NDArray[np.generic], right: NDArray[np.generic], supposed: Supposed) -> list[Candidates]:
    """Events of single real numbers: around the truths that are supposed, and around the whole numbers next to the medians."""
    import numpy as np

    if left[0].size > 1 or (left.dtype.kind in "biu" and right.dtype.kind in "biu") or not supposed.epsilon > 0:
        return []
    sides = _finite(left[:CHOOSING_MAX]), _finite(right[:CHOOSING_MAX])
    medians = [float(np.rint(np.median(side))) + 0.0 for side in sides]  # never minus zero
    pairs = {(medians[0], medians[1])} | ({supposed.truths} if supposed.truths else set())
    family: list[Reached] = []
    hits: list[list[int]] = []
    for (here, there), grains in product(sorted(pairs), GRAINS):
        scale = abs(here - there) / supposed.epsilon
        if 0 < scale < math.inf and max(abs(here), abs(there)) < WHOLE_MAX:
            one, other = Sampler(here, scale, grains), Sampler(there, scale, grains)
            reached = [(one.reaches(side), other.reaches(side)) for side in sides]
            family += [Reached(one, other), Reached(other, one)]
            hits += [[int((a & ~b).sum()) for a, b in reached], [int((b & ~a).sum()) for a, b in reached]]
    if not family:
        return []
    counts = np.array(hits, dtype=np.float64)
    return [Candidates(counts[:, 0], counts[:, 1], (len(sides[0]), len(sides[1])), lambda i: family[i])]


def _finite(samples: NDArray[np.generic]) -> Floats:
    return numbers(samples)[:, 0]
