"""Rounded logarithms and exponentials lie on the stated side, and close."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.accounting.directed import digits_down, digits_up, exp_down, exp_up, ln_down, ln_up
from obverse.core.errors import InvariantBroken

positive = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


def precisely(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


@given(positive)
def test_logarithms_enclose_the_truth(number):
    with mpmath.workdps(80):
        truth = mpmath.log(precisely(number))
        assert precisely(ln_down(number)) <= truth <= precisely(ln_up(number))
        assert precisely(ln_up(number) - ln_down(number)) < mpmath.mpf(10) ** -35


@given(st.fractions(min_value=-1000, max_value=1000))
def test_exponentials_enclose_the_truth(number):
    with mpmath.workdps(80):
        truth = mpmath.exp(precisely(number))
        assert precisely(exp_down(number)) <= truth <= precisely(exp_up(number))
        assert precisely(exp_up(number) / exp_down(number)) - 1 < mpmath.mpf(10) ** -35


@given(st.fractions(min_value=-100, max_value=100), st.integers(1, 30))
def test_digits_are_rounded_to_the_stated_side(number, digits):
    assert digits_down(number, digits) <= number <= digits_up(number, digits)
    assert digits_up(number, digits) - digits_down(number, digits) <= abs(number) * Fraction(10) ** (1 - digits)


def test_a_logarithm_of_nothing_and_an_absurd_exponent_are_defects():
    with pytest.raises(InvariantBroken):
        ln_up(Fraction(0))
    with pytest.raises(InvariantBroken):
        exp_up(Fraction(10**9))
