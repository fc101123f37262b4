"""Goodness of fit with a proven false-alarm rate: no asymptotics, so that 1e-9 means 1e-9."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.int64]


def fits(samples: Samples, first: int, law: Sequence[float], *, false_alarm: float = 1e-9) -> bool:
    """Whether samples look like the law: law[i] is the probability of first + i, what is missing lies elsewhere.

    Claim:   a sample of the law fails with chance at most false_alarm.
    Proof:   each single value, each half-line, each remainder modulo 2, 4, 8 and "elsewhere" is a binomial event;
             Chernoff's bound says that one of probability p is met k times or further from p n with chance at most
             2 exp(-n KL(k/n, p)). The union bound over the events does the rest.
    Assumes: samples are independent; the law is accurate to 1e-12.
    """
    import numpy as np

    inside = samples[(samples >= first) & (samples < first + len(law))]
    counts = np.bincount(inside - first, minlength=len(law)).astype(np.float64)
    chances = np.asarray(law, dtype=np.float64)
    pairs = [np.stack((counts, chances)), np.cumsum((counts, chances), axis=1)]
    for modulus in (2, 4, 8):
        for r in range(min(modulus, len(law))):
            pairs.append(np.array([[counts[r::modulus].sum()], [chances[r::modulus].sum()]]))
    pairs.append(np.array([[len(samples) - len(inside)], [max(0.0, 1 - math.fsum(law))]]))
    met, expected = np.concatenate(pairs, axis=1)
    limit = math.log(2 * len(met) / false_alarm)
    return all(len(samples) * divergence(k / len(samples), p) <= limit for k, p in zip(met, expected))


def divergence(share: float, p: float) -> float:
    """KL(share, p) of two coins, forgiving 1e-12 in p."""
    low, high = max(0.0, p - 1e-12), min(1.0, p + 1e-12)
    p = min(max(share, low), high)
    total = 0.0
    for a, b in ((share, p), (1 - share, 1 - p)):
        if a > 0:
            total += math.inf if b <= 0 else a * math.log(a / b)
    return total


def largest_gap(ours: Samples, theirs: Samples) -> float:
    """The largest difference between two empirical distribution functions."""
    import numpy as np

    at = np.union1d(ours, theirs)
    one = np.searchsorted(np.sort(ours), at, side="right") / len(ours)
    other = np.searchsorted(np.sort(theirs), at, side="right") / len(theirs)
    return float(np.max(np.abs(one - other)))


def gap_limit(n: int, m: int, false_alarm: float = 1e-9) -> float:
    """What largest_gap of two samples of one law exceeds with at most this chance (Dvoretzky, Kiefer, Wolfowitz)."""
    each = math.log(4 / false_alarm) / 2
    return math.sqrt(each / n) + math.sqrt(each / m)
