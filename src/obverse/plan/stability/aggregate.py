"""How far one unit can move the cells of a measure: the theorems behind every noise scale.

Throughout, a unit's contribution to a cell is an integer in [a, b], mag = max(|a|, |b|), and 0 where it has no row.
"""

from __future__ import annotations

from fractions import Fraction

from obverse.core.errors import invariant
from obverse.core.numbers import sqrt_up
from obverse.core.sensitivity import Sensitivity
from obverse.core.units import Neighbours


def one_cell(a: int, b: int, neighbours: Neighbours, *, always_present: bool) -> Sensitivity:
    """A single cell.

    Claim:   adding, removing or replacing a unit moves the cell by at most the returned amount.
    Proof:   the cell is a sum over units of values in [a, b] (or 0 for a unit without a row). Adding or removing one
             moves it by at most mag. Replacing moves it from x to y, both in [a, b] or 0: at most max(b - a, mag), and
             b - a when each unit surely has a row.
    Assumes: each unit's contribution was clamped to [a, b] upstream (Limit).
    """
    invariant(a <= b, "empty range of contributions")
    size = max(abs(a), abs(b))
    spread = b - a
    if neighbours is Neighbours.ADD_REMOVE:
        moved = Fraction(size)
    else:
        moved = Fraction(spread if always_present else max(spread, size))
    moved = max(moved, Fraction(1))
    return Sensitivity(1, moved, moved, moved)


def cells_of_one_row(a: int, b: int, cells: int, neighbours: Neighbours) -> Sensitivity:
    """Cells of which a unit reaches one at most.

    Claim:   the vector of cells moves by at most the returned norms.
    Proof:   adding or removing a unit moves one cell by at most mag. Replacing it may move one cell by at most
             max(b - a, mag), or empty one and fill another: two cells by mag each.
    Assumes: each unit has one row, its key one index, its value in [a, b] (Limit by ROW or ONE).
    """
    if cells == 1:
        return one_cell(a, b, neighbours, always_present=False)
    size = Fraction(max(abs(a), abs(b), 1))
    spread = Fraction(b - a)
    if neighbours is Neighbours.ADD_REMOVE:
        return Sensitivity(1, size, size, size)
    return Sensitivity(2, max(spread, 2 * size), max(spread, sqrt_up(2) * size), max(spread, size))


def weighted_cells(cap: int, cells: int, neighbours: Neighbours, *, signed: bool) -> Sensitivity:
    """Cells over which a unit's total weight is capped, however many it reaches.

    Claim:   the vector of cells moves by at most the returned norms.
    Proof:   a unit's contributions have absolute sum at most cap (integer weights: sum |q| w <= cap, rounded towards
             zero), so adding or removing it moves the vector by at most cap in L1, hence in L2 and Linf. Replacing
             subtracts one such vector and adds another: 2 cap in L1. Of two vectors without negative entries the
             difference has Linf <= cap and L2 <= sqrt(2) cap; of signed ones 2 cap.
    Assumes: weights were computed per unit from all its rows (Limit by WEIGHTED).
    """
    if cells == 1 and not signed:
        return one_cell(0, cap, neighbours, always_present=False)
    size = Fraction(max(cap, 1))
    if neighbours is Neighbours.ADD_REMOVE:
        return Sensitivity(cells, size, size, size)
    if signed:
        return Sensitivity(cells, 2 * size, 2 * size, 2 * size)
    return Sensitivity(cells, 2 * size, sqrt_up(2) * size, size)


def rows_apart(rows: int, a: int, b: int, cells: int, neighbours: Neighbours) -> Sensitivity:
    """Cells of which a unit reaches at most `rows`, each by one row.

    Claim:   the vector of cells moves by at most the returned norms.
    Proof:   adding or removing a unit moves at most n = min(rows, cells) cells by at most mag each. Replacing one moves
             at most 2 n: m of them, that both reach, by at most wide = max(b - a, mag), and 2 (n - m) by mag. So L1 is
             at most max(n wide, 2 n mag), the square of L2 at most max(n wide^2, 2 n mag^2), and Linf at most wide.
             Where rows are counted in part, by weights up to one that add up to at most `rows`, the norms are convex in
             the weights, so that they are largest where each row counts in full or not at all.
    Assumes: no two rows of a unit are in one cell, their values lie in [a, b], and their weights add up to `rows` at
             most.
    """
    size = Fraction(max(abs(a), abs(b), 1))
    several = min(rows, cells)
    if neighbours is Neighbours.ADD_REMOVE:
        return Sensitivity(several, several * size, sqrt_up(several) * size, size)
    wide = max(Fraction(b - a), size)
    squared = max(several * wide**2, 2 * several * size**2)
    return Sensitivity(min(2 * several, cells), max(several * wide, 2 * several * size), sqrt_up(squared), wide)
