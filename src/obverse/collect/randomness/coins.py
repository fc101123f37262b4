"""Coins of the local model: one at a time as a device flips them, and many at once.

A device reads its randomness in a fixed manner, so that the JavaScript client makes the same report of the same bytes. How much
is read never depends on the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import mod
from struct import unpack
from typing import TYPE_CHECKING

from obverse.collect.randomness.odds import BITS, ONE
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        sevens, eights = self.raw(7 * len(bounds)), bytearray(8 * len(bounds))
        for place in range(6):
            eights[place::8] = sevens[place::7]
        eights[6::8] = sevens[6::7].translate(LOW_FIVE)
        read = unpack(f"<{len(bounds)}Q", eights)
        if max(read) < ONE - largest:  # none is among the last, of which some are drawn again
            return list(map(mod, read, bounds))
        left, found = chain(read, iter(self.number, None)), []
        for bound in bounds:
            drawn = next(left)
            while drawn >= ONE // bound * bound:
                drawn = next(left)
            found.append(drawn % bound)
        return found

    def vector(self, odds: int, size: int) -> int:
        """`size` coins as the bits of one integer, each set with probability odds / 2**53.

        Claim:   exactly these odds, independently.
        Proof:   let t_i be the bits of odds, i = 0 the least. Reading planes r_i of fair coins and setting acc to r_i and acc
                 where t_i = 0, r_i or acc where t_i = 1, P[acc] goes from a to a / 2 or (1 + a) / 2: that is
                 (t_i + a) / 2, so after all 53 it is the sum of t_i 2**(i - 53). Planes below the lowest set bit leave
                 zero as it is, and are not read. From the last plane back, a coin is decided by the first plane with
                 r_i = t_i, as t_i; so planes are gone through until all coins are.
        Assumes: 0 < odds < 2**53.
        """
        invariant(0 < odds < ONE, "odds lie strictly between none and all")
        length, lowest = (size + 7) // 8, (odds & -odds).bit_length() - 1
        planes, whole = self.raw(length * (BITS - lowest)), int.from_bytes
        found, open_ = 0, (1 << size) - 1
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
    Proof:   the event is w < odds for a uniform w of 53 bits. Its first 32 bits decide, except where they are those of odds;
             there the other 21 are drawn.
    Assumes: nothing.
    """
    import numpy as np

    high, low = odds >> (BITS - 32), odds & ((1 << (BITS - 32)) - 1)
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
    Proof:   64 comparisons w < odds at a time, from the highest bit of w down: a coin is decided at the first bit where w
             and odds differ, and where all 53 are equal it is false. Fresh bits are read only for words of which some coin is
             not decided.
    Assumes: 0 < odds < 2**53.
    """
    import numpy as np

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
    import numpy as np

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
                places, open_ = (kept if places is None else places[kept]), open_[kept]
