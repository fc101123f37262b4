"""Tables that may be chosen, and the few that they are added up from: all are covered, and limits are kept."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from obverse.publish.synthetic.selection import CELLS_MAX, READ_MAX, TOGETHER_MAX, TRIPLES_MAX, tables, together

SIZES = [(2, 2), (3, 4, 2, 5), (300, 200, 2), (85, 9, 100, 16, 7, 15, 6, 5, 2, 100), (2,) * 24]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_every_pair_and_every_small_triple_is_within_a_table_that_is_read(sizes: tuple[int, ...]) -> None:
    asked = tables(sizes)
    read = together(sizes)
    assert {*combinations(range(len(sizes)), 2)} <= {*asked}
    assert all(any({*part} <= {*one} for one in read) for part in asked)
    triples = [part for part in asked if len(part) == 3]
    assert len(triples) <= TRIPLES_MAX
    assert all(math.prod(sizes[i] for i in part) <= CELLS_MAX for part in triples)
    for one in read:
        cells = math.prod(sizes[i] for i in one)
        assert one in asked or (cells <= READ_MAX and len(one) <= TOGETHER_MAX)
    assert len(read) <= len(asked)


def test_fewer_tables_are_read_than_there_are_pairs() -> None:
    assert len(together((2,) * 24)) < math.comb(24, 2) / 4


def test_a_triple_of_too_many_cells_is_none() -> None:
    assert tables((100, 100, 2)) == ((0, 1), (0, 2), (1, 2))
    assert tables((2, 2, 2)) == ((0, 1), (0, 2), (1, 2), (0, 1, 2))
