"""Bounds hold values; Unbounded is on top and is no infinity. (The lattice's laws:
tests/conformance/test_functions.py.)
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.core.bounds import UNBOUNDED, Categories, Interval, contains, hull, interval, join
from obverse.core.errors import InvariantBroken

numbers = st.fractions(min_value=-1000, max_value=1000, max_denominator=100)


@given(numbers, numbers, numbers)
def test_an_interval_holds_what_lies_between_its_ends_and_its_figures_follow(
    a: Fraction, b: Fraction, x: Fraction
) -> None:
    made = Interval(min(a, b), max(a, b))
    assert contains(made, float(x)) == (made.lo <= Fraction(float(x)) <= made.hi)
    assert made.magnitude == max(abs(a), abs(b))
    assert made.spread == abs(a - b)
    assert made.lo <= made.middle <= made.hi


@given(st.lists(st.integers(-50, 50), min_size=1, unique=True))
def test_a_hull_holds_every_listed_number(values: list[int]) -> None:
    around = hull(Categories(tuple(values)))
    assert around == Interval(Fraction(min(values)), Fraction(max(values)))


def test_nothing_is_known_of_texts_as_numbers() -> None:
    assert hull(Categories(("a", "b"))) is None
    assert hull(Categories((True, False))) is None
    assert hull(UNBOUNDED) is None
    assert join(interval(0, 1), Categories(("a",))) == UNBOUNDED


def test_an_empty_list_joins_as_nothing() -> None:
    for other in (interval(1, 2), Categories(("a",)), UNBOUNDED):
        assert join(Categories(()), other) == join(other, Categories(())) == other


def test_a_list_keeps_its_public_order_in_a_join() -> None:
    assert join(Categories(("b", "a")), Categories(("c", "a"))) == Categories(("b", "a", "c"))


def test_bounds_that_hold_nothing_sensible_cannot_be_made() -> None:
    for broken in (
        lambda: interval(2, 1),
        lambda: Interval(0.5, Fraction(1)),  # type: ignore[arg-type]
        lambda: Categories((1, 1)),
        lambda: Categories((None, 1)),
    ):
        with pytest.raises(InvariantBroken):
            broken()
