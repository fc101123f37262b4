"""Local hashing counts many reports as it counts few: each report against each item."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from obverse.collect.protocols import LocalHash
from obverse.collect.protocols.base import BLOCK, numbers_in, packed
from obverse.collect.protocols.local_hash import CELLS, FEW
from obverse.collect.randomness.hashing import symbol
from obverse.testing.noiseless import SeededRng


def test_items_are_supported_by_the_reports_that_carry_their_symbol() -> None:
    protocol = LocalHash.fitted(37, Fraction(1))
    codes = SeededRng(1).below(37, FEW + 44).view(np.uint64)
    payloads = protocol.reports(codes, SeededRng(2))
    sent = [(int.from_bytes(bytes(row[:8]), "little"), int(row[8])) for row in payloads]
    expected = [sum(symbol(seed, item, protocol.answer.size) == told for seed, told in sent) for item in range(37)]
    assert protocol.fold(payloads).tolist() == expected


def test_few_reports_and_many_are_counted_alike() -> None:
    protocol = LocalHash.fitted(CELLS + 9, Fraction(2))
    codes = SeededRng(1).below(protocol.size, FEW).view(np.uint64)
    payloads = protocol.reports(codes, SeededRng(2))
    few = protocol.fold(payloads[: FEW // 2]) + protocol.fold(payloads[FEW // 2 :])
    assert np.array_equal(protocol.fold(payloads), few)


def test_reports_beyond_a_block_carry_their_own_seeds() -> None:
    protocol = LocalHash.fitted(4, Fraction(20))  # nearly always the truth
    seeds = SeededRng(3).words(BLOCK + 5)
    codes = SeededRng(4).below(4, BLOCK + 5).view(np.uint64)
    payloads = protocol.reports(codes, SeededRng(5), seeds)
    assert protocol.agrees(payloads, seeds).all()
    told = [symbol(int(seed), int(code), protocol.answer.size) for seed, code in zip(seeds[-5:], codes[-5:])]
    assert payloads[-5:, 8].tolist() == told


def test_numbers_of_every_length_are_written_and_read() -> None:
    for length in range(1, 9):
        numbers = SeededRng(length).words(1001) >> np.uint64(64 - 8 * length)
        rows = packed(numbers, length)
        assert [bytes(row) for row in rows[:50]] == [int(number).to_bytes(length, "little") for number in numbers[:50]]
        assert np.array_equal(numbers_in(rows), numbers)
        assert np.array_equal(numbers_in(np.asfortranarray(rows)[::-1]), numbers[::-1])
