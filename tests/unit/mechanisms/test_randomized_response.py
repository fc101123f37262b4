"""Randomized response: the coin game of the textbooks, exact."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken
from obverse.core.rng import Rng
from obverse.mechanisms import RandomizedResponse
from obverse.mechanisms.enclosures import exp_plus
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import fits

LIGHT = settings(deadline=None, max_examples=40)


def test_two_fair_coins_cost_ln_3() -> None:
    epsilon = RandomizedResponse.two_coins().loss().epsilon
    assert exp_plus(epsilon)[0] >= 3
    assert float(epsilon) == pytest.approx(math.log(3), abs=1e-13)


@LIGHT
@given(categories=st.integers(2, 50), truth=st.fractions(min_value=Fraction(1, 2), max_value=Fraction(99, 100)))
def test_the_stated_loss_is_at_least_the_log_of_the_ratio(categories: int, truth: Fraction) -> None:
    mechanism = RandomizedResponse(categories, truth)
    ratio = mechanism.probability((0,), 0)[1] / mechanism.probability((1,), 0)[0]
    assert exp_plus(mechanism.loss().epsilon)[1] >= ratio
    assert sum(mechanism.probability((0,), i)[0] for i in range(categories)) == 1


@LIGHT
@given(categories=st.integers(2, 50), epsilon=st.fractions(min_value=Fraction(1, 100), max_value=8))
def test_calibrated_noise_costs_at_most_its_target_and_hardly_less(categories: int, epsilon: Fraction) -> None:
    mechanism = RandomizedResponse.for_epsilon(categories, epsilon)
    assert float(epsilon) - 1e-6 <= float(mechanism.loss().epsilon)
    assert mechanism.loss().epsilon <= epsilon


@pytest.mark.parametrize(("categories", "truth"), [(2, Fraction(3, 4)), (3, Fraction(1, 3)), (5, Fraction(10, 13))])
def test_reports_have_the_law(categories: int, truth: Fraction) -> None:
    mechanism = RandomizedResponse(categories, truth)
    law = [float(mechanism.probability((1,), i)[0]) for i in range(categories)]
    assert fits(mechanism.draws((1,), 500_000, SeededRng(1)), 0, law)


def test_the_textbook_estimate_is_unbiased() -> None:
    people = np.array([1] * 30_000 + [0] * 70_000)
    yes = int(RandomizedResponse.two_coins().sample(people, SeededRng(2)).sum())
    assert 2 * (yes - 25_000) == pytest.approx(30_000, abs=2000)  # seven standard errors


def test_strangers_among_the_categories_are_refused() -> None:
    for exact in (np.array([2]), np.array([-1]), np.array([0.0])):
        with pytest.raises(InvariantBroken):
            RandomizedResponse.two_coins().sample(exact, Rng())


def test_impossible_parameters_are_refused() -> None:
    for call in (
        lambda: RandomizedResponse(1, Fraction(1)),
        lambda: RandomizedResponse(2, Fraction(1)),
        lambda: RandomizedResponse(2, Fraction(1, 3)),
        lambda: RandomizedResponse.for_epsilon(2, Fraction(0)),
    ):
        with pytest.raises(InvariantBroken):
            call()
