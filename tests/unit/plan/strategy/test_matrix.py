"""Strategies: norms of what is measured, by listing every move that a unit can make on tiny domains."""

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
from obverse.plan.strategy.matrix import RESULT_MAX, Block, Centred, Kept, Linear, Merged, Running, Strategy, Summed
from obverse.plan.strategy.pricing import noise_of

MAPS: list[Linear] = [
    Kept(1),
    Kept(3),
    Summed(4),
    Centred(2),
    Centred(3),
    Merged(np.array([0, 2, 0, 2]), 3),
    Merged(np.array([0, 0]), 1),
    Running((4, 2, 1)),
]
PRODUCTS = [
    *((one,) for one in MAPS),
    *itertools.product((Kept(2), Summed(2), Centred(2), Centred(3)), repeat=2),
    (Centred(2), Centred(2), Centred(3)),
    (Merged(np.array([0, 1, 1]), 2), Centred(2)),
    (Running((1,)),),
    (Running((5, 0, 3, 2)),),
    (Running((1 << 40, 1)),),
    (Running((4, 2, 1)), Kept(2)),
    (Centred(2), Running((4, 2, 1))),
    (Running((3, 1)), Summed(3)),
    (Merged(np.array([0, 1, 1]), 2), Running((3, 1))),
    (Centred(2), Running((1, 1, 1, 1, 1))),
    (Running((3, 1)), Running((2, 1))),
]


def dense(block: Block) -> Any:
    """The block's matrix: what it makes of each cell by itself."""
    cells = int(np.prod([one.size for one in block.maps]))
    return np.array([block.apply(cell) for cell in np.eye(cells, dtype=np.int64)]).T


def block(*maps: Linear, weight: int = 1) -> Block:
    return Block("b", 0, maps, Fraction(weight))


@pytest.mark.parametrize("one", MAPS, ids=lambda one: one.identity[:20])
def test_a_map_knows_its_own_columns_and_rows(one: Linear) -> None:
    matrix = dense(block(one))
    products = matrix.T @ matrix
    assert matrix.shape == (one.out, one.size)
    assert one.column_l1 == np.abs(matrix).sum(axis=0).max()
    assert one.column_squares == np.diag(products).max()
    assert one.row_l1 == np.abs(matrix).sum(axis=1).max()
    others = products[~np.eye(len(products), dtype=bool)]
    assert len(others) == 0 or one.apart[0] <= others.min() <= others.max() <= one.apart[1]


def units(cells: int, rows: int) -> list[Any]:
    """Every vector of counts that a unit of at most so many rows can have."""
    found = {(0,) * cells}
    for _ in range(rows):
        found |= {tuple(n + (i == at) for i, n in enumerate(one)) for one in found for at in range(cells)}
    return [np.array(one) for one in sorted(found)]


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("maps", PRODUCTS, ids=lambda maps: " x ".join(one.identity[:12] for one in maps))
def test_no_unit_moves_a_block_further_than_its_norms_and_some_unit_as_far(
    maps: tuple[Linear, ...], neighbours: Neighbours, rows: int
) -> None:
    made = block(*maps)
    matrix = dense(made)
    norms = made.norms(neighbours)
    theirs = units(matrix.shape[1], rows)
    if neighbours is Neighbours.REPLACE:
        moves = [matrix @ (a - b) for a in theirs for b in theirs]
    else:
        moves = [matrix @ a for a in theirs]
    furthest = max(int(np.abs(move).sum()) for move in moves)
    squares = max(sum(int(x) ** 2 for x in move) for move in moves)
    assert furthest <= rows * norms.l1
    assert squares <= rows**2 * norms.squares
    if len(maps) == 1 or not any(isinstance(one, Running) for one in maps):
        assert squares == rows**2 * norms.squares or max(np.abs(matrix).flat) > 1 << 30
    if neighbours is Neighbours.ADD_REMOVE:
        assert furthest == rows * norms.l1


@pytest.mark.parametrize("maps", PRODUCTS, ids=lambda maps: " x ".join(one.identity[:12] for one in maps))
def test_no_two_cells_that_differ_in_some_keys_are_further_apart_than_is_said_of_those_keys(
    maps: tuple[Linear, ...],
) -> None:
    made = block(*maps)
    columns = dense(made).T
    places = list(itertools.product(*(range(one.size) for one in maps)))
    for (a, left), (b, right) in itertools.combinations_with_replacement(zip(places, columns), 2):
        told = made.between([x != y for x, y in zip(a, b)])
        apart = [int(x) - int(y) for x, y in zip(left, right)]
        assert sum(x * x for x in apart) <= told.squares
        assert sum(abs(x) for x in apart) <= told.l1


SETS = [((2, 3), ((0, 1),)), ((2, 3), ((0,), (0, 1))), ((2, 2, 2), ((0, 1), (1, 2)))]


