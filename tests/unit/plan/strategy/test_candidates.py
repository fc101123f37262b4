"""Scores of tables that lie far from public ones: how far one unit moves them, by enumeration."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.core.bounds import Interval
from obverse.core.errors import InvariantBroken
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.plan.expressions import ColumnFacts, Ref
from obverse.plan.relation import Cells, Key
from obverse.plan.strategy.candidates import KERNELS, Distances, Far
from obverse.plan.strategy.matrix import RESULT_MAX, Block, Kept, Linear, Merged, Summed

SIZES = (2, 3, 2)
SETS = ((0, 1), (0, 2), (1, 2))


def cells() -> Cells:
    keys = []
    for n, size in enumerate(SIZES):
        facts = ColumnFacts(Type.INTEGER, False, Interval(Fraction(0), Fraction(size - 1)), Fraction(1))
        keys.append(Key(f"k{n}", Ref(f"k{n}", facts), tuple(range(size)), null_cell=False))
    return Cells(tuple(keys), SETS)


def block(of: int, *maps: Linear) -> Block:
    return Block("", of, maps, Fraction(1))


def far(made: Block, near: int = 0, less: int = 0, times: int = 1) -> Far:
    return Far(made, np.full(made.entries, near, dtype=np.int64), less, times)


def counted(rows: Any) -> Any:
    """Counts of all sets' cells; a row is its cell and its weight."""
    found = []
    for one in SETS:
        table = np.zeros([SIZES[i] for i in one], dtype=np.int64)
        for cell, weight in rows:
            table[tuple(cell[i] for i in one)] += weight
        found.append(table.reshape(-1))
    return np.concatenate(found)


KERNEL = Distances(
    (
        far(block(0, Kept(2), Kept(3)), 1, 5),
        far(block(1, Kept(2), Kept(2)), 2, times=3),
        far(block(2, Merged(np.array([0, 1, 1]), 2), Summed(2))),
    )
)
CELLS = list(itertools.product(*(range(n) for n in SIZES)))
UNITS: dict[int, list[list[tuple[Any, int]]]] = {
    1: [[(cell, 1)] for cell in CELLS],
    # rows that weigh up to three together
    3: [[(a, 1), (b, 2)] for a in CELLS for b in CELLS] + [[(a, 2)] for a in CELLS],
}


@pytest.mark.parametrize("weight", [1, 3])
@pytest.mark.parametrize("neighbours", Neighbours)
def test_no_unit_moves_a_score_by_more_than_the_claim_and_some_unit_by_all_of_it(
    neighbours: Neighbours, weight: int
) -> None:
    """All units, over several databases of others; exact numbers."""
    others = [[], [((0, 0, 0), 5)], [(cell, n) for n, cell in enumerate(CELLS)]]
    most = 0
    for rest in others:
        with_unit = [KERNEL.scores(cells(), counted([*rest, *unit])) for unit in UNITS[weight]]
        apart = [KERNEL.scores(cells(), counted(rest))] if neighbours is Neighbours.ADD_REMOVE else with_unit
        most = max(most, max(int(np.abs(a - b).max()) for a in with_unit for b in apart))
    assert most == weight * KERNEL.moved(neighbours)


def test_the_score_is_the_distance_less_what_is_taken_off_and_none_scores_nought() -> None:
    rows = [((0, 0, 0), 4), ((1, 2, 1), 3)]
    table = np.array([4, 0, 0, 0, 0, 3])
    scores = KERNEL.scores(cells(), counted(rows))
    assert scores.tolist() == [int(np.abs(table - 1).sum()) - 5, 3 * (2 + 2 + 2 + 1), 7, 0]


def test_scores_of_huge_counts_fit_and_move_no_further() -> None:
    huge = counted([((0, 0, 0), RESULT_MAX)])
    one = KERNEL.scores(cells(), huge)
    more = KERNEL.scores(cells(), huge + counted([((1, 2, 1), 1)]))
    assert int(np.abs(one).max()) <= RESULT_MAX
    assert int(np.abs(one - more).max()) <= KERNEL.moved(Neighbours.ADD_REMOVE)


def test_a_candidate_that_does_not_fit_is_stopped() -> None:
    with pytest.raises(InvariantBroken):
        Far(block(0, Kept(2), Kept(3)), np.zeros(5, dtype=np.int64))
    with pytest.raises(InvariantBroken):
        far(block(0, Kept(2), Kept(3)), times=0)
    with pytest.raises(InvariantBroken):
        Distances((far(block(0, Kept(3), Kept(2))),)).fits(cells())
    with pytest.raises(InvariantBroken):
        Distances((far(block(9, Kept(2), Kept(3))),)).fits(cells())


def test_each_kernel_has_a_name_and_a_theorem() -> None:
    assert len({kernel.name for kernel in KERNELS}) == len(KERNELS)
    for kernel in KERNELS:
        assert all(f"{word}:" in (kernel.__doc__ or "") for word in ("Claim", "Proof", "Assumes")), kernel
