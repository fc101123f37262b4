"""Leaves: numbers that rise, quantiles of them, and intervals that hold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken, Refused
from obverse.publish.quantiles.leaves import Leaves, held, inverted, isotonic

HALF = Fraction(1, 2)


def values(count: int) -> Leaves:
    ends = tuple(Fraction(n) for n in range(count))
    return Leaves(ends, ends, closed=True)


def bins(*edges: float) -> Leaves:
    ends = [Fraction(edge) for edge in edges]
    return Leaves(tuple(ends[:-1]), tuple(ends[1:]), closed=False)


numbers = st.lists(st.floats(-20, 20), min_size=2, max_size=30).map(np.array)


@settings(max_examples=200, deadline=None)
@given(numbers, st.integers(0, 2**32 - 1))
def test_what_rises_is_the_nearest_that_does(line: Any, seed: int) -> None:
    """Nearest in a convex cone: no other rising line has a smaller distance, and its part outside is at a right
    angle.
    """
    found = isotonic(line[None])[0]
    assert (np.diff(found) >= 0).all()
    assert found.min() >= 0
    others = np.sort(np.abs(np.random.default_rng(seed).normal(0, 10, (20, len(line)))), axis=1)
    assert (((others - line) ** 2).sum(axis=1) >= ((found - line) ** 2).sum() - 1e-9).all()
    assert abs(((line - found) * found).sum()) < 1e-6


@settings(max_examples=100, deadline=None)
@given(numbers)
def test_what_rises_already_stays(line: Any) -> None:
    rising = np.sort(np.abs(line))
    assert np.allclose(isotonic(rising[None])[0], rising)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=20).filter(any), st.fractions(Fraction(1, 50), Fraction(49, 50))
)
def test_the_quantile_of_values_is_the_first_that_enough_rows_do_not_exceed(counts: list[int], at: Fraction) -> None:
    rows = [value for value, count in enumerate(counts) for _ in range(count)]
    wanted = next(v for v in range(len(counts)) if Fraction(sum(row <= v for row in rows)) >= at * len(rows))
    exact = np.cumsum(counts).astype(float)
    if float(at) * len(rows) == at * len(rows):  # no rounding at a step
        assert inverted(exact, exact[-1], values(len(counts)), at) == wanted
    first, last = held(exact, np.zeros(len(exact)), at)
    assert first <= wanted <= last


def test_inside_a_bin_the_quantile_is_linear_and_without_rows_there_is_none() -> None:
    assert inverted(np.array([10.0, 30.0]), 30.0, bins(0, 10, 30), HALF) == 10 + 20 * 5 / 20
    assert inverted(np.array([0.0, 0.0]), 0.0, bins(0, 10, 30), HALF) is None
    assert inverted(np.array([0.0, 4.0, 4.0]), 4.0, bins(0, 1, 2, 3), HALF) == 1.5
    assert inverted(np.array([0.0, 4.0, 6.0]), 4.0, bins(0, 1, 2, 3), HALF) == 1.5
    assert inverted(np.array([0.0, 4.0]), -1.0, bins(0, 1, 2), HALF) is None
    assert inverted(np.array([0.0, 4.0]), 9.0, bins(0, 1, 2), HALF) == 2.0


def test_an_interval_widens_with_its_reach_and_ends_within_the_line() -> None:
    line = np.linspace(1, 100, 100)
    widths = []
    for reach in (0.0, 1.0, 3.0, 1000.0):
        first, last = held(line, np.full(100, reach), HALF)
        assert 0 <= first <= 49 <= last <= 99
        widths.append(last - first)
    assert widths == sorted(widths)
    assert widths[-1] == 99


def test_leaves_tell_their_names_and_which_of_them_a_range_is_made_of() -> None:
    assert bins(0, 0.5, 2).names() == ("0 to below 0.5", "0.5 to 2")
    assert values(3).names() == ("0", "1", "2")
    assert values(9).between(Fraction(2), Fraction(7)) == (2, 7)
    assert bins(0, 10, 30, 90).between(Fraction(10), Fraction(90)) == (1, 2)


@pytest.mark.parametrize("ends", [(5, 30), (10, 11), (30, 10), (-1, 30)])
def test_a_range_that_cuts_a_leaf_or_ends_before_it_begins_is_refused(ends: tuple[int, int]) -> None:
    with pytest.raises(Refused) as refused:
        bins(0, 10, 30, 90).between(Fraction(ends[0]), Fraction(ends[1]))
    assert refused.value.code == "bad_range"


def test_leaves_that_fall_or_overlap_are_none() -> None:
    for lows, highs in (((0,), (1,)), ((1, 0), (1, 1)), ((0, 1), (2, 2)), ((0, 2), (1, 1))):
        with pytest.raises(InvariantBroken):
            Leaves(tuple(map(Fraction, lows)), tuple(map(Fraction, highs)), closed=True)
