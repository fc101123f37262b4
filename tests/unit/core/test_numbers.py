"""Directed rounding never favours us, and decimal text is read as it stands."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken, Refused
from obverse.core.numbers import SQRT_BITS, down, exact, log2_ceil, plain, sqrt_down, sqrt_up, up

numbers = st.fractions(min_value=-(10**12), max_value=10**12, max_denominator=10**15)
positive = st.one_of(
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**12, max_denominator=10**15),
    st.floats(min_value=1e-300, max_value=1e300).map(Fraction),
    st.decimals(min_value="1e-12", max_value="1e12", allow_nan=False, places=12).map(Fraction),
)


@given(numbers)
def test_up_and_down_are_the_nearest_doubles_on_either_side(number: Fraction) -> None:
    assert Fraction(down(number)) <= number <= Fraction(up(number))
    assert up(number) == down(number) or math.nextafter(down(number), math.inf) == up(number)


@given(st.fractions(min_value=0, max_value=10**12, max_denominator=10**9))
def test_square_roots_enclose_the_root_tightly(number: Fraction) -> None:
    low = sqrt_down(number)
    high = sqrt_up(number)
    assert low * low <= number <= high * high
    assert high - low <= Fraction(1, 1 << SQRT_BITS)


@given(st.integers(0, 10**9))
def test_square_roots_of_squares_are_exact(root: int) -> None:
    assert sqrt_up(root * root) == sqrt_down(root * root) == root


@given(positive)
def test_log2_ceil_is_the_least_power_of_two_that_is_not_below(number: Fraction) -> None:
    k = log2_ceil(number)
    assert Fraction(2) ** (k - 1) < number <= Fraction(2) ** k


@given(positive)
@settings(max_examples=300)
def test_a_number_for_people_is_never_below_the_number_and_close_to_it(number: Fraction) -> None:
    shown = Fraction(plain(number))
    assert number <= shown <= number * (1 + Fraction(1, 10**5))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value="-1e9", max_value="1e9"))
def test_decimal_text_is_exact(number: Decimal) -> None:
    assert exact(str(number)) == Fraction(number)
    assert exact(number) == Fraction(number)


def test_a_tenth_is_a_tenth() -> None:
    assert exact(0.1) == exact("0.1") == Fraction(1, 10)
    assert 10 * exact(0.1) == 1
    assert plain(Fraction(1, 10)) == "0.1"
    assert plain(Fraction(1, 3)) == "0.333334"
    assert plain(Fraction(0)) == "0"


@pytest.mark.parametrize("wrong", [True, "abc", "", "nan", "inf", float("nan"), float("-inf"), "1e999", Decimal("nan")])
def test_what_is_no_finite_number_is_refused(wrong: object) -> None:
    with pytest.raises(Refused) as refused:
        exact(wrong)  # type: ignore[arg-type]
    assert refused.value.code == "bad_parameter"


def test_roots_of_negatives_and_logarithms_of_zero_are_defects() -> None:
    for broken in (lambda: sqrt_up(-1), lambda: sqrt_down(Fraction(-1, 3)), lambda: log2_ceil(0)):
        with pytest.raises(InvariantBroken):
            broken()
