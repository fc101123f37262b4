"""Randomness: exact, fresh in every process and thread, and never from a seed."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from obverse.core.errors import InvariantBroken, Refused
from obverse.core.rng import BELOW_MAX, Rng
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import fits

BOUNDS = (1, 2, 3, 7, 1000, 2**12, 2**12 + 1, 2**28, 2**28 + 1, 10**12, BELOW_MAX - 1, BELOW_MAX)


class Scripted(Rng):
    """Plays given bytes, then zeros."""

    def __init__(self, script: bytes) -> None:
        self.script = script

    def raw(self, n: int) -> bytes:
        taken = self.script[:n]
        self.script = self.script[n:]
        return taken.ljust(n, b"\0")


@pytest.mark.parametrize("bound", BOUNDS)
def test_numbers_below_a_bound_stay_below_it(bound: int) -> None:
    drawn = Rng().below(bound, 2000)
    assert drawn.dtype == np.int64
    assert drawn.min() >= 0
    assert drawn.max() < bound
    assert drawn.max() >= bound * 0.97 - 1  # missed with chance 0.97**2000, below 1e-26


@pytest.mark.parametrize("bound", [2, 6, 1000, 5000])
def test_numbers_below_a_bound_are_uniform(bound: int) -> None:
    assert fits(SeededRng(1).below(bound, 10**6), 0, [1 / bound] * bound)  # false alarm 1e-9


def test_the_uniformity_test_notices_a_missing_rejection() -> None:
    words = np.frombuffer(Rng().raw(10**6), dtype=np.uint8).astype(np.int64)
    assert not fits(words % 100, 0, [1 / 100] * 100)


def test_words_above_the_last_full_multiple_are_rejected() -> None:
    assert Scripted(b"\xff\xff\x05\x00").below(3, 1)[0] == 5 % 3  # 65535 is a multiple of three: no room for it
    assert Scripted(b"\xfe\xff\x05\x00").below(3, 1)[0] == 65534 % 3


def test_any_number_of_draws_is_served_including_none() -> None:
    for n in (0, 1, 7, 8, 9, 1001):
        assert len(Rng().below(5, n)) == len(Rng().words(n)) == len(Rng().bits(n)) == n


def test_bits_are_fair_coins() -> None:
    assert fits(SeededRng(2).bits(10**6).astype(np.int64), 0, [0.5, 0.5])


def test_a_key_is_fresh() -> None:
    rng = Rng()
    keys = {rng.key() for _ in range(100)}
    assert len(keys) == 100
    assert {len(key) for key in keys} == {32}


def test_two_children_and_the_parent_draw_differently() -> None:
    rng = Rng()
    rng.words(4)
    pipes = []
    for _ in range(2):
        reading, writing = os.pipe()
        if os.fork() == 0:
            try:
                os.write(writing, rng.words(4).tobytes())
            finally:
                os._exit(0)
        os.close(writing)
        pipes.append(reading)
    seen = [os.read(pipe, 32) for pipe in pipes] + [rng.words(4).tobytes()]
    for pipe in pipes:
        os.close(pipe)
        os.wait()
    assert len({len(words) for words in seen}) == 1
    assert len(set(seen)) == 3


def test_threads_never_share_words() -> None:
    rng = Rng()
    with ThreadPoolExecutor(8) as pool:
        words = np.concatenate(list(pool.map(lambda _: rng.words(1000), range(64))))
    assert len(np.unique(words)) == len(words)


def test_nothing_is_kept_between_draws() -> None:
    assert Rng.__slots__ == ()
    assert not hasattr(Rng(), "__dict__")


@pytest.mark.parametrize("name", ["OBVERSE_SEED", "OBVERSE_RANDOM_SEED"])
def test_a_seed_in_the_environment_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(Refused) as refusal:
        Rng()
    assert refusal.value.code == "seed_in_production"


@pytest.mark.parametrize("bound", [0, -1, BELOW_MAX + 1])
def test_an_impossible_bound_is_refused(bound: int) -> None:
    with pytest.raises(InvariantBroken):
        Rng().below(bound, 1)


def test_the_seeded_twin_repeats_itself_and_only_itself() -> None:
    assert np.array_equal(SeededRng(5).words(10), SeededRng(5).words(10))
    assert not np.array_equal(SeededRng(5).words(10), SeededRng(6).words(10))
    rng = SeededRng(5)
    assert not np.array_equal(rng.words(10), rng.words(10))
