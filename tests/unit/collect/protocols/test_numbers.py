"""Numbers go to bytes and back; hashes of keys are the same one by one and many at once."""

from __future__ import annotations

import numpy as np
import pytest

from obverse.collect.protocols.base import numbers_in, packed
from obverse.collect.randomness.hashing import key_symbol, key_symbols_of, mix, walsh_hadamard
from obverse.testing.noiseless import SeededRng


@pytest.mark.parametrize("length", range(1, 9))
def test_numbers_go_to_bytes_and_back(length: int) -> None:
    numbers = SeededRng(length).words(100) >> np.uint64(64 - 8 * length)
    rows = packed(numbers, length)
    assert rows.shape == (100, length)
    assert np.array_equal(numbers_in(rows), numbers)
    assert np.array_equal(numbers_in(np.repeat(rows, 2, axis=0)[::2]), numbers)
    assert np.array_equal(numbers_in(np.concatenate([rows, rows], axis=1)[:, :length]), numbers)
    assert len(numbers_in(rows[:0])) == 0


def test_hashes_of_keys_are_as_specified() -> None:
    assert key_symbol(3, 12345, 1000) == (mix(mix(3) ^ 12345) >> 32) * 1000 >> 32
    rng = SeededRng(1)
    seeds = rng.words(50)
    keys = rng.words(40)
    for symbols in (2, 1000, 1 << 32):
        found = key_symbols_of(seeds[:, None], keys, symbols)
        assert found.tolist() == [[key_symbol(int(seed), int(key), symbols) for key in keys] for seed in seeds]


def test_the_transform_is_that_of_the_matrix() -> None:
    rows = SeededRng(2).below(1000, 5 * 16).reshape(5, 16) - 500
    matrix = np.array([[(-1) ** (i & j).bit_count() for j in range(16)] for i in range(16)])
    assert np.array_equal(walsh_hadamard(rows), rows @ matrix)
