"""Clopper-Pearson bounds of a probability, from the incomplete beta function; rounded against whoever claims."""

from __future__ import annotations

import math
from collections.abc import Callable

from obverse.core.errors import invariant

_SAFETY = 1 - 1e-6  # of alpha: far more than the doubles below can err
_TINY = 1e-300


def lower(hits: int, trials: int, alpha: float) -> float:
    """A bound that lies above the true probability with chance at most alpha."""
    _check(hits, trials, alpha)
    if hits == 0:
        return 0.0
    return _bisect(lambda p: beta_cdf(p, hits, trials - hits + 1) < alpha * _SAFETY)[0]


def upper(hits: int, trials: int, alpha: float) -> float:
    """A bound that lies below the true probability with chance at most alpha."""
    _check(hits, trials, alpha)
    if hits == trials:
        return 1.0
    return _bisect(lambda p: beta_cdf(1 - p, trials - hits, hits + 1) > alpha * _SAFETY)[1]


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b): for whole a and b, P[Binomial(a + b - 1, x) >= a]."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) / a / _fraction(x, a, b) if front > -745 else 0.0


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction 1 + d1/(1 + d2/(1 + ...)) of I_x(a, b), by Lentz's forward recurrence."""
    value = 1.0
    c = 1.0
    d = 0.0
    for i in range(1, 200_000):
        m = i // 2
        if i % 2:
            coefficient = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            coefficient = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / ((1 + coefficient * d) or _TINY)
        c = (1 + coefficient / c) or _TINY
        value *= c * d
        if abs(c * d - 1) < 1e-14:
            return value
    raise ArithmeticError("the continued fraction did not settle")


def _bisect(before: Callable[[float], bool]) -> tuple[float, float]:
    """Two neighbouring doubles of [0, 1], or nearly, between which a falling predicate turns false."""
    low = 0.0
    high = 1.0
    while high - low > 1e-15 * low + _TINY:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if before(middle):
            low = middle
        else:
            high = middle
    return low, high


def _check(hits: int, trials: int, alpha: float) -> None:
    invariant(0 <= hits <= trials and trials >= 1, "hits are some of at least one trial")
    invariant(0 < alpha < 1, "a false-alarm rate lies strictly between zero and one")
