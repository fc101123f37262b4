"""Coins of the local model: one at a time as a device flips them, and many at once.

A device reads its randomness in a fixed manner, so that the JavaScript client makes the same report of the same bytes.
How much is read never depends on the answer.

Probabilities of the local model: whole numbers of 2**53, so that every language flips the same coins.

Epsilon is computed from these integers and rounded up; no protocol ever sees a probability that was typed or rounded.

Permanent answers: coins that a device always flips alike, from its key. Nothing is stored but the key.

Whoever asks the same thing twice gets a report of the same permanent answer, so that averaging many reports finds that
answer, which is randomized itself, and never the true one.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from operator import mod
from struct import unpack

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import Refused, invariant
from obverse.core.rng import Rng
from obverse.mechanisms.enclosures import exp_minus, log_up

BITS = 53
ONE = 1 << BITS
HALF = ONE >> 1
EPSILON_MIN = Fraction(1, 1000)
EPSILON_MAX = Fraction(20)


def share(odds: int) -> Fraction:
    return Fraction(odds, ONE)


def epsilon_of(ratio: Fraction) -> Fraction:
    """The loss of a report whose probabilities differ by at most this ratio; rounded up."""
    return log_up(max(ratio, 1 / ratio))


def most_odds(guess: Fraction, fits: Callable[[int], bool]) -> int:
    """The largest odds that fit, found from a guess within a few steps of it.

    Assumes: whatever is below fitting odds fits.
    """
    odds = min(max(round(guess * ONE), 1), ONE - 1)
    while odds < ONE - 1 and fits(odds + 1):
        odds += 1
    while odds > 1 and not fits(odds):
        odds -= 1
    invariant(fits(odds), "some odds fit every epsilon that is allowed")
    return odds


def exp_down(epsilon: Fraction) -> Fraction:
    """e**epsilon, rounded down."""
    return 1 / exp_minus(epsilon)[1]


def sway(own: Fraction, other: Fraction) -> float:
    """By how much of a person one crafted report can move an item's number of people, up or down.

    Claim:   with own the chance that a report supports one's own item, other that of another one, the larger of 1 -
             other and own, divided by own - other.
    Proof:   a report that supports an item counts (1 - other) / (own - other) for it, another one -other / (own -
             other). Who crafts it would have counted 0 or 1 on average: from 0 up it is the first, from 1 down one more
             than the second.
    Assumes: own > other.
    """
    return float(max(1 - other, own) / (own - other))


def check_epsilon(epsilon: Fraction) -> None:
    if not EPSILON_MIN <= epsilon <= EPSILON_MAX:
        raise Refused(
            "bad_parameter",
            "the epsilon of a report lies between 0.001 and 20.",
            why="below, a report tells next to nothing; above, it tells nearly all, and nobody should send it.",
            fix="Choose an epsilon such as 1 or 2.",
        )


Bits = NDArray[np.bool_]
Bytes = NDArray[np.uint8]


BELOW_MAX = 1 << 48
LOW_FIVE = bytes(byte & 31 for byte in range(256))  # of the last of seven bytes, that end a number of 53 bits
WORDS = 1 << 15  # of 64 coins, that are flipped at a time so that they stay in the cache


class Coins:
    """A device's coins, from a source of uniform bytes."""

    __slots__ = ("raw",)

    def __init__(self, raw: Callable[[int], bytes]) -> None:
        self.raw = raw

    def number(self) -> int:
        """53 uniform bits: the low ones of 7 bytes, least significant first."""
        return int.from_bytes(self.raw(7), "little") & (ONE - 1)

    def flip(self, odds: int) -> bool:
        """True with probability odds / 2**53."""
        return self.number() < odds

    def below(self, bound: int) -> int:
        """Exactly uniform on 0 .. bound - 1: numbers from the largest multiple of the bound on are drawn again."""
        invariant(1 <= bound <= BELOW_MAX, "a uniform bound lies between 1 and 2**48")
        limit = ONE // bound * bound
        while True:
            drawn = self.number()
            if drawn < limit:
                return drawn % bound

    def below_each(self, bounds: Sequence[int]) -> list[int]:
        """`below` of each bound in turn, of the same bytes, that are read at once."""
        largest = max(bounds)
        invariant(min(bounds) >= 1 and largest <= BELOW_MAX, "a uniform bound lies between 1 and 2**48")
        sevens = self.raw(7 * len(bounds))
        eights = bytearray(8 * len(bounds))
        for place in range(6):
            eights[place::8] = sevens[place::7]
        eights[6::8] = sevens[6::7].translate(LOW_FIVE)
        read = unpack(f"<{len(bounds)}Q", eights)
        if max(read) < ONE - largest:  # none is among the last, of which some are drawn again
            return list(map(mod, read, bounds))
        left = chain(read, iter(self.number, None))
        found = []
        for bound in bounds:
            drawn = next(left)
            while drawn >= ONE // bound * bound:
                drawn = next(left)
            found.append(drawn % bound)
        return found

    def vector(self, odds: int, size: int) -> int:
        """`size` coins as the bits of one integer, each set with probability odds / 2**53.

        Claim:   exactly these odds, independently.
        Proof:   let t_i be the bits of odds, i = 0 the least. Reading planes r_i of fair coins and setting acc to r_i
                 and acc where t_i = 0, r_i or acc where t_i = 1, P[acc] goes from a to a / 2 or (1 + a) / 2: that is
                 (t_i + a) / 2, so after all 53 it is the sum of t_i 2**(i - 53). Planes below the lowest set bit leave
                 zero as it is, and are not read. From the last plane back, a coin is decided by the first plane with
                 r_i = t_i, as t_i; so planes are gone through until all coins are.
        Assumes: 0 < odds < 2**53.
        """
        invariant(0 < odds < ONE, "odds lie strictly between none and all")
        length = (size + 7) // 8
        lowest = (odds & -odds).bit_length() - 1
        planes = self.raw(length * (BITS - lowest))
        whole = int.from_bytes
        found = 0
        open_ = (1 << size) - 1
        for place in range(BITS - 1, lowest - 1, -1):
            start = (place - lowest) * length
            plane = open_ & whole(planes[start : start + length], "little")
            if odds >> place & 1:
                found |= plane
                open_ ^= plane
            else:
                open_ = plane
            if not open_:
                break
        return found


