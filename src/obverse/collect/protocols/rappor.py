"""RAPPOR: a Bloom filter of the item, randomized once for ever, and once more for each report."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from obverse.collect.protocols.base import Coded, Estimated, Told, bytes_for, numbers_in, packed, with_standing
from obverse.collect.protocols.bit_sums import grouped_sums
from obverse.collect.protocols.count_mean import cell_sums, squared_shares, with_collisions
from obverse.collect.randomness.coins import (
    EPSILON_MAX,
    HALF,
    ONE,
    Coins,
    check_epsilon,
    epsilon_of,
    exp_down,
    most_odds,
    share,
    sway,
    vectors,
)
from obverse.collect.randomness.hashing import WORD, key_symbol, key_symbols_of
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Doubles, Payloads

BITS_MAX = 1 << 12
HASHES_MAX = 8
COHORTS_MAX = 1 << 16


@dataclass(frozen=True, slots=True)
class Rappor:
    """`bits` bits, of which `hashes` hashes of the device's cohort set up to as many.

    Permanent: each bit is flipped with probability f/2 = flip / 2**53. Reported: a permanent 1 is sent as 1 with
               probability
    q = high / 2**53, a permanent 0 with p = low / 2**53.

    Claim:   all reports ever of one item: epsilon = 2 h ln((1 - f/2) / (f/2)). One report alone: epsilon =
             h ln(q' (1 - p') / (p' (1 - q'))), q' = (1 - f/2) q + (f/2) p, p' = (f/2) q + (1 - f/2) p. Both rounded up.
    Proof:   Erlingsson, Pihur, Korolova 2014, theorems 1 and 2. Two items differ in at most h bits that are set for the
             one only and h for the other only. All reports are made of the permanent bits, which are independent, each
             with a ratio of at most (1 - f/2) / (f/2). One report's bits are independent coins of p' and q'.
    Assumes: a device's cohort and permanent bits never change, for the first; for the second there is but one report.
    """

    name: ClassVar[str] = "rappor"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "key"
    bits: int
    hashes: int
    cohorts: int
    flip: int
    low: int
    high: int

    def __post_init__(self) -> None:
        invariant(2 <= self.bits <= BITS_MAX, "a Bloom filter has from 2 to 4096 bits")
        invariant(1 <= self.hashes <= min(HASHES_MAX, self.bits), "a Bloom filter has from 1 to 8 hashes")
        invariant(1 <= self.cohorts <= COHORTS_MAX, "there are from 1 to 2**16 cohorts")
        invariant(0 < self.flip < HALF, "a permanent bit is rather right than flipped")
        invariant(0 < self.low < self.high < ONE, "a permanent 1 is sent as 1 more often than a 0 is")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> Rappor:
        """64 cohorts of 64 bits and one hash; all reports ever lose at most twice what one does."""
        check_epsilon(epsilon)
        ever = min(2 * epsilon, EPSILON_MAX)
        kept = most_odds(_odds_of(exp_down(ever / 2)), lambda odds: odds <= HALF or _twice(odds) <= ever)
        right = _odds_of(exp_down(epsilon / 2))
        guess = (right - (1 - share(kept))) / (2 * share(kept) - 1)
        fits = lambda high: high <= HALF or cls(64, 1, 64, ONE - kept, ONE - high, high).loss() <= epsilon  # noqa: E731
        high = most_odds(guess, fits)
        return cls(64, 1, 64, ONE - kept, ONE - high, high)

    @classmethod
    def published(cls) -> Rappor:
        """The defaults of its authors: 16 bits, 2 hashes, 64 cohorts, p = 1/2, q = 3/4, f = 1/2."""
        return cls(16, 2, 64, ONE // 4, ONE // 2, ONE // 4 * 3)

    @property
    def own(self) -> Fraction:
        """How often a bit of one's own is sent as 1."""
        return share(self.flip) * share(self.low) + (1 - share(self.flip)) * share(self.high)

    @property
    def other(self) -> Fraction:
        return share(self.flip) * share(self.high) + (1 - share(self.flip)) * share(self.low)

    @property
    def head(self) -> int:
        """Bytes that say which cohort it is."""
        return bytes_for(self.cohorts)

    @property
    def length(self) -> int:
        return self.head + (self.bits + 7) // 8

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.cohorts, self.bits + 1)

    def loss(self) -> Fraction:
        return self.hashes * epsilon_of(self.own * (1 - self.other) / (self.other * (1 - self.own)))

    def lasting(self) -> Fraction:
        return self.hashes * _twice(ONE - self.flip)

    def lifetime(self, values: int) -> Fraction:
        return values * self.lasting()

    def bloom(self, code: int, cohort: int) -> int:
        found = 0
        for number in range(cohort * self.hashes, (cohort + 1) * self.hashes):
            found |= 1 << key_symbol(number, code, self.bits)
        return found

    def label(self, code: int, seed: int) -> int:
        return code

    def permanent(self, code: int, coins: Coins, seed: int) -> int:
        invariant(0 <= code <= WORD, "a key of 64 bits")
        return coins.vector(self.flip, self.bits) ^ self.bloom(code, seed % self.cohorts)

    def instant(self, permanent: int, coins: Coins, seed: int) -> bytes:
        low = coins.vector(self.low, self.bits)
        high = coins.vector(self.high, self.bits)
        sent = (low & ~permanent) | (high & permanent)
        return (seed % self.cohorts).to_bytes(self.head, "little") + sent.to_bytes(self.length - self.head, "little")

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        return self.instant(self.permanent(code, coins, seed), coins, seed)

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        n = len(codes)
        people = np.arange(len(codes))
        cohorts = (rng.words(n) if seeds is None else seeds) % np.uint64(self.cohorts)
        held = np.zeros((n, (self.bits + 7) // 8), dtype=np.uint8)
        for bits in self.places(codes, cohorts):
            held[people, bits >> 3] |= np.left_shift(1, bits & 7).astype(np.uint8)
        held ^= vectors(self.flip, n, self.bits, rng)
        low = vectors(self.low, n, self.bits, rng)
        high = vectors(self.high, n, self.bits, rng)
        return np.concatenate([packed(cohorts, self.head), (low & ~held) | (high & held)], axis=1)

    def places(self, codes: Codes, cohorts: Codes) -> list[Counts]:
        """For each hash the bits of these keys in these cohorts, broadcast against each other."""
        first = cohorts * np.uint64(self.hashes)
        return [key_symbols_of(first + np.uint64(i), codes, self.bits).view(np.int64) for i in range(self.hashes)]

    def valid(self, payloads: Payloads) -> Bits:
        found: Bits = numbers_in(payloads[:, : self.head]) < self.cohorts
        return found & (payloads[:, -1] < 1 << self.bits % 8) if self.bits % 8 else found

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        found: Bits = numbers_in(payloads[:, : self.head]) == seeds % self.cohorts
        return found

    def fold(self, payloads: Payloads) -> Counts:
        """For each cohort how often each bit is set, and in the last column how many reports it has."""
        return grouped_sums(
            numbers_in(payloads[:, : self.head]).view(np.int64), payloads, self.cohorts, self.bits, self.head
        )

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        """Shares of items on their own, whatever the others are; `decode` finds better ones from a list of candidates.

        Claim:   unbiased over hashes, and of the stated variance.
        Proof:   a bit of an item is one of another with probability b = 1 - (1 - 1/k)**h; reports average h bits of the
                 item, of which two are the same with probability 1/k, and bits vary independently. Which share of the
                 item's bits another item has varies with a variance `a` over cohorts: with people's, divided by n, and,
                 because hashes are drawn once, divided by the cohorts.
        Assumes: cohorts are uniform.
        """
        support = cell_sums(counts, codes, self.bits, self.hashes).astype(np.float64)
        k = self.bits
        h = self.hashes
        p = float(self.own)
        q = float(self.other)
        held = 1 - (1 - 1 / k) ** h
        both = held / k + (1 - 1 / k) * (1 - 2 * (1 - 1 / k) ** h + (1 - 2 / k) ** h)
        varied = (held * (1 - held) + (h - 1) * (both - held**2)) / h
        back = (p - q) * (1 - held)
        value: Doubles = (support / (n * h) - q - (p - q) * held) / back
        known = np.clip(value, 0.0, 1.0)
        alike = (1 + (h - 1) / k) / h
        scale = n * back**2
        none = (held * p * (1 - p) + (1 - held) * q * (1 - q)) * alike + (p - q) ** 2 * varied
        tilt = p * (1 - p) * alike - none
        found = Estimated(value, (none + known * tilt) / scale, tilt=tilt / scale, grain=1 / (2 * n * h * back))
        kept = float(share(self.flip) * (1 - share(self.flip)) * share(self.high - self.low) ** 2) * alike
        found = with_standing(found, kept, kept + (p - q) ** 2 * varied, scale)
        squares = squared_shares(counts, self.own, self.other, held)
        return with_collisions(found, squares, varied / (self.cohorts * (1 - held) ** 2))

    def leverage(self) -> float:
        missed = (1 - Fraction(1, self.bits)) ** self.hashes  # by which a bit is not another item's
        return sway(self.own, self.own - (self.own - self.other) * missed)

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        cohort = seed % self.cohorts
        if int.from_bytes(payload[: self.head], "little") != cohort:
            return Fraction(0)
        return self._chance(payload, self.bloom(code, cohort), self.own, self.other)

    def standing(self, code: int, seed: int) -> Iterator[tuple[int, Fraction]]:
        held = self.bloom(code, seed % self.cohorts)
        flip = share(self.flip)
        for permanent in range(1 << self.bits):
            flipped = (permanent ^ held).bit_count()
            yield permanent, flip**flipped * (1 - flip) ** (self.bits - flipped)

    def given(self, permanent: int, payload: bytes, seed: int) -> Fraction:
        return self._chance(payload, permanent, share(self.high), share(self.low))

    def payloads(self, seed: int) -> Iterator[bytes]:
        cohort = (seed % self.cohorts).to_bytes(self.head, "little")
        for bits in itertools.product((0, 1), repeat=self.bits):
            yield cohort + sum(bit << place for place, bit in enumerate(bits)).to_bytes(
                self.length - self.head, "little"
            )

    def _chance(self, payload: bytes, held: int, high: Fraction, low: Fraction) -> Fraction:
        sent = int.from_bytes(payload[self.head :], "little")
        own = held.bit_count()
        hit = (sent & held).bit_count()
        stray = (sent & ~held).bit_count()
        return high**hit * (1 - high) ** (own - hit) * low**stray * (1 - low) ** (self.bits - own - stray)


def _odds_of(ratio: Fraction) -> Fraction:
    return ratio / (ratio + 1)


def _twice(odds: int) -> Fraction:
    return 2 * epsilon_of(Fraction(odds, ONE - odds))
