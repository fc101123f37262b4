"""Numbers are rounded to places of a grid so that these are right on average; the mean mechanisms err as in the
literature.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from obverse.collect.protocols import HybridMean, OneBitMean, PiecewiseMean
from obverse.collect.randomness.coins import Coins
from obverse.collect.randomness.hashing import Grid
from obverse.core.errors import InvariantBroken
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import fits

GRID = Grid(Fraction(-10), Fraction(10), 11)


def test_places_beside_a_number_have_it_for_their_mean() -> None:
    rng = SeededRng(1)
    coins = Coins(rng.raw)
    single = np.array([GRID.place(3.5, coins) for _ in range(20_000)])
    many = GRID.places(np.full(20_000, 3.5), rng).astype(np.int64)
    for found in (single, many):
        assert fits(found, 6, [0.25, 0.75])


def test_bounds_and_what_lies_beyond_are_the_first_and_the_last_place() -> None:
    coins = Coins(SeededRng(1).raw)
    rng = SeededRng(1)
    assert [GRID.place(number, coins) for number in (-1e300, -10.0, 10.0, 11.0, Fraction(2))] == [0, 0, 10, 10, 6]
    assert GRID.places(np.array([-1e300, -10.0, 10.0, 11.0, 2.0]), rng).tolist() == [0, 0, 10, 10, 6]
    assert (GRID.number(0), GRID.number(1), GRID.number(0.75)) == (-10, 10, 5)


def test_a_number_that_is_none_has_no_place() -> None:
    with pytest.raises(InvariantBroken):
        GRID.place(math.nan, Coins(SeededRng(1).raw))
    with pytest.raises(InvariantBroken):
        GRID.places(np.array([math.inf]), SeededRng(1))


@pytest.mark.parametrize(
    ("epsilon", "one_bit", "piecewise", "hybrid"), [(1, 4.68, 3.68, 4.29), (3, 1.22, 0.206, 0.432)]
)
def test_the_variance_in_the_middle_is_that_of_the_literature(
    epsilon: int, one_bit: float, piecewise: float, hybrid: float
) -> None:
    """Which is for values from -1 to 1: four times that of values from 0 to 1."""
    kinds = (OneBitMean, PiecewiseMean, HybridMean)
    for kind, known in zip(kinds, (one_bit, piecewise, hybrid)):
        assert math.isclose(4 * float(kind.fitted(2001, Fraction(epsilon)).spread(1000)), known, rel_tol=0.01), (
            kind.name
        )
