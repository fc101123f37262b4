"""The theorems behind every noise scale, against all small cases: claims hold, and are reached."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction

import pytest

from obverse.core.errors import InvariantBroken
from obverse.core.sensitivity import Sensitivity
from obverse.core.units import Neighbours
from obverse.plan.stability.aggregate import cells_of_one_row, one_cell, rows_apart, weighted_cells

BOTH = tuple(Neighbours)
RANGES = [(a, b) for a in range(-3, 4) for b in range(a, 4)]
Vector = tuple[int, ...]


def moves(units: Iterable[Vector], neighbours: Neighbours) -> set[Vector]:
    """All differences that one unit can make, if these are the vectors it can contribute."""
    units = list(units)
    zero = (0,) * len(units[0])
    pairs = ((zero, u) for u in units) if neighbours is Neighbours.ADD_REMOVE else itertools.product(units, repeat=2)
    return {tuple(x - y for x, y in zip(u, v)) for u, v in pairs}


def check(claim: Sensitivity, moved: set[Vector], tight: Fraction) -> None:
    """Every move is within the claim, and some move reaches the stated part of each norm."""
    norms = {
        "l0": (max(sum(x != 0 for x in m) for m in moved), Fraction(claim.l0)),
        "l1": (max(sum(map(abs, m)) for m in moved), claim.l1),
        "l2 squared": (max(sum(x * x for x in m) for m in moved), claim.l2**2),
        "linf": (max(max(map(abs, m)) for m in moved), claim.linf),
    }
    for name, (reached, claimed) in norms.items():
        assert reached <= claimed, name
        if name != "l0" and max(map(max, moved)) > 0:
            needed = tight**2 if name == "l2 squared" else tight
            assert reached >= needed * claimed * (1 - Fraction(1, 10**9)), name


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("sure", [False, True])
def test_one_cell_moves_by_what_is_claimed_and_no_less(neighbours: Neighbours, sure: bool) -> None:
    for a, b in RANGES:
        shares = [(x,) for x in range(a, b + 1)] + ([] if sure else [(0,)])
        claim = one_cell(a, b, neighbours, always_present=sure)
        check(claim, moves(shares, neighbours), Fraction(1))


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("cells", [1, 2, 3])
def test_a_unit_of_one_row_moves_cells_by_what_is_claimed_and_no_less(neighbours: Neighbours, cells: int) -> None:
    for a, b in RANGES:
        shares = {(0,) * cells} | {
            tuple(x if place == cell else 0 for place in range(cells)) for cell in range(cells) for x in range(a, b + 1)
        }
        check(cells_of_one_row(a, b, cells, neighbours), moves(shares, neighbours), Fraction(1))


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("signed", [False, True])
def test_a_weighted_unit_moves_cells_by_what_is_claimed_and_at_least_half(
    neighbours: Neighbours, cells: int, signed: bool
) -> None:
    for cap in (1, 2, 3):
        values = range(-cap if signed else 0, cap + 1)
        shares = [v for v in itertools.product(values, repeat=cells) if sum(map(abs, v)) <= cap]
        claim = weighted_cells(cap, cells, neighbours, signed=signed)
        check(claim, moves(shares, neighbours), Fraction(1) if cells > 1 or not signed else Fraction(1, 2))


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize(("rows", "cells"), [(1, 1), (1, 3), (2, 1), (2, 2), (2, 4), (3, 2)])
def test_rows_of_different_keys_move_cells_by_what_is_claimed_and_at_least_half(
    neighbours: Neighbours, rows: int, cells: int
) -> None:
    for a, b in [(0, 1), (0, 2), (1, 2), (-1, 2), (-2, 2), (-2, -1)]:
        values = range(min(a, 0), max(b, 0) + 1)  # in full, or less of it
        shares = [v for v in itertools.product(values, repeat=cells) if sum(x != 0 for x in v) <= rows]
        check(rows_apart(rows, a, b, cells, neighbours), moves(shares, neighbours), Fraction(1, 2))


def test_the_lectures_figures_follow() -> None:
    """A histogram over disjoint bins: 1 add-remove, 2 replace; total books 7; heights of a sure row: their spread."""
    assert cells_of_one_row(1, 1, 5, Neighbours.ADD_REMOVE).l1 == 1
    assert cells_of_one_row(1, 1, 5, Neighbours.REPLACE).l1 == 2
    assert one_cell(0, 7, Neighbours.ADD_REMOVE, always_present=False).l1 == 7
    assert one_cell(48, 96, Neighbours.REPLACE, always_present=True).l1 == 48
    assert one_cell(48, 96, Neighbours.REPLACE, always_present=False).l1 == 96


def test_an_empty_range_is_a_defect() -> None:
    with pytest.raises(InvariantBroken):
        one_cell(2, 1, Neighbours.ADD_REMOVE, always_present=False)
