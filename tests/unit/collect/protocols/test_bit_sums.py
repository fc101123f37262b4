"""Column sums by carry-save are those of bits that are added one by one."""

from __future__ import annotations

import numpy as np
import pytest

from obverse.collect.protocols.bit_sums import ALONE, column_sums, grouped_sums
from obverse.testing.noiseless import SeededRng

SIZES = [(0, 9), (1, 1), (3000, 9), (5000, 64), (20_000, 70), (2003, 1024), (40_001, 24), (40, 65_536)]
GROUPS = [(0, 9, 3), (1000, 70, 5), (500, 9, 4), (4000, 64, 900), (300, 20, 70_000), (30_000, 64, 7)]


@pytest.mark.parametrize(("n", "size"), SIZES)
def test_sums_are_those_of_the_bits(n: int, size: int) -> None:
    length = (size + 7) // 8
    rows = np.frombuffer(SeededRng(size).raw(n * length), dtype=np.uint8).reshape(n, length)
    bits = np.unpackbits(rows, axis=1, bitorder="little", count=size)
    assert np.array_equal(column_sums(rows, size), bits.sum(axis=0, dtype=np.int64))


@pytest.mark.parametrize(("n", "size", "number"), GROUPS)
def test_sums_of_groups_are_those_of_their_rows(n: int, size: int, number: int) -> None:
    rng = SeededRng(size)
    length = 3 + (size + 7) // 8
    rows = np.frombuffer(rng.raw(n * length), dtype=np.uint8).reshape(n, length)
    groups = np.minimum(rng.below(number, n), rng.below(number, n))  # of unlike size
    expected = np.zeros((number, size + 1), dtype=np.int64)
    np.add.at(expected[:, :size], groups, np.unpackbits(rows[:, 3:], axis=1, bitorder="little", count=size))
    np.add.at(expected[:, size], groups, 1)
    assert np.array_equal(grouped_sums(groups, rows, number, size, skipped=3), expected)


def test_groups_that_are_large_beside_others_are_counted_alone_and_alike() -> None:
    rng = SeededRng(3)
    rows = np.frombuffer(rng.raw(9000 * 9), dtype=np.uint8).reshape(9000, 9)
    groups = np.where(rng.bits(9000), 2, rng.below(50, 9000))
    expected = np.zeros((50, 65), dtype=np.int64)
    np.add.at(expected[:, :64], groups, np.unpackbits(rows[:, 1:], axis=1, bitorder="little"))
    np.add.at(expected[:, 64], groups, 1)
    assert expected[2, 64] > max(ALONE, 4 * 9000 // 50)
    assert np.array_equal(grouped_sums(groups, rows, 50, 64, skipped=1), expected)


def test_planes_that_were_added_stay_as_they_are() -> None:
    rows = np.frombuffer(SeededRng(4).raw(64 * 1000), dtype=np.uint8).reshape(1000, 64).copy()
    before = rows.copy()
    column_sums(rows, 512)
    assert np.array_equal(rows, before)
