"""Coins have exactly the odds they say, one by one and many at once; how much is read never depends on the answer."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from obverse.collect.protocols import Direct, LocalHash, Unary
from obverse.collect.randomness.coins import HALF, ONE, Coins, flips, vectors
from obverse.core.errors import InvariantBroken
from obverse.core.rng import Rng
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import fits


class Planted(Rng):
    """Words and bytes in a given order."""

    __slots__ = ("left",)

    def __init__(self, given: bytes) -> None:
        self.left = given

    def raw(self, n: int) -> bytes:
        assert len(self.left) >= n
        taken = self.left[:n]
        self.left = self.left[n:]
        return taken


def test_a_number_is_the_low_53_bits_of_seven_bytes() -> None:
    assert Coins(lambda n: b"\xff" * n).number() == ONE - 1
    assert Coins(lambda n: b"\x01" + bytes(n - 1)).number() == 1
    assert Coins(lambda n: bytes(n - 1) + b"\xe0").number() == 0


@pytest.mark.parametrize(("drawn", "odds", "comes"), [(4, 5, True), (5, 5, False), (ONE - 1, ONE, True), (0, 0, False)])
def test_a_coin_is_true_below_its_odds(drawn: int, odds: int, comes: bool) -> None:
    assert Coins(lambda n: drawn.to_bytes(n, "little")).flip(odds) is comes


def test_uniform_numbers_beyond_the_last_whole_multiple_are_drawn_again() -> None:
    limit = ONE // 3 * 3
    given = [limit.to_bytes(7, "little"), (limit - 1).to_bytes(7, "little")]
    assert Coins(lambda n: given.pop(0)).below(3) == 2
    assert not given


@pytest.mark.parametrize("odds", [HALF, ONE // 4 * 3, ONE // 8, 5 << 50])
def test_vectors_of_coins_have_exactly_their_odds(odds: int) -> None:
    """All planes of one coin, listed: the share that is set is the odds, exactly."""
    lowest = (odds & -odds).bit_length() - 1
    planes = 53 - lowest
    listed = itertools.product((b"\x00", b"\x01"), repeat=planes)
    found = [Coins(b"".join(bits).ljust).vector(odds, 1) for bits in listed]
    assert Fraction(sum(found), len(found)) == Fraction(odds, ONE)


@pytest.mark.parametrize("odds", [0, ONE])
def test_vectors_that_are_no_coins_are_refused(odds: int) -> None:
    with pytest.raises(InvariantBroken):
        Coins(bytes).vector(odds, 4)
    with pytest.raises(InvariantBroken):
        vectors(odds, 1, 4, Rng())


@pytest.mark.parametrize("odds", [HALF, ONE // 3, 1, ONE - 1, ONE // 1000])
def test_many_coins_at_once_have_their_odds(odds: int) -> None:
    """At a false alarm of 1e-9 each; the seed is fixed, so it never comes."""
    rng = SeededRng(3)
    p = odds / ONE
    assert fits(flips(odds, 200_000, rng).astype(np.int64), 0, [1 - p, p])
    packed = vectors(odds, 1000, 203, rng)
    assert packed.shape == (1000, 26)
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    assert not bits[:, 203:].any()
    assert fits(bits[:, :203].ravel().astype(np.int64), 0, [1 - p, p])


def test_coins_that_meet_the_first_bits_of_their_odds_are_settled_by_the_others() -> None:
    odds = (5 << 21) + 7
    first = np.array([5, 5, 4, 6], dtype=np.uint32).tobytes()
    more = np.array([6 << 43, 7 << 43], dtype=np.uint64).tobytes()
    assert flips(odds, 4, Planted(first + more)).tolist() == [True, False, True, False]


@pytest.mark.parametrize(
    "protocol", [Direct.fitted(5, Fraction(1)), Unary.fitted(20, Fraction(1)), LocalHash.fitted(9, Fraction(1))]
)
def test_how_much_is_read_does_not_depend_on_the_answer(protocol: Direct | Unary | LocalHash) -> None:
    read: dict[int, list[int]] = {}
    for code in range(protocol.size):
        rng = SeededRng(5)
        sizes: list[int] = []
        coins = Coins(lambda n, rng=rng, sizes=sizes: (sizes.append(n), rng.raw(n))[1])
        for _ in range(20):
            protocol.report(code, coins, 77)
        read[code] = sizes
    assert len({tuple(sizes) for sizes in read.values()}) == 1


class Bytes:
    """A source that gives the bytes in order, whoever asks for how many."""

    def __init__(self, given: bytes) -> None:
        self.given = given
        self.read = 0

    def __call__(self, n: int) -> bytes:
        self.read += n
        return self.given[self.read - n : self.read]


@pytest.mark.parametrize("odds", [HALF, 1, ONE - 1, ONE // 3, 0x1234567 << 20])
@pytest.mark.parametrize("size", [1, 9, 300])
def test_a_vector_is_what_its_planes_say_from_the_first_to_the_last(odds: int, size: int) -> None:
    length = (size + 7) // 8
    lowest = (odds & -odds).bit_length() - 1
    for seed in range(20):
        given = SeededRng(seed).raw(length * 53)
        expected = 0
        for place in range(lowest, 53):
            plane = int.from_bytes(given[(place - lowest) * length :][:length], "little")
            expected = expected | plane if odds >> place & 1 else expected & plane
        assert Coins(Bytes(given)).vector(odds, size) == expected & ((1 << size) - 1)


def test_numbers_below_many_bounds_are_those_of_one_after_the_other() -> None:
    bounds = [3, 1000, 1, 1 << 48, 7]
    for seed in range(20):
        given = SeededRng(seed).raw(70)
        one = Coins(Bytes(given))
        many = Coins(Bytes(given))
        assert many.below_each(bounds) == [one.below(bound) for bound in bounds]


def test_numbers_below_many_bounds_are_drawn_again_in_turn() -> None:
    last = (ONE - 1).to_bytes(7, "little")
    for places in itertools.product((False, True), repeat=3):
        given = b"".join(last if place else bytes([7, 9]) + bytes(5) for place in places) + SeededRng(1).raw(70)
        one = Bytes(given)
        many = Bytes(given)
        assert Coins(many).below_each([3, 6, 12]) == [Coins(one).below(bound) for bound in (3, 6, 12)]
        assert many.read == one.read


def test_an_impossible_bound_among_many_is_refused() -> None:
    for bound in (0, -1, (1 << 48) + 1):
        with pytest.raises(InvariantBroken):
            Coins(Rng().raw).below_each([3, bound])