def flips(odds: int, n: int, rng: Rng) -> Bits:
    """n coins, each true with probability odds / 2**53.

    Claim:   exactly these odds, independently.
    Proof:   the event is w < odds for a uniform w of 53 bits. Its first 32 bits decide, except where they are those of
             odds; there the other 21 are drawn.
    Assumes: nothing.
    """
    high = odds >> (BITS - 32)
    low = odds & ((1 << (BITS - 32)) - 1)
    first = rng.words((n + 1) // 2).view(np.uint32)[:n]
    if high >> 32:  # all
        return np.ones(n, dtype=np.bool_)
    found: Bits = first < np.uint32(high)
    (tied,) = np.nonzero(first == np.uint32(high))
    if low and len(tied):
        found[tied] = (rng.words(len(tied)) >> np.uint64(64 - (BITS - 32))) < np.uint64(low)
    return found


def vectors(odds: int, n: int, size: int, rng: Rng) -> Bytes:
    """n rows of `size` coins as packed bits, least significant first; bits beyond the size are zero.

    Claim:   exactly these odds, independently.
    Proof:   64 comparisons w < odds at a time, from the highest bit of w down: a coin is decided at the first bit where
             w and odds differ, and where all 53 are equal it is false. Fresh bits are read only for words of which some
             coin is not decided.
    Assumes: 0 < odds < 2**53.
    """
    invariant(0 < odds < ONE, "odds lie strictly between none and all")
    width = (size + 63) // 64
    found = np.zeros((n, width), dtype=np.uint64)
    rows = max(1, WORDS // width)
    for start in range(0, n, rows):
        _flip_words(odds, found[start : start + rows], size, rng)
    packed: Bytes = found.astype("<u8", copy=False).view(np.uint8)[:, : (size + 7) // 8]
    return packed


def _flip_words(odds: int, rows: NDArray[np.uint64], size: int, rng: Rng) -> None:
    """Set the coins of these rows, which are zero, as `vectors` says."""
    n, width = rows.shape
    found = rows.reshape(-1)
    open_ = np.full(n * width, np.uint64(0xFFFFFFFFFFFFFFFF))
    if size % 64:
        open_.reshape(n, width)[:, -1] = np.uint64((1 << size % 64) - 1)
    lowest = (odds & -odds).bit_length() - 1
    places = None
    for place in range(BITS - 1, lowest - 1, -1):
        drawn = rng.words(len(open_))
        if odds >> place & 1:
            decided = open_ & ~drawn  # w has a zero where odds has a one: below
            if places is None:
                found |= decided
            else:
                found[places] |= decided
            open_ &= drawn
        else:
            open_ &= ~drawn
        if place <= BITS - 4:  # before, hardly a word is done
            (kept,) = np.nonzero(open_)
            if not len(kept):
                break
            if 4 * len(kept) < 3 * len(open_):
                places = kept if places is None else places[kept]
                open_ = open_[kept]


KEY_BYTES = 32
_SEED = b"seed"
_ANSWER = b"answer"
_BEYOND = b"beyond"
_MARK = b"mark"


@dataclass(frozen=True, slots=True)
class Memo:
    """A device's permanent coins for one question; the salt names the question, so that two have nothing in common.

    Claim:   coins of different labels, salts or devices are independent and uniform to anyone who has not the key.
    Proof:   bytes are HMAC-SHA256 in counter mode under HMAC-SHA256(key, purpose, salt, label), every part led by its
             length; a pseudorandom function on different inputs.
    Assumes: HMAC-SHA256 is a pseudorandom function; the key is 32 bytes of the system's entropy that never leave the
             device.
    """

    key: bytes = field(repr=False)
    salt: bytes

    def __post_init__(self) -> None:
        invariant(len(self.key) == KEY_BYTES, "the key of permanent answers has 32 bytes")

    def coins(self, label: int) -> Coins:
        """The coins of one permanent answer, from the first on."""
        return Coins(_Stream(self._under(_ANSWER, label.to_bytes(8, "little"))).raw)

    def beyond(self) -> Coins:
        """The coins of a permanent answer that tells of no answer, for a device that has spent all it may."""
        return Coins(_Stream(self._under(_BEYOND, b"")).raw)

    def mark(self, label: int) -> bytes:
        """What is remembered of a label that was used; who has not the key cannot try out which it was."""
        return self._under(_MARK, label.to_bytes(8, "little"))

    def seed(self) -> int:
        """The device's own seed for this question, the same for ever."""
        return int.from_bytes(self._under(_SEED, b"")[:8], "little")

    def _under(self, *parts: bytes) -> bytes:
        told = b"".join(len(part).to_bytes(8, "little") + part for part in (self.salt, *parts))
        return hmac.digest(self.key, b"obverse memo\0" + told, "sha256")


class _Stream:
    """Bytes of HMAC-SHA256 in counter mode, one after the other."""

    __slots__ = ("block", "key", "left")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.block = 0
        self.left = b""

    def raw(self, n: int) -> bytes:
        while len(self.left) < n:
            self.left += hmac.digest(self.key, self.block.to_bytes(8, "little"), "sha256")
            self.block += 1
        found = self.left[:n]
        self.left = self.left[n:]
        return found
