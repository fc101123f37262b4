from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.catalog.parameters import delta, epsilon, positive
from obverse.core.errors import Refused


@given(st.decimals(min_value="1e-9", max_value=100, places=9))
def test_an_epsilon_is_exactly_its_decimal_text(number: Decimal) -> None:
    if number > 0:
        assert epsilon(number) == Fraction(str(number))
        assert epsilon(float(str(number))) == Fraction(repr(float(str(number))))


@pytest.mark.parametrize("number", [1, 0.1, Fraction(1, 3), Decimal("0.5"), 100])
def test_every_kind_of_number_may_be_handed_over(number: object) -> None:
    assert epsilon(number) > 0


@pytest.mark.parametrize(
    "number", [0, -1, float("nan"), float("inf"), 1e308, 5e-324, "1", True, [1], None, Decimal("nan"), 10**400, 100.1]
)
def test_an_epsilon_outside_its_range_is_refused(number: object) -> None:
    with pytest.raises(Refused, match="between 1e-9 and 100") as caught:
        epsilon(number)
    assert caught.value.code == "bad_parameter"


@pytest.mark.parametrize("number", [1, -0.0, Decimal("-0"), -1e-9, float("nan"), "0", False])
def test_a_delta_outside_its_range_is_refused(number: object) -> None:
    with pytest.raises(Refused, match="below 1") as caught:
        delta(number)
    assert "for example 1e-8" in caught.value.fix


def test_no_delta_is_a_delta_and_zero_is_not_positive() -> None:
    assert delta(0) == 0
    assert delta(0.0) == 0
    with pytest.raises(Refused, match="grid must be a number above 0"):
        positive(0, "grid")
