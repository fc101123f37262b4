"""The fast source: AES-256 in counter mode as published, a key for each request, nothing kept, not for answers over
data.
"""

from __future__ import annotations

import copy
import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from obverse.core.errors import Refused
from obverse.testing.statistics import fits

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))
import stream  # a script's neighbour, not part of the package
from stream import BLOCK, KEY_BYTES, PER_KEY, SHORT, Stream

LONG = 2 * len(BLOCK) + 1000  # bytes that the cipher makes


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is read of the operating system, as it is read."""
    true = os.urandom
    seen = []

    def urandom(n: int) -> bytes:
        seen.append(true(n))
        return seen[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    return seen


def expected(secret: bytes, n: int) -> bytes:
    """AES-256 of the counters, block by block, by the cipher alone."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    first = int.from_bytes(secret[32:], "big")
    counters = b"".join(((first + i) % 2**128).to_bytes(16, "big") for i in range(-(-n // 16)))
    return Cipher(algorithms.AES(secret[:32]), modes.ECB()).encryptor().update(counters)[:n]


def test_bytes_are_the_cipher_of_counters_under_the_key_that_was_read(read: list[bytes]) -> None:
    made = Stream().raw(LONG)
    (secret,) = read
    assert len(secret) == KEY_BYTES
    assert made == expected(secret, LONG)


def test_numbers_of_all_widths_are_the_same_bytes(read: list[bytes]) -> None:
    for width in (8, 16, 32, 64):
        made = Stream().numbers(LONG // 8, width)
        assert made.dtype == np.dtype(f"u{width // 8}")
        assert made.tobytes() == expected(read[-1], LONG // 8 * width // 8)


def test_each_request_has_a_key_of_its_own(read: list[bytes]) -> None:
    source = Stream()
    made = [source.raw(LONG) for _ in range(5)]
    assert len(set(made)) == len(set(read)) == len(read) == 5


def test_no_key_makes_more_than_16_mib(read: list[bytes]) -> None:
    words = Stream().words(PER_KEY // 8 + 3)
    assert [len(secret) for secret in read] == [KEY_BYTES, KEY_BYTES]
    assert words[-3:].tobytes() == expected(read[1], 24)
    assert words[:3].tobytes() == expected(read[0], 24)


def test_short_requests_are_the_operating_system_s_own(read: list[bytes]) -> None:
    source = Stream()
    assert [source.key(), source.raw(SHORT), source.words(SHORT // 8).tobytes()] == read
    assert [len(part) for part in read] == [32, SHORT, SHORT]


def test_without_the_package_all_bytes_are_the_operating_system_s_own(
    monkeypatch: pytest.MonkeyPatch, read: list[bytes]
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)  # an import of it fails
    stream._cipher.cache_clear()
    try:
        assert [Stream().raw(LONG), Stream().words(LONG).tobytes()] == read
    finally:
        stream._cipher.cache_clear()


def test_bytes_are_uniform() -> None:
    assert fits(Stream().numbers(10**6, 8).astype(np.int64), 0, [1 / 256] * 256)  # false alarm 1e-9
    assert fits(Stream().below(5000, 10**6), 0, [1 / 5000] * 5000)


def test_children_and_the_parent_draw_differently() -> None:
    source = Stream()
    before = source.raw(LONG)
    pipes = []
    for _ in range(2):
        reading, writing = os.pipe()
        if os.fork() == 0:
            try:
                os.write(writing, source.raw(LONG)[:64])
            finally:
                os._exit(0)
        os.close(writing)
        pipes.append(reading)
    seen = [os.read(pipe, 64) for pipe in pipes] + [source.raw(LONG)[:64], before[:64]]
    for pipe in pipes:
        os.close(pipe)
        os.wait()
    assert [len(part) for part in seen] == [64] * 4
    assert len(set(seen)) == 4


def test_threads_never_share_words() -> None:
    source = Stream()
    with ThreadPoolExecutor(8) as pool:
        words = np.concatenate(list(pool.map(lambda _: source.words(LONG // 8), range(32))))
    assert len(np.unique(words)) == len(words)


def test_a_copy_and_a_pickle_hold_nothing_to_go_on_from() -> None:
    source = Stream()
    before = source.raw(LONG)
    assert source.__reduce_ex__(4)[2] is None
    assert not hasattr(source, "__dict__")
    assert all("__slots__" in vars(kind) and not vars(kind)["__slots__"] for kind in Stream.__mro__[:-1])
    twins = [pickle.loads(pickle.dumps(source)), copy.copy(source), copy.deepcopy(source), source]
    assert len({before, *(twin.raw(LONG) for twin in twins)}) == 5


def test_a_seed_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBVERSE_SEED", "1")
    with pytest.raises(Refused) as refusal:
        Stream()
    assert refusal.value.code == "seed_in_production"
