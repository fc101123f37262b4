"""Discrete Laplace: the exact law, its loss, its error bars."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.attack import evidence_from_counts
from obverse.core.errors import InvariantBroken, Refused
from obverse.core.loss import PureLoss
from obverse.core.rng import Rng
from obverse.mechanisms import DiscreteLaplace
from obverse.testing.noiseless import SeededRng

LIGHT = settings(deadline=None, max_examples=40)
SCALES = st.fractions(min_value=Fraction(1, 20), max_value=50, max_denominator=100)


@LIGHT
@given(scale=SCALES)
def test_probabilities_add_up_with_the_tail(scale: Fraction) -> None:
    mechanism = DiscreteLaplace(1, scale)
    inside = sum((mechanism.mass(z)[0] for z in range(-10, 11)), Fraction(0))
    low, high = mechanism.tail(10)
    assert inside + low <= 1 <= sum((mechanism.mass(z)[1] for z in range(-10, 11)), Fraction(0)) + high
    assert float(1 - inside - high) == pytest.approx(0, abs=1e-40)


@LIGHT
@given(scale=SCALES, level=st.sampled_from([0.01, 0.3, 0.5, 0.9, 0.95, 0.99, 0.999999]))
def test_an_interval_is_the_least_that_covers(scale: Fraction, level: float) -> None:
    mechanism = DiscreteLaplace(1, scale)
    half = mechanism.interval(level)
    missed = 1 - Fraction(str(level))
    assert mechanism.tail(half)[1] <= missed
    assert half == 0 or mechanism.tail(half - 1)[0] > missed


@pytest.mark.parametrize("scale", [Fraction(10**6), Fraction(2**46), Fraction(10**13, 7)])
def test_an_interval_of_a_large_scale_is_scale_times_the_logarithm(scale: Fraction) -> None:
    assert DiscreteLaplace(1, scale).interval(0.95) == pytest.approx(float(scale) * math.log(20), rel=1e-6)


@LIGHT
@given(scale=st.fractions(min_value=Fraction(1, 4), max_value=8, max_denominator=10))
def test_the_variance_is_that_of_the_law(scale: Fraction) -> None:
    mechanism = DiscreteLaplace(1, scale)
    q = math.exp(-1 / scale)
    assert mechanism.stddev() ** 2 == pytest.approx(2 * q / (1 - q) ** 2, rel=1e-12)
    summed = sum(2 * z * z * mechanism.mass(z)[0] for z in range(1, 400))
    assert mechanism.stddev() ** 2 == pytest.approx(float(summed), rel=1e-12)


def test_the_variance_tends_to_two_scales_squared() -> None:
    assert DiscreteLaplace(1, Fraction(10**6)).stddev() ** 2 == pytest.approx(2e12, rel=1e-9)
    z = DiscreteLaplace(1, Fraction(1000)).noise(10**6, SeededRng(1)).astype(float)
    assert np.var(z) == pytest.approx(2e6, rel=0.02)  # nine standard errors
    assert DiscreteLaplace(1, Fraction(1, 10**4)).stddev() == 0


@LIGHT
@given(
    sensitivity=st.fractions(min_value=Fraction(1, 1000), max_value=10**6),
    epsilon=st.fractions(min_value=Fraction(1, 1000), max_value=100),
)
def test_calibrated_noise_costs_at_most_its_target_and_hardly_less(sensitivity: Fraction, epsilon: Fraction) -> None:
    spent = DiscreteLaplace.for_epsilon(sensitivity, epsilon).loss().epsilon
    assert epsilon * (1 - Fraction(1, 2**30)) <= spent <= epsilon


def test_calibration_is_exact_for_ordinary_numbers() -> None:
    mechanism = DiscreteLaplace.for_epsilon(3, Fraction(1, 10))
    assert mechanism == DiscreteLaplace(3, Fraction(30))
    assert mechanism.loss() == PureLoss(Fraction(1, 10))


def test_low_bits_tell_no_more_than_epsilon() -> None:
    mechanism = DiscreteLaplace(1, Fraction(1))
    sides = [mechanism.draws((exact,), 10**6, Rng()) for exact in (0, 1)]
    events = [(bits, r) for bits in (1, 2, 3, 4) for r in range(1 << bits)]
    counts = [[int(np.count_nonzero(side & ((1 << b) - 1) == r)) for b, r in events] for side in sides]
    assert 0 < evidence_from_counts(*counts, trials=(10**6, 10**6)).epsilon <= 1  # false alarm 1e-9


def test_a_release_keeps_its_length_and_its_type() -> None:
    exact = np.array([5, -3, 2**62, -(2**62)], dtype=np.int64)
    released = DiscreteLaplace(1, Fraction(3)).sample(exact, Rng())
    assert released.dtype == np.int64
    assert len(released) == 4
    assert np.all(np.abs(released - np.clip(exact, -(2**62) + 1, 2**62 - 1)) < 1000)


def test_coverage_is_met_on_samples() -> None:
    mechanism = DiscreteLaplace(1, Fraction(7, 3))
    half = mechanism.interval(0.9)
    covered = np.count_nonzero(np.abs(mechanism.noise(10**6, SeededRng(2))) <= half) / 1e6
    assert covered == pytest.approx(float(1 - mechanism.tail(half)[0]), abs=0.003)
    assert covered >= 0.898


def test_noise_beyond_64_bits_is_refused_with_advice() -> None:
    assert DiscreteLaplace.for_epsilon(1, Fraction(1, 2**46)).scale == 2**46
    with pytest.raises(Refused) as refusal:
        DiscreteLaplace.for_epsilon(1, Fraction(1, 2**46 + 1))
    assert refusal.value.code == "noise_too_large"


def test_impossible_parameters_are_refused() -> None:
    for build in (
        lambda: DiscreteLaplace(-1, Fraction(1)),
        lambda: DiscreteLaplace(1, Fraction(0)),
        lambda: DiscreteLaplace.for_epsilon(0, Fraction(1)),
        lambda: DiscreteLaplace.for_epsilon(1, Fraction(0)),
        lambda: DiscreteLaplace(1, Fraction(1)).tail(-1),
    ):
        with pytest.raises(InvariantBroken):
            build()
