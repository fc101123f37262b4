"""What hashes leave of the error, however many reports there are, is what protocols state."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from obverse.collect.protocols import (
    CountMean,
    Direct,
    HadamardCountMean,
    PooledHash,
    Projective,
    ProjectiveSketch,
    Rappor,
)
from obverse.collect.protocols.base import Estimated
from obverse.collect.randomness.coins import ONE
from obverse.collect.randomness.hashing import item_key, key_symbols_of, symbols_of, walsh_hadamard

ITEMS = np.arange(3000, dtype=np.uint64)
KEYS = np.array([item_key(str(item)) for item in range(3000)], dtype=np.uint64)
HELD = np.array([400, 250, 150, 100, 60, 40])  # of a thousand; all other items have none


def test_the_floor_of_a_pool_is_that_of_its_collisions() -> None:
    protocol = PooledHash(3000, 128, Direct.fitted(4, Fraction(1)))
    numbers = np.arange(protocol.pool, dtype=np.uint64)
    expected = np.zeros(protocol.shape)
    for item, people in enumerate(HELD):
        held = symbols_of(numbers, np.full(protocol.pool, item, dtype=np.uint64), 4).view(np.int64)
        expected += people * float(protocol.answer.other)
        expected[np.arange(protocol.pool), held] += people * float(protocol.answer.own - protocol.answer.other)
    counts = np.rint(expected * 10**8).astype(np.int64)  # as of 10**11 reports for each hash: no noise is left
    found = protocol.estimate(counts, int(counts.sum()), ITEMS)
    check_floor(found, 1 / (128 * 3))


def columns_held(rows: int, columns: int) -> np.ndarray:
    """People of a thousand in each column of each row."""
    found = np.zeros((rows, columns), dtype=np.int64)
    for item, people in enumerate(HELD):
        places = key_symbols_of(np.arange(rows, dtype=np.uint64), KEYS[item : item + 1], columns)
        found[np.arange(rows), places.view(np.int64)] += people
    return found


def test_the_floor_of_a_count_mean_sketch_is_that_of_its_collisions() -> None:
    protocol = CountMean(32, 16, ONE // 4 * 3)
    bits = 10**6 * (1000 + 2 * columns_held(32, 16)) // 4  # as of 10**9 reports for each row
    counts = np.concatenate([bits, np.full((32, 1), 10**9)], axis=1)
    check_floor(protocol.estimate(counts, 32 * 10**9, KEYS), 1 / (32 * 15))


def test_the_floor_of_a_bloom_filter_is_that_of_its_collisions() -> None:
    protocol = Rappor(16, 2, 32, ONE // 4, ONE // 2, ONE // 4 * 3)
    cohorts = np.arange(32)
    held = np.zeros((32, 16), dtype=np.int64)
    for item, people in enumerate(HELD):
        both = protocol.places(KEYS[item : item + 1], cohorts.view(np.uint64))
        held[cohorts, both[0]] += people
        held[cohorts, both[1]] += people * (both[0] != both[1])
    bits = 10**6 * (9000 + 2 * held) // 16  # of 9/16 and 11/16
    counts = np.concatenate([bits, np.full((32, 1), 10**9)], axis=1)
    empty = (15 / 16) ** 2
    empty_pair = (14 / 16) ** 2
    both_held = (1 - empty) / 16 + 15 / 16 * (1 - 2 * empty + empty_pair)
    varied = (empty * (1 - empty) + both_held - (1 - empty) ** 2) / 2
    check_floor(protocol.estimate(counts, 32 * 10**9, KEYS), varied / (32 * empty**2))


def test_the_floor_of_a_transformed_sketch_is_that_of_its_collisions() -> None:
    protocol = HadamardCountMean(32, 16, ONE // 4 * 3)
    sums = 10**6 * walsh_hadamard(columns_held(32, 16)) // (16 * 2)
    counts = np.concatenate([sums, np.full((32, 1), 10**9)], axis=1)
    check_floor(protocol.estimate(counts, 32 * 10**9, KEYS), 1 / (32 * 15))


def test_the_floor_of_a_projective_sketch_is_that_of_its_collisions() -> None:
    protocol = ProjectiveSketch(32, Projective(13, 3, 3, ONE // 2))
    each = [[protocol.answer.probability(column, sent) for sent in protocol.answer.payloads()] for column in range(13)]
    law = np.array([[float(chance) for chance in row] for row in each])
    counts = np.rint(10**8 * (columns_held(32, 13) @ law)).astype(np.int64)  # as of 10**11 reports for each row
    check_floor(protocol.estimate(counts, int(counts.sum()), KEYS), 1 / (32 * 12))


def check_floor(found: Estimated, factor: float) -> None:
    squares = float((HELD**2).sum()) / 1e6
    assert abs(found.floor / factor - squares) < 0.15 * squares
    assert 0.8 < float(np.mean(found.value[len(HELD) :] ** 2)) / (squares * factor) < 1.2
    assert np.allclose(found.variance[len(HELD) :], found.floor, rtol=0.08)
