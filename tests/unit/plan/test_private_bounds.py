"""Levels of units' own values, and the bounds that are chosen from how many are at each."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.bounds import Interval
from obverse.core.types import Type, Value
from obverse.plan.expressions import ColumnFacts, Expr, Literal, Ref
from obverse.plan.functions import meaning
from obverse.plan.private_bounds import LEVELS, Scale, Search, chosen, scale_of


def column(kind: Type, lo: float, hi: float) -> Ref:
    return Ref(
        "x",
        ColumnFacts(kind, True, Interval(Fraction(lo), Fraction(hi)), Fraction(1) if kind is Type.INTEGER else None),
    )


def scale(kind: Type, lo: float, hi: float) -> Scale:
    return scale_of(column(kind, lo, hi), Interval(Fraction(lo), Fraction(hi)))


def evaluated(expr: Expr, x: Value) -> Value:
    match expr:
        case Ref():
            return x
        case Literal(value):
            return value
        case _:
            return meaning(expr, [evaluated(arg, x) for arg in expr.args])


SCALES = [
    (Type.INTEGER, 0, 1),
    (Type.INTEGER, 0, 5),
    (Type.INTEGER, -1000, 7),
    (Type.DOUBLE, 0, 1),
    (Type.DOUBLE, -2.5, 1e12),
    (Type.DOUBLE, 0, 1e-9),
    (Type.INTEGER, -(2**61), 2**61),
]


@pytest.mark.parametrize(("kind", "lo", "hi"), SCALES)
def test_a_scale_reaches_from_the_smallest_to_the_largest(kind: Type, lo: float, hi: float) -> None:
    made = scale(kind, lo, hi)
    assert list(made.caps) == sorted(set(made.caps))
    assert made.caps[-1] >= max(abs(lo), abs(hi))
    assert len(made.caps) <= LEVELS + 1
    assert made.signed == (lo < 0)
    assert list(made.ends) == sorted(made.ends)
    assert all(isinstance(end, int) for end in made.ends) == (kind is Type.INTEGER)


@pytest.mark.parametrize(("kind", "lo", "hi"), SCALES)
@settings(deadline=None, max_examples=30)
@given(share=st.floats(0, 1), level=st.integers(0, LEVELS))
def test_a_value_lies_at_its_level(kind: Type, lo: float, hi: float, share: float, level: int) -> None:
    made = scale(kind, lo, hi)
    x = column(kind, lo, hi)
    place = made.place(x)
    near = made.caps[level % len(made.caps)]
    for value in (lo + share * (hi - lo), near, -near, near * share):
        value = min(max(value, lo), hi)
        value = int(value) if kind is Type.INTEGER else float(value)
        found = evaluated(place, value)
        assert isinstance(found, int)
        assert found in made.levels
        assert abs(value) <= made.caps[abs(found)]
        if found:
            assert abs(value) > made.caps[abs(found) - 1]
            assert (value < 0) == (found < 0)
    assert evaluated(place, None) == 0


def search(made: Scale, *, centred: bool = False) -> Search:
    return Search("s", "SUM(x)", column(Type.DOUBLE, 0, 1), made, centred)


def at(made: Scale, **units: float) -> np.ndarray:
    found = np.zeros(len(made.levels))
    for level, count in units.items():
        found[made.levels.index(int(level.removeprefix("n").replace("_", "-")))] = count
    return found


WIDE = Scale(tuple(2.0**n for n in range(11)), signed=True)
PLUS = Scale((1, 2, 4, 8, 16, 32), signed=False)


def test_what_many_have_is_kept_and_what_noise_makes_is_not() -> None:
    counts = at(WIDE, n3=10_000, n4=9_000, n9=70.0)
    assert chosen(search(WIDE), counts, 20.0, 20.0) == (0, 16.0)
    assert chosen(search(WIDE), counts, 0.01, 20.0) == (0, 512.0)


def test_a_level_beside_a_full_one_is_believed_sooner() -> None:
    assert chosen(search(WIDE, centred=True), at(WIDE, n5=60.0, n6=200.0), 20.0, 0.1) == (16.0, 64.0)
    assert chosen(search(WIDE, centred=True), at(WIDE, n4=60.0, n6=200.0), 20.0, 0.1) == (32.0, 64.0)
    assert chosen(search(WIDE, centred=True), at(WIDE, n5=30.0, n6=200.0), 20.0, 0.1) == (32.0, 64.0)


def test_noise_that_costs_more_than_clipping_narrows_them() -> None:
    counts = at(WIDE, n2=10_000, n10=100.0)
    assert chosen(search(WIDE), counts, 1.0, 1.0) == (0, 1024.0)
    assert chosen(search(WIDE), counts, 1.0, 1_000.0) == (0, 4.0)
    # no more than a quarter is clipped
    assert chosen(search(WIDE), at(WIDE, n2=100.0, n6=100.0), 1.0, 1e9) == (0, 64.0)


def test_where_nobody_is_seen_bounds_stay_wide() -> None:
    assert chosen(search(WIDE), at(WIDE, n3=40.0), 10.0, 20.0) == (-1024.0, 1024.0)
    assert chosen(search(WIDE, centred=True), at(WIDE), 10.0, 20.0) == (-1024.0, 1024.0)
    assert chosen(search(PLUS), at(PLUS), 10.0, 20.0) == (0, 32)


def test_sums_reach_to_both_sides_and_averages_only_as_far_as_values_go() -> None:
    counts = at(WIDE, n5=1_000, n6=1_000)
    assert chosen(search(WIDE), counts, 1.0, 0.1) == (0, 64.0)
    assert chosen(search(WIDE, centred=True), counts, 1.0, 0.1) == (16.0, 64.0)
    below = at(WIDE, _5=1_000, _6=1_000)
    assert chosen(search(WIDE), below, 1.0, 0.1) == (-64.0, 0)
    assert chosen(search(WIDE, centred=True), below, 1.0, 0.1) == (-64.0, -16.0)
    assert chosen(search(WIDE), at(WIDE, n0=1_000), 1.0, 0.1) == (-1.0, 1.0)


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=21, max_size=21), st.floats(0, 1e3), st.floats(0, 1e9), st.booleans())
def test_any_counts_give_bounds(counts: list[float], deviation: float, noise: float, centred: bool) -> None:
    low, high = chosen(search(WIDE, centred=centred), np.array(counts), deviation, noise)
    assert low < high
    assert {low, high} <= set(WIDE.ends)


def test_without_noise_nothing_is_clipped() -> None:
    for level in PLUS.levels:
        low, high = chosen(search(PLUS), at(PLUS, **{f"n{level}": 1.0}), 0.0, 0.0)
        assert low == 0
        assert high >= PLUS.caps[level]


def test_ends_are_all_that_a_bound_can_be() -> None:
    assert PLUS.ends == (0, 1, 2, 4, 8, 16, 32)
    assert all(a == -b for a, b in zip(WIDE.ends, reversed(WIDE.ends)))
    assert all(a < b for a, b in itertools.pairwise(WIDE.ends))
