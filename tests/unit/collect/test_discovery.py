"""A planted distribution is found, from a dictionary that lacks a tenth of it and has ten times too many candidates."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from obverse.collect.discovery import decode, holm
from obverse.collect.protocols import Rappor
from obverse.collect.randomness.coins import ONE
from obverse.collect.randomness.hashing import item_key
from obverse.testing.noiseless import SeededRng

ITEMS = np.array([item_key(f"word {number}") for number in range(20)], dtype=np.uint64)
STRANGERS = np.array([item_key(f"stranger {number}") for number in range(200)], dtype=np.uint64)
SHARES = np.arange(20, 0, -1) / 210
LACKING = (1, 12)


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    people = np.repeat(ITEMS, np.rint(SHARES * 210_000).astype(np.int64))
    protocol = Rappor(32, 2, 64, ONE // 8, ONE // 4, ONE // 4 * 3)
    return protocol.fold(protocol.reports(people, SeededRng(7)))  # at level 0.05 one seed in twenty finds a stranger


def test_what_is_listed_is_found_and_what_is_not_is_told_as_unexplained(counts: np.ndarray) -> None:
    protocol = Rappor(32, 2, 64, ONE // 8, ONE // 4, ONE // 4 * 3)
    listed = np.delete(np.arange(20), LACKING)
    candidates = np.concatenate([ITEMS[listed], STRANGERS])
    found = decode(protocol, counts, candidates)
    truth = np.concatenate([SHARES[listed], np.zeros(200)])
    assert not found.found[18:].any()
    assert found.found[truth > 0.025].all()
    assert np.all(np.abs(found.value - truth)[found.found] < 4.5 * found.sd[found.found])
    missing = 1 - truth[found.found].sum()
    assert missing > 0.1
    assert abs(found.unexplained - missing) < 4.5 * found.unexplained_sd
    assert found.unexplained_sd < 0.02


def test_a_long_list_is_screened(counts: np.ndarray) -> None:
    protocol = Rappor(32, 2, 64, ONE // 8, ONE // 4, ONE // 4 * 3)
    candidates = np.concatenate([SeededRng(2).words(5000), ITEMS])
    found = decode(protocol, counts, candidates)
    assert not found.found[:5000].any()
    assert found.found[5000:][SHARES > 0.03].all()


def test_a_list_of_nobody_explains_nothing(counts: np.ndarray) -> None:
    found = decode(Rappor(32, 2, 64, ONE // 8, ONE // 4, ONE // 4 * 3), counts, STRANGERS)
    assert not found.found.any()
    assert found.unexplained == 1


def test_a_few_thousand_people_are_sized_without_bias() -> None:
    """Seeded. Weights of a bit's own count made shares of 4,000 people too large by 1.6 standard errors."""
    protocol = Rappor.fitted(2, Fraction(3))
    rng = SeededRng(3)
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    off = []
    for _ in range(10):
        candidates = rng.words(20)
        people = np.repeat(candidates[:4], np.rint(4000 * shares).astype(np.int64))
        found = decode(protocol, protocol.fold(protocol.reports(people, rng)), candidates)
        assert found.found[:4].all()
        off.append((found.value[:4] - shares) / found.sd[:4])
    assert abs(float(np.mean(off))) < 0.6
    assert float(np.mean(np.square(off))) < 1.5


def test_holm_rejects_step_by_step() -> None:
    assert holm(np.array([0.04, 0.01, 0.5, 0.016]), 0.05).tolist() == [False, True, False, True]
    assert holm(np.array([0.02, 0.02, 0.02]), 0.05).tolist() == [False, False, False]
    assert holm(np.array([0.0, 0.0]), 0.05).tolist() == [True, True]


@pytest.mark.parametrize("cohorts", [1, 64])
@pytest.mark.parametrize("up", [True, False])
def test_crafted_reports_move_a_decoded_share_by_no_more_than_is_told(
    counts: np.ndarray, cohorts: int, up: bool
) -> None:
    """One in a hundred sets the bits of one word and no others, or all others; in one cohort, or in all."""
    protocol = Rappor(32, 2, 64, ONE // 8, ONE // 4, ONE // 4 * 3)
    n = int(counts[:, -1].sum()) // 100
    target = 2
    own = np.array([protocol.bloom(int(ITEMS[target]), cohort) for cohort in range(cohorts)], dtype=np.uint32)
    sent = np.resize(own if up else ~own, n).astype("<u4").view(np.uint8).reshape(n, 4)
    payloads = np.concatenate([np.resize(np.arange(cohorts, dtype=np.uint8), n)[:, None], sent], axis=1)
    before = decode(protocol, counts, ITEMS)
    after = decode(protocol, counts + protocol.fold(payloads), ITEMS)
    moved = abs(after.value[target] - before.value[target])
    assert before.found[target]
    assert protocol.leverage() / 100 < moved < after.leverage / 100  # further than a share that is estimated alone