@pytest.mark.parametrize("maps", list(itertools.product(MAPS, repeat=2)), ids=str)
def test_norms_are_those_of_all_sets_of_keys_whether_or_not_their_maps_tell_cells_apart(
    maps: tuple[Linear, ...],
) -> None:
    one = block(*maps, Summed(3))
    listed = [one.column(), *(one.between(differ) for differ in itertools.product((False, True), repeat=3))]
    found = one.norms(Neighbours.REPLACE)
    assert (found.l1, found.squares) == (max(x.l1 for x in listed), max(x.squares for x in listed))


def keys(sizes: tuple[int, ...], *, outside: bool = False) -> tuple[Key, ...]:
    """Keys of whole numbers; `outside`: rows may have one number more, which is in no cell."""
    found = []
    for n, size in enumerate(sizes):
        facts = ColumnFacts(Type.INTEGER, False, Interval(Fraction(0), Fraction(size - 1 + outside)), Fraction(1))
        found.append(Key(f"k{n}", Ref(f"k{n}", facts), tuple(range(size)), null_cell=False))
    return tuple(found)


def stacked(strategy: Strategy, cells: Cells, row: tuple[int, ...]) -> list[Any]:
    """The entries of every block for one row; a number beyond a key's cells is in no cell of its sets."""
    counts = np.zeros(cells.count, dtype=np.int64)
    for chosen, offset in zip(cells.sets, cells.offsets):
        if all(row[i] < cells.keys[i].cells for i in chosen):
            place = np.ravel_multi_index([row[i] for i in chosen], [cells.keys[i].cells for i in chosen])
            counts[offset + place] += 1
    return strategy.apply(cells, counts)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize(("sizes", "sets"), SETS, ids=str)
def test_the_worst_move_of_all_blocks_together_is_that_of_listing_all_rows(
    sizes: tuple[int, ...], sets: tuple[tuple[int, ...], ...], neighbours: Neighbours, outside: bool
) -> None:
    cells = Cells(keys(sizes, outside=outside), sets)
    blocks = [
        Block("", of, tuple(kind(sizes[i]) for kind, i in zip(kinds, chosen)), Fraction(1 + n))
        for of, chosen in enumerate(sets)
        for n, kinds in enumerate(itertools.product((Kept, Summed, Centred), repeat=len(chosen)))
    ]
    strategy = Strategy(tuple(blocks))
    per = strategy.shares
    rows = [stacked(strategy, cells, row) for row in itertools.product(*(range(n + outside) for n in sizes))]
    nothing = [np.zeros_like(part) for part in rows[0]]
    moves = [(a, b) for a in rows for b in ([nothing, *rows] if neighbours is Neighbours.REPLACE else [nothing])]
    for squared in (False, True):
        found = max(
            sum(p * int((np.abs(x - y) ** (1 + squared)).sum()) for p, x, y in zip(per, a, b)) for a, b in moves
        )
        told = strategy.worst(cells, neighbours, per, squared=squared)
        assert found <= told
        if (squared and not outside) or neighbours is Neighbours.ADD_REMOVE:
            assert found == told


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("squared", [False, True])
def test_noise_costs_the_price_and_hardly_less(neighbours: Neighbours, squared: bool) -> None:
    cells = Cells(keys((2, 3)), ((0, 1),))
    strategy = Strategy(
        (block(Centred(2), Summed(3)), block(Summed(2), Summed(3), weight=5), block(Kept(2), Centred(3)))
    )
    price = Fraction(1, 3)
    weight = 4
    noise = noise_of(strategy, cells, neighbours, price, weight, squared=squared)
    per = [1 / (2 * one.sigma_squared) if squared else 1 / one.scale for one in noise]  # type: ignore[attr-defined]
    cost = strategy.worst(cells, neighbours, per, squared=squared) * (weight**2 if squared else weight)
    assert price * Fraction(999, 1000) < cost <= price


def test_counts_beyond_what_can_be_added_up_are_cut_and_nothing_overflows() -> None:
    made = block(Summed(1000), Centred(3))
    entries = made.apply(np.full(3000, 2**62, dtype=np.int64))
    assert entries.tolist() == [0, 0, 0]
    counts = np.zeros(3000, dtype=np.int64)
    counts[::3] = 2**62
    assert 0 < made.apply(counts)[0] <= RESULT_MAX


def test_shares_follow_from_weights_and_add_up_to_one() -> None:
    strategy = Strategy((block(Kept(2), weight=1), block(Summed(2), weight=3)))
    assert strategy.shares == (Fraction(1, 4), Fraction(3, 4))


def test_a_weight_is_above_zero_and_a_strategy_measures_something() -> None:
    with pytest.raises(InvariantBroken):
        block(Kept(2), weight=0)
    with pytest.raises(InvariantBroken):
        Strategy(())
    with pytest.raises(InvariantBroken):
        Centred(1)
    with pytest.raises(InvariantBroken):
        Merged(np.array([0, 3]), 3)
    with pytest.raises(InvariantBroken):
        Running((1, -1))
