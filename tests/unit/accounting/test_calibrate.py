"""Searches return what serves, and nothing much smaller serves."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.accounting.budget import count
from obverse.accounting.calibrate import EPSILON_LEAST, least_epsilon, least_noise
from obverse.core.errors import Refused
from obverse.core.ledger import Spent
from obverse.core.loss import ApproxLoss, PureLoss, ZcdpLoss

positive = st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=1000)


@given(positive, positive)
def test_the_least_laplace_scale_is_found_exactly(sensitivity, epsilon):
    scale = least_noise(Spent("pure", epsilon), lambda s: PureLoss(sensitivity / s))
    assert sensitivity / scale <= epsilon
    assert sensitivity / scale >= epsilon * (1 - Fraction(1, 2**29))


def test_a_short_fraction_is_preferred():
    assert least_noise(Spent("pure", Fraction(1, 10)), lambda s: PureLoss(1 / s)) == 10
    assert least_noise(Spent("pure", Fraction(3, 7)), lambda s: PureLoss(2 / s), start=Fraction(1, 1000)) == Fraction(14, 3)


@given(positive, positive)
def test_the_least_gaussian_scale_meets_its_rho_and_nearly_uses_it_up(sensitivity, rho):
    target = Spent("zcdp", rho)
    scale = least_noise(target, lambda s: ZcdpLoss(sensitivity**2 / (2 * s**2)))
    charge = count(ZcdpLoss(sensitivity**2 / (2 * scale**2)), "zcdp")
    assert rho * (1 - Fraction(1, 2**27)) <= charge.amount <= rho


def test_a_part_that_does_not_shrink_with_noise_is_refused():
    with pytest.raises(Refused) as caught:
        least_noise(Spent("pure", Fraction(1)), lambda s: ApproxLoss(1 / s, Fraction(1, 100)))
    assert caught.value.code == "loss_out_of_reach"


def test_a_loss_that_is_always_within_the_target_gives_next_to_no_noise():
    assert least_noise(Spent("pure", Fraction(1)), lambda s: PureLoss(Fraction(0))) < Fraction(1, 2**200)


@given(st.integers(1, 10**6), st.integers(1, 300))
def test_the_least_epsilon_meets_the_error_and_one_part_in_ten_thousand_less_does_not(width, sensitivity):
    def half_width(epsilon: Fraction) -> Fraction:
        return 3 * sensitivity / epsilon

    epsilon = least_epsilon(Fraction(width), half_width)
    assert half_width(epsilon) <= width
    assert epsilon == EPSILON_LEAST or half_width(epsilon * (1 - Fraction(1, 10**4))) > width


def test_steps_of_integer_noise_are_met_too():
    epsilon = least_epsilon(Fraction(50), lambda e: float(-(-Fraction(3) // e)))
    assert epsilon == Fraction(6, 100)


def test_an_error_that_no_epsilon_reaches_is_refused():
    with pytest.raises(Refused) as caught:
        least_epsilon(Fraction(1, 2), lambda epsilon: Fraction(1))
    assert caught.value.code == "error_out_of_reach"


def test_a_wish_for_no_error_is_refused():
    with pytest.raises(Refused) as caught:
        least_epsilon(Fraction(0), lambda epsilon: 1 / epsilon)
    assert caught.value.code == "bad_parameter"
