"""Searches return what serves, and nothing much smaller serves."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.accounting.calibrate import EPSILON_LEAST, least_epsilon
from obverse.core.errors import Refused


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
