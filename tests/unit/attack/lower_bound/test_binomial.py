"""Clopper-Pearson bounds: against exact binomial tails."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from obverse.attack.lower_bound.binomial import beta_cdf, lower, upper
from obverse.core.errors import InvariantBroken

CASES = [(0, 1), (1, 1), (0, 20), (3, 20), (20, 20), (7, 100), (99, 100), (150, 300)]


def at_least(hits: int, trials: int, p: float) -> Fraction:
    chance = Fraction(p)
    return sum(
        (math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(hits, trials + 1)), Fraction(0)
    )


@pytest.mark.parametrize(("hits", "trials"), CASES)
@pytest.mark.parametrize("alpha", [0.05, 1e-9])
def test_bounds_are_where_the_exact_tail_is_alpha(hits: int, trials: int, alpha: float) -> None:
    low = lower(hits, trials, alpha)
    high = upper(hits, trials, alpha)
    assert 0 <= low <= hits / trials <= high <= 1
    if hits:
        assert alpha * (1 - 1e-4) <= at_least(hits, trials, low) <= alpha
    if hits < trials:
        assert alpha * (1 - 1e-4) <= 1 - at_least(hits + 1, trials, high) <= alpha


def test_the_beta_function_agrees_with_scipy() -> None:
    special = pytest.importorskip("scipy.special")
    half = 250_000
    for x, a, b in [(0.3, 2, 5), (0.5, half, half + 1), (0.501, half, half + 1), (1e-5, 3, 10**6), (0.99, 10**6, 5)]:
        assert beta_cdf(x, a, b) == pytest.approx(float(special.betainc(a, b, x)), rel=1e-7, abs=1e-300)


def test_impossible_counts_are_refused() -> None:
    for hits, trials, alpha in ((2, 1, 0.1), (-1, 1, 0.1), (0, 0, 0.1), (1, 2, 0.0)):
        for bound in (lower, upper):
            with pytest.raises(InvariantBroken):
                bound(hits, trials, alpha)
