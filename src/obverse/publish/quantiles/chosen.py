"""Which line is measured, and with which shares of the price: the one whose exact errors are least for what is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from obverse.publish.quantiles.branches import Branches
from obverse.publish.quantiles.line import Line, Sums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SLOPES = (0.3, 0.45, 0.6, 0.75, 0.9, 1.0, 1.15)  # of one level's share to that of the level below
GAUSSIAN, LAPLACE = (2, 4, 16), (4, 8, 16, 32)  # branches of trees that are tried
LEAST = 0.01  # a level with a smaller share is not measured
STEP = 256  # shares are whole multiples of 1/STEP


@dataclass(frozen=True, slots=True)
class Asked:
    """What errors are looked at: those of the first `counted` prefixes; of ranges of leaves; of leaves by themselves."""

    counted: int
    ranges: tuple[tuple[int, int], ...] = ()
    single: bool = False

    def errors(self, line: Line, own: Sequence[float]) -> tuple[float, ...]:
        """The mean variance of each kind of number."""
        import numpy as np

        found = [float(line.against(own, np.zeros(line.leaves))[0][: self.counted].mean())]
        if self.ranges:
            found.append(float(np.mean([range_variance(line, own, one) for one in self.ranges])))
        if self.single:
            found.append(float(line.single(own)[: self.counted].mean()))
        return tuple(found)


def range_variance(line: Line, own: Sequence[float], leaves: tuple[int, int]) -> float:
    """Of the sum from one leaf to another."""
    import numpy as np

    first, last = leaves
    weights = np.zeros(line.leaves)
    weights[first : last + 1] = 1.0
    shared = line.against(own, weights)[1]
    return float(shared[last] - (shared[first - 1] if first else 0.0))


def variances_of(line: Line, shares: Sequence[float], *, squared: bool) -> list[float]:
    """Of an entry of each map: Gaussian noise at rho 1/2 (squared), or Laplace noise at epsilon 1; infinite without a share."""
    found = []
    for one, share in zip(line.maps(), shares):
        moved = one.column_squares / share if squared and share else 2 * (one.column_l1 / share) ** 2 if share else math.inf
        found.append(float(moved))
    return found


def chosen(leaves: int, asked: Asked, *, squared: bool) -> tuple[Line, tuple[Fraction, ...]]:
    """The line, and the share of each of its parts; zero where it is not measured.

    Each kind of number counts by its mean variance over the least that any line has at the start. Then shares of each tree's
    levels are moved while that helps.
    """
    branching = [b for b in (GAUSSIAN if squared else LAPLACE) if b < leaves] or [leaves]
    lines: list[Line] = [Branches(leaves, b) for b in branching]
    starts: list[tuple[Line, list[float]]] = [(one, _geometric(one, slope)) for one in lines for slope in SLOPES]
    if squared:
        starts.append((Sums(leaves), [1.0]))
    found = [asked.errors(line, variances_of(line, shares, squared=squared)) for line, shares in starts]
    least = [min(errors) for errors in zip(*found)]

    def cost(line: Line, shares: Sequence[float]) -> float:
        errors = asked.errors(line, variances_of(line, shares, squared=squared))
        return float(sum(error / best for error, best in zip(errors, least)))

    ends = []
    for line in {line: None for line, _ in starts}:
        own = [shares for other, shares in starts if other == line]
        ends.append((line, _moved(own, partial(cost, line))))
    line, shares = min(ends, key=lambda end: cost(*end))
    return line, tuple(Fraction(round(share * STEP), STEP) for share in shares)


def share_of_all(groups: int, *, squared: bool) -> Fraction:
    """The share of the price that measures all groups together, of those tried the best; nothing where their sum does as well.

    In units of the variance that the whole price would give: within groups it is 1/(1 - t) (Laplace noise: squared), over all
    of them that of their sum and of what is measured by itself. Logarithms are added up, and groups count twice.
    """

    def cost(share: Fraction) -> float:
        power, t = 1 if squared else 2, float(share)
        within = (1 - t) ** -power
        over = 1 / ((1 - t) ** power / groups + t**power)
        return 2 * math.log(within * (1 - 1 / groups) + over / groups**2) + math.log(over)

    return min((Fraction(n, 20) for n in range(11)), key=cost) if groups > 1 else Fraction(0)


def _geometric(line: Line, slope: float) -> list[float]:
    many = len(line.parts)
    weights = [slope ** (many - 1 - level) for level in range(many)]
    return [weight / sum(weights) for weight in weights]


def _moved(starts: list[list[float]], cost: Callable[[Sequence[float]], float]) -> list[float]:
    """From the best start, one share after the other made larger, smaller or nothing while it helps; whole steps at the end."""
    shares = min(starts, key=cost)
    now, factor = cost(shares), 2.0
    while factor > 1.05 and len(shares) > 1:
        helped = False
        for place in range(len(shares)):
            tried = (factor, 1 / factor) if place == len(shares) - 1 else (factor, 1 / factor, 0.0)
            for by in tried:
                other = [share * (by if n == place else 1.0) for n, share in enumerate(shares)]
                other = [share / sum(other) for share in other]
                then = cost(other)
                if then < 0.999 * now:
                    shares, now, helped = other, then, True
        factor = factor if helped else math.sqrt(factor)
    kept = [share if share >= LEAST or n == len(shares) - 1 else 0.0 for n, share in enumerate(shares)]
    return [max(1, round(share / sum(kept) * STEP)) / STEP if share else 0.0 for share in kept]
