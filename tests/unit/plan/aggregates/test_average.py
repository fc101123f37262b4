"""Averages: drawn towards the middle where noise would drown them, and only there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from obverse.mechanisms import DiscreteLaplace
from obverse.plan.aggregates.average import drawn_in
from obverse.plan.aggregates.base import Noisy
from obverse.plan.intervals import Noise
from obverse.testing.noiseless import Identity

LIMIT = 50.0


def noisy(values: np.ndarray, mechanism) -> Noisy:
    return Noisy(values, 1.0, mechanism, Noise(float(mechanism.stddev()), 1.0), gaussian=False)


def test_without_noise_it_is_the_mean() -> None:
    totals = np.array([10.0, -30.0, 0.0])
    counts = np.array([4.0, 3.0, 0.0])
    assert drawn_in(noisy(totals, Identity()), counts, LIMIT).tolist() == [2.5, -10.0, 0.0]


def test_of_many_rows_it_is_the_mean() -> None:
    mechanism = DiscreteLaplace(1, Fraction(500))
    found = drawn_in(noisy(np.array([3e6]), mechanism), np.array([1e5]), LIMIT)
    assert found[0] == pytest.approx(30, rel=1e-6)


@pytest.mark.parametrize("rows", [1, 5, 20, 100, 1000])
def test_it_errs_no_more_than_the_plain_ratio(rows: int) -> None:
    """Means evenly spread in their bounds, 40,000 of them; a larger mean squared error by a percent would be
    noticed.
    """
    generator = np.random.default_rng(1)
    mechanism = DiscreteLaplace(1, Fraction(500))
    truth = generator.uniform(-LIMIT, LIMIT, 40_000)
    totals = truth * rows + generator.laplace(0, 500, 40_000)
    counts = np.full(40_000, float(rows))
    ours = np.clip(drawn_in(noisy(totals, mechanism), counts, LIMIT), -LIMIT, LIMIT)
    plain = np.clip(totals / counts, -LIMIT, LIMIT)
    assert np.mean((ours - truth) ** 2) <= 1.01 * np.mean((plain - truth) ** 2)
    assert rows > 20 or np.mean((ours - truth) ** 2) < 0.9 * np.mean((plain - truth) ** 2)
