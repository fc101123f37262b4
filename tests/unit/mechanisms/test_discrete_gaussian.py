"""Discrete Gaussian: the exact law, its loss, its error bars."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.attack import evidence_from_counts
from obverse.core.errors import InvariantBroken, Refused
from obverse.core.loss import ZcdpLoss
from obverse.core.rng import Rng
from obverse.mechanisms import DiscreteGaussian
from obverse.mechanisms.discrete_gaussian import SUMMED_MAX
from obverse.testing.noiseless import SeededRng

LIGHT = settings(deadline=None, max_examples=40)
VARIANCES = st.fractions(min_value=Fraction(1, 20), max_value=40, max_denominator=50)
LEVELS = st.sampled_from([0.1, 0.5, 0.9, 0.95, 0.999999])


def build(sigma_squared: Fraction | int) -> DiscreteGaussian:
    return DiscreteGaussian(Fraction(1), Fraction(sigma_squared))


@LIGHT
@given(sigma_squared=VARIANCES)
def test_probabilities_add_up_to_one(sigma_squared: Fraction) -> None:
    mechanism = build(sigma_squared)
    masses = [mechanism.mass(z) for z in range(-110, 111)]
    assert sum((low for low, _ in masses), Fraction(0)) <= 1
    assert float(sum((high for _, high in masses), Fraction(0))) == pytest.approx(1, abs=1e-30)


def test_both_ways_to_normalize_agree() -> None:
    just_below = build(Fraction(16) - Fraction(1, 10**12))
    from_here = build(16)
    assert float(just_below.mass(0)[0] / from_here.mass(0)[0]) == pytest.approx(1, abs=1e-12)


@LIGHT
@given(sigma_squared=VARIANCES, level=LEVELS)
def test_an_interval_covers_and_is_the_least(sigma_squared: Fraction, level: float) -> None:
    mechanism = build(sigma_squared)
    half = mechanism.interval(level)
    missed = 1 - Fraction(str(level))
    assert 1 - sum((mechanism.mass(z)[0] for z in range(-half, half + 1)), Fraction(0)) <= missed
    tighter = 1 - sum((mechanism.mass(z)[1] for z in range(1 - half, half)), Fraction(0))
    assert half == 0 or tighter > missed * (1 - Fraction(1, 2**30))


@LIGHT
@given(level=LEVELS)
def test_intervals_of_large_variances_are_bounded_within_one_step(level: float) -> None:
    summed = build(SUMMED_MAX)
    bounded = build(SUMMED_MAX + Fraction(1, 1000))
    assert summed.interval(level) <= bounded.interval(level) <= summed.interval(level) + 1


@pytest.mark.parametrize("sigma", [2**20, 2**45])
def test_an_interval_of_a_large_scale_is_that_of_the_normal(sigma: int) -> None:
    assert build(Fraction(sigma) ** 2).interval(0.95) == pytest.approx(1.959964 * sigma, rel=2e-6)


@LIGHT
@given(sigma_squared=st.fractions(min_value=Fraction(1, 4), max_value=20, max_denominator=10))
def test_the_variance_is_that_of_the_law_and_at_most_sigma_squared(sigma_squared: Fraction) -> None:
    mechanism = build(sigma_squared)
    summed = float(sum(2 * z * z * mechanism.mass(z)[0] for z in range(1, 120)))
    assert mechanism.stddev() ** 2 == pytest.approx(summed, rel=1e-10)
    assert mechanism.stddev() ** 2 <= sigma_squared * (1 + 1e-15)


@LIGHT
@given(
    sensitivity_squared=st.fractions(min_value=Fraction(1, 1000), max_value=10**6),
    rho=st.fractions(min_value=Fraction(1, 10**6), max_value=100),
)
def test_calibrated_noise_costs_at_most_its_target_and_hardly_less(
    sensitivity_squared: Fraction, rho: Fraction
) -> None:
    spent = DiscreteGaussian.for_rho(sensitivity_squared, rho).loss().rho
    assert rho * (1 - Fraction(1, 2**60)) <= spent <= rho


def test_calibration_is_exact_for_ordinary_numbers() -> None:
    mechanism = DiscreteGaussian.for_rho(Fraction(4), Fraction(1, 50))
    assert mechanism == DiscreteGaussian(Fraction(4), Fraction(100))
    assert mechanism.loss() == ZcdpLoss(Fraction(1, 50))


def test_low_bits_tell_no_more_than_zcdp_allows() -> None:
    mechanism = build(1)
    delta = 1e-6
    sides = [mechanism.draws((exact,), 10**6, Rng()) for exact in (0, 1)]
    events = [(bits, r) for bits in (1, 2, 3, 4) for r in range(1 << bits)]
    counts = [[int(np.count_nonzero(side & ((1 << b) - 1) == r)) for b, r in events] for side in sides]
    found = evidence_from_counts(*counts, trials=(10**6, 10**6), delta=delta)
    assert found.epsilon <= 0.5 + 2 * math.sqrt(0.5 * math.log(1 / delta))  # false alarm 1e-9


def test_coverage_is_met_on_samples() -> None:
    mechanism = build(10)
    half = mechanism.interval(0.9)
    covered = np.count_nonzero(np.abs(mechanism.noise(10**6, SeededRng(2))) <= half) / 1e6
    assert covered == pytest.approx(float(1 - mechanism.tail(half)[0]), abs=0.003)


def test_noise_beyond_64_bits_is_refused_with_advice() -> None:
    assert DiscreteGaussian.for_rho(Fraction(1), Fraction(1, 2**92)).sigma_squared == 2**91
    with pytest.raises(Refused) as refusal:
        DiscreteGaussian.for_rho(Fraction(1), Fraction(1, 2**93))
    assert refusal.value.code == "noise_too_large"


def test_impossible_parameters_are_refused() -> None:
    for impossible in (
        lambda: DiscreteGaussian(Fraction(-1), Fraction(1)),
        lambda: build(0),
        lambda: DiscreteGaussian.for_rho(Fraction(0), Fraction(1)),
        lambda: DiscreteGaussian.for_rho(Fraction(1), Fraction(0)),
        lambda: build(1).tail(-1),
    ):
        with pytest.raises(InvariantBroken):
            impossible()
