"""Hashes that every client computes alike: of texts to 64 bits, and of these with a seed to a few symbols.

No promise rests on them: a report is private whatever the hash is. Estimates rest on their spreading items evenly.

Numbers on a grid of places, between bounds; rounded at random, so that places are right on average.

The Walsh-Hadamard transform on integers: exact, and in n log n.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from obverse.collect.randomness.coins import ONE, Coins
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Codes, Doubles


@dataclass(frozen=True, slots=True)
class Grid:
    """Places 0 .. size - 1 from low to high; numbers beyond the bounds are taken for the bounds."""

    low: Fraction
    high: Fraction
    size: int

    def __post_init__(self) -> None:
        invariant(self.low < self.high, "the lower bound is below the upper one")
        invariant(self.size >= 2, "a grid has two places at least")

    def place(self, number: float | Fraction, coins: Coins) -> int:
        """One of the two places beside the number, with its own for the mean, to 2**-53 of a step."""
        invariant(not isinstance(number, float) or math.isfinite(number), "a number is finite")
        along = (min(max(Fraction(number), self.low), self.high) - self.low) / (self.high - self.low) * (self.size - 1)
        whole = math.floor(along)
        return whole + coins.flip(round((along - whole) * ONE))

    def places(self, numbers: Doubles, rng: Rng) -> Codes:
        """Places of many; in doubles."""
        invariant(bool(np.isfinite(numbers).all()), "numbers are finite")
        low = float(self.low)
        high = float(self.high)
        along = (np.clip(numbers, low, high) - low) / (high - low) * (self.size - 1)
        whole = np.minimum(np.floor(along), self.size - 1)
        drawn = (rng.words(len(numbers)) >> np.uint64(11)) * 2.0**-53
        return (whole + (drawn < along - whole)).astype(np.uint64)

    def number(self, share: float) -> float:
        """What a mean of places, between 0 and 1, stands for."""
        return float(self.low) + share * float(self.high - self.low)


Integers = NDArray[np.int64]


def walsh_hadamard(rows: Integers) -> Integers:
    """Each row times the matrix of (-1)**(number of ones in i & j); a new array.

    Claim:   exact, as long as the sum of a row's absolute values is below 2**63.
    Proof:   Sylvester: H of 2 h is (H, H; H, -H), so that a step adds and subtracts halves of runs of 2 h; no number
             met on the way exceeds that sum.
    Assumes: rows of a length that is a power of two.
    """
    n, length = rows.shape
    invariant(length & (length - 1) == 0, "a transform has a power of two of places")
    found = rows.copy()
    spare = np.empty_like(rows)
    half = 1
    while half < length:
        runs = found.reshape(n, -1, 2, half)
        out = spare.reshape(n, -1, 2, half)
        np.add(runs[:, :, 0], runs[:, :, 1], out=out[:, :, 0])
        np.subtract(runs[:, :, 0], runs[:, :, 1], out=out[:, :, 1])
        found, spare, half = spare, found, 2 * half
    return found


Words = NDArray[np.uint64]


WORD = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
SYMBOLS_MAX = 1 << 32


def canonical(text: str) -> bytes:
    """The bytes of a text: UTF-8 of its composed form (NFC), so that one word has one hash on every keyboard."""
    return unicodedata.normalize("NFC", text).encode()


def digest_word(kind: str, *parts: bytes) -> int:
    """64 bits of SHA-256, of a purpose and parts that each are led by their length; least significant byte first."""
    hashed = hashlib.sha256(f"obverse {kind}\0".encode())
    for part in parts:
        hashed.update(len(part).to_bytes(8, "little"))
        hashed.update(part)
    return int.from_bytes(hashed.digest()[:8], "little")


def item_key(text: str) -> int:
    return digest_word("item", canonical(text))


def mix(word: int) -> int:
    """A bijection of 64-bit words in which each bit depends on all (the finisher of splitmix64)."""
    word = (word + _STEP) & WORD
    word = ((word ^ word >> 30) * _FIRST) & WORD
    word = ((word ^ word >> 27) * _SECOND) & WORD
    return word ^ word >> 31


def symbol(seed: int, item: int, symbols: int) -> int:
    """Which of `symbols` symbols the seed's hash gives to an item below 2**32.

    Over random seeds two items are hashed independently, each to 32 uniform bits (multiply, add, shift; Dietzfelbinger
    1996).
    """
    factor = mix(seed)
    return (((factor * item + mix(factor)) & WORD) >> 32) * symbols >> 32


def key_symbol(seed: int, key: int, symbols: int) -> int:
    """Which of `symbols` symbols the seed's hash gives to a key of 64 bits."""
    return (mix(mix(seed) ^ key) >> 32) * symbols >> 32


def mixed(words: Words) -> Words:
    """`mix` of many."""
    found = words + np.uint64(_STEP)
    found ^= found >> np.uint64(30)
    found *= np.uint64(_FIRST)
    found ^= found >> np.uint64(27)
    found *= np.uint64(_SECOND)
    found ^= found >> np.uint64(31)
    return found


def symbols_of(seeds: Words, items: Words, symbols: int) -> Words:
    """`symbol` of many, seeds and items broadcast against each other."""
    invariant(2 <= symbols <= SYMBOLS_MAX, "a hash has from 2 to 2**32 symbols")
    factors = mixed(seeds)
    found = factors * items
    found += mixed(factors)
    found >>= np.uint64(32)
    found *= np.uint64(symbols)
    found >>= np.uint64(32)
    return found


def key_symbols_of(seeds: Words, keys: Words, symbols: int) -> Words:
    """`key_symbol` of many, seeds and keys broadcast against each other."""
    invariant(2 <= symbols <= SYMBOLS_MAX, "a hash has from 2 to 2**32 symbols")
    found = mixed(mixed(seeds) ^ keys)
    found >>= np.uint64(32)
    found *= np.uint64(symbols)
    found >>= np.uint64(32)
    return found
