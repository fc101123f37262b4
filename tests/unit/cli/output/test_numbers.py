from __future__ import annotations

import datetime as dt
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.cli.output.terminal import about, cell, exactly, percent

REACHES = st.floats(min_value=1e-3, max_value=1e9)


def ends(text: str) -> tuple[float, float]:
    """The interval that a reader takes from the text."""
    numbers = [float(part.replace(",", "")) for part in re.findall(r"-?[\d,]+(?:\.\d+)?(?:e[+-]?\d+)?", text)]
    if "±" in text:
        return numbers[0] - numbers[1], numbers[0] + numbers[1]
    return (numbers[1], numbers[2]) if "(" in text else (numbers[0], numbers[0])


@given(st.floats(min_value=-1e9, max_value=1e9), REACHES, REACHES)
def test_rounding_only_widens_an_interval(value: float, left: float, right: float) -> None:
    low = value - left
    high = value + right
    shown_low, shown_high = ends(cell(value, (low, high)))
    slack = 1e-9 * (abs(value) + left + right)
    assert shown_low <= low + slack
    assert shown_high >= high - slack
    assert shown_high - shown_low <= 1.2 * (high - low) + slack


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**9))
def test_whole_numbers_with_narrow_intervals_are_exact(value: int, reach: int) -> None:
    low, high = ends(cell(value, (value - reach, value + reach)))
    assert low <= value - reach
    assert high >= value + reach
    if reach < 1000:
        assert (low, high) == (value - reach, value + reach)


@pytest.mark.parametrize(
    ("value", "bar", "text"),
    [
        (12345, (12255, 12435), "12,345 ± 90"),
        (9534, (8335, 10733), "9,530 ± 1,210"),
        (0.0, (0.0, 500000.0), "0 (0 to 500,000)"),
        (50.302, (49.18, 51.42), "50.30 ± 1.13"),
        (5, (5, 5), "5"),
        (2015, None, "2015"),
        (None, None, "NULL"),
        (True, None, "true"),
        (dt.date(2024, 5, 1), None, "2024-05-01"),
        (dt.datetime(2024, 5, 1, 3), None, "2024-05-01 03:00:00"),
        ("F", None, "F"),
    ],
)
def test_a_cell_reads_as_people_write_it(value: object, bar: tuple[float, float] | None, text: str) -> None:
    assert cell(value, bar) == text  # type: ignore[arg-type]


def test_announced_widths_are_rounded_up() -> None:
    assert [about(x) for x in (598.99, 1198.2, 0.0123, 0.0)] == ["600", "1,200", "0.0123", "0"]
    assert (percent(0.025), percent(1.0), exactly(3.5)) == ("2.5 %", "100 %", "3.5")
