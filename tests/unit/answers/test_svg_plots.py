from __future__ import annotations

from xml.etree import ElementTree

import pytest

from obverse.answers.svg import figure, squares


@pytest.mark.parametrize(("number", "shown"), [(-1.7e-13, "0"), (-0.0, "0"), (1234.5, "1,234"), (12.345, "12.3")])
def test_a_number_beside_a_bar_has_three_digits_and_what_is_left_of_a_zero_is_zero(number: float, shown: str) -> None:
    assert figure(number) == shown


def test_short_names_of_columns_stand_upright_and_long_ones_are_turned() -> None:
    for names, turned in ((["F", "M"], False), (["a rather long name", "M"], True)):
        text = squares("age x sex", ["young", "old"], names, [[1.0, 2.0], [3.0, 4.0]], "note")
        ElementTree.fromstring(text)
        assert ("rotate" in text) is turned
