"""Means of numbers: intervals that cover at the bounds too, where all reports may be alike."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from obverse.collect.protocols import HybridMean, OneBitMean, PiecewiseMean
from obverse.collect.protocols.base import least_spread
from obverse.testing.noiseless import SeededRng

KINDS = [OneBitMean, PiecewiseMean, HybridMean]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["1", "4", "8", "12"])
def test_intervals_cover_at_the_bounds_as_in_the_middle(kind, epsilon: str) -> None:
    """120 intervals of 90 % at each place: fewer than 91 cover with a chance below 1e-6, and the seed is fixed."""
    protocol = kind.fitted(21, Fraction(epsilon))
    rng = SeededRng(5)
    wide = NormalDist().inv_cdf(0.95)
    for place in (0, 10, 20):
        covered = 0
        for _ in range(120):
            counts = protocol.fold(protocol.reports(np.full(25, place, dtype=np.uint64), rng))
            found = protocol.estimate(counts, 25, np.zeros(1, dtype=np.uint64))
            covered += abs(found.value[0] - place / 20) <= wide * math.sqrt(found.variance[0])
        assert covered >= 91, place


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_people_of_a_mean_have_scores_that_vary_at_least_so_much(kind, size: int) -> None:
    """Whoever they are: two places and any number of people at each; those at one place or at the ends have no more."""
    for epsilon in ("0.3", "1", "6"):
        protocol = kind.fitted(size, Fraction(epsilon))
        spreads = [float(protocol.spread(place)) for place in range(size)]
        for one in range(size):
            for other in range(size):
                for part in (0.0, 0.3, 0.5):
                    mean = (part * one + (1 - part) * other) / (size - 1)
                    known = part * spreads[one] + (1 - part) * spreads[other]
                    assert known >= least_spread(protocol, mean) - 1e-12
            both = (spreads[one], spreads[0])
            assert least_spread(protocol, one / (size - 1)) == pytest.approx(min(both), rel=1e-9, abs=1e-12)
