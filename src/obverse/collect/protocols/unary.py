"""Unary encoding: one bit per item, each randomized for itself.

Unary encoding in two rounds (L-SUE, L-OSUE): bits randomized once for ever, and once more for each report.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from obverse.collect.protocols.base import Coded, Estimated, Told, everyone, supported, with_standing
from obverse.collect.protocols.bit_sums import column_sums
from obverse.collect.randomness.coins import (
    EPSILON_MAX,
    HALF,
    ONE,
    Coins,
    check_epsilon,
    epsilon_of,
    exp_down,
    flips,
    most_odds,
    share,
    sway,
    vectors,
)
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads


SIZE_MAX = 1 << 16


@dataclass(frozen=True, slots=True)
class Unary:
    """A bit per item: one's own is sent as 1 with probability p = own / 2**53, each other one with q = other / 2**53.

    Claim:   epsilon = ln(p (1 - q) / (q (1 - p))) per report and person, rounded up.
    Proof:   Erlingsson et al. 2014, Wang et al. 2017: two answers differ in two bits, and bits are independent; the
             ratio is largest where the one bit is 1 and the other 0, and there it is p / q times (1 - q) / (1 - p).
    Assumes: one report per person, or the losses of all of them added; 0 < q < p < 1.
    """

    name: ClassVar[str] = "unary"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "index"
    size: int
    own: int
    other: int

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= SIZE_MAX, "unary encoding has from 2 to 2**16 items")
        invariant(0 < self.other < self.own < ONE, "one's own bit is set more often than others")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> Unary:
        """Optimized (OUE): one's own bit is a fair coin, and the others are set as seldom as epsilon allows."""
        check_epsilon(epsilon)
        fits = lambda unset: unset <= HALF or epsilon_of(Fraction(unset, ONE - unset)) <= epsilon  # noqa: E731
        unset = most_odds(exp_down(epsilon) / (exp_down(epsilon) + 1), fits)
        return cls(size, HALF, ONE - unset)

    @classmethod
    def symmetric(cls, size: int, epsilon: Fraction) -> Unary:
        """Symmetric (SUE, basic RAPPOR): every bit is flipped with the same probability."""
        check_epsilon(epsilon)
        root = exp_down(epsilon / 2)
        fits = lambda kept: kept <= HALF or 2 * epsilon_of(Fraction(kept, ONE - kept)) <= epsilon  # noqa: E731
        kept = most_odds(root / (root + 1), fits)
        return cls(size, kept, ONE - kept)

    @property
    def length(self) -> int:
        return (self.size + 7) // 8

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    def loss(self) -> Fraction:
        p = share(self.own)
        q = share(self.other)
        return epsilon_of(p * (1 - q) / (q * (1 - p)))

    def report(self, code: int, coins: Coins, seed: int = 0) -> bytes:
        invariant(0 <= code < self.size, "an item of the list")
        others = coins.vector(self.other, self.size)
        own = coins.flip(self.own)
        return (others & ~(1 << code) | own << code).to_bytes(self.length, "little")

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        invariant(bool(np.all(codes < self.size)), "items of the list")
        found = np.ascontiguousarray(vectors(self.other, len(codes), self.size, rng))
        people = np.arange(len(codes))
        place = (codes >> np.uint64(3)).view(np.int64)
        bit = np.left_shift(np.uint8(1), (codes & np.uint64(7)).astype(np.uint8))
        own = flips(self.own, len(codes), rng)
        found[people, place] = np.where(own, found[people, place] | bit, found[people, place] & ~bit)
        return found

    def valid(self, payloads: Payloads) -> Bits:
        spare = self.size % 8
        if not spare:
            return everyone(payloads)
        found: Bits = payloads[:, -1] < (1 << spare)
        return found

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        return everyone(payloads)

    def fold(self, payloads: Payloads) -> Counts:
        return column_sums(payloads, self.size)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        return supported(counts[codes], n, share(self.own), share(self.other))

    def leverage(self) -> float:
        return sway(share(self.own), share(self.other))

    def probability(self, code: int, payload: bytes, seed: int = 0) -> Fraction:
        sent = int.from_bytes(payload, "little")
        odds = [share(self.own if item == code else self.other) for item in range(self.size)]
        return prod((p if sent >> item & 1 else 1 - p for item, p in enumerate(odds)), start=Fraction(1))

    def payloads(self, seed: int = 0) -> Iterator[bytes]:
        for bits in itertools.product((0, 1), repeat=self.size):
            yield sum(bit << place for place, bit in enumerate(bits)).to_bytes(self.length, "little")


@dataclass(frozen=True, slots=True)
class MemoisedUnary:
    """`first` randomizes the bits for ever; of these a 1 is sent as 1 with probability high / 2**53, a 0 with low /
    2**53.

    Claim:   all reports ever of one item: epsilon of `first`. One report alone: epsilon = ln(p (1 - q) / (q (1 - p))),
             p the chance of a 1 for one's own item after both rounds and q that for another one, rounded up.
    Proof:   Arcolezi et al. 2022. All reports are made of the permanent bits. The bits of one report are independent
             coins, of p = p1 p2 + (1 - p1) q2 and q = q1 p2 + (1 - q1) q2, so it is unary encoding with these.
    Assumes: permanent bits never change, for the first; for the second there is but one report. When answers change is
             not hidden.
    """

    name: ClassVar[str] = "memoised_unary"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "index"
    first: Unary
    high: int
    low: int

    def __post_init__(self) -> None:
        invariant(0 < self.low < self.high < ONE, "a permanent 1 is sent as 1 more often than a 0 is")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> MemoisedUnary:
        """All reports of one item lose at most twice what one does."""
        check_epsilon(epsilon)
        return cls.optimized(size, min(2 * epsilon, EPSILON_MAX), epsilon)

    @classmethod
    def optimized(cls, size: int, ever: Fraction, each: Fraction) -> MemoisedUnary:
        """L-OSUE: one's own permanent bit is a fair coin; bits are then flipped alike."""
        first = Unary.fitted(size, ever)
        return cls._flipped(first, 1 / (exp_down(each) + 1), share(first.other), each)

    @classmethod
    def symmetric(cls, size: int, ever: Fraction, each: Fraction) -> MemoisedUnary:
        """L-SUE: in both rounds every bit is flipped with the same probability."""
        first = Unary.symmetric(size, ever)
        return cls._flipped(first, 1 / (exp_down(each / 2) + 1), share(first.other), each)

    @classmethod
    def _flipped(cls, first: Unary, wanted: Fraction, other: Fraction, each: Fraction) -> MemoisedUnary:
        """A second round that flips with such odds that other bits come out as 1 about as often as wanted."""
        check_epsilon(each)
        guess = (1 - other - wanted) / (1 - 2 * other)
        fits = lambda high: high <= HALF or cls(first, high, ONE - high).loss() <= each  # noqa: E731
        high = most_odds(guess, fits)
        return cls(first, high, ONE - high)

    @property
    def size(self) -> int:
        return self.first.size

    @property
    def own(self) -> Fraction:
        return self._after(share(self.first.own))

    @property
    def other(self) -> Fraction:
        return self._after(share(self.first.other))

    @property
    def length(self) -> int:
        return self.first.length

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    def loss(self) -> Fraction:
        return epsilon_of(self.own * (1 - self.other) / (self.other * (1 - self.own)))

    def lasting(self) -> Fraction:
        return self.first.loss()

    def lifetime(self, values: int) -> Fraction:
        return min(values, self.size) * self.lasting()

    def label(self, code: int, seed: int) -> int:
        return code

    def permanent(self, code: int, coins: Coins, seed: int = 0) -> int:
        return int.from_bytes(self.first.report(code, coins), "little")

    def instant(self, permanent: int, coins: Coins, seed: int = 0) -> bytes:
        low = coins.vector(self.low, self.size)
        high = coins.vector(self.high, self.size)
        return ((low & ~permanent) | (high & permanent)).to_bytes(self.length, "little")

    def report(self, code: int, coins: Coins, seed: int = 0) -> bytes:
        return self.instant(self.permanent(code, coins), coins)

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        held = self.first.reports(codes, rng)
        low, high = (vectors(odds, len(codes), self.size, rng) for odds in (self.low, self.high))
        return (low & ~held) | (high & held)

    def valid(self, payloads: Payloads) -> Bits:
        return self.first.valid(payloads)

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        return everyone(payloads)

    def fold(self, payloads: Payloads) -> Counts:
        return column_sums(payloads, self.size)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        found = supported(counts[codes], n, self.own, self.other)
        gap = share(self.high - self.low) ** 2
        own, other = (share(odds) * (1 - share(odds)) * gap for odds in (self.first.own, self.first.other))
        return with_standing(found, float(own), float(other), n * float(self.own - self.other) ** 2)

    def leverage(self) -> float:
        return sway(self.own, self.other)

    def probability(self, code: int, payload: bytes, seed: int = 0) -> Fraction:
        return self._chance(payload, 1 << code, self.own, self.other)

    def standing(self, code: int, seed: int = 0) -> Iterator[tuple[int, Fraction]]:
        for payload in self.first.payloads():
            yield int.from_bytes(payload, "little"), self.first.probability(code, payload)

    def given(self, permanent: int, payload: bytes, seed: int = 0) -> Fraction:
        return self._chance(payload, permanent, share(self.high), share(self.low))

    def payloads(self, seed: int = 0) -> Iterator[bytes]:
        return self.first.payloads()

    def _after(self, chance: Fraction) -> Fraction:
        """How often a bit is sent as 1 that is permanently 1 with this chance."""
        return chance * share(self.high) + (1 - chance) * share(self.low)

    def _chance(self, payload: bytes, held: int, high: Fraction, low: Fraction) -> Fraction:
        sent = int.from_bytes(payload, "little")
        own = held.bit_count()
        hit = (sent & held).bit_count()
        stray = (sent & ~held).bit_count()
        return high**hit * (1 - high) ** (own - hit) * low**stray * (1 - low) ** (self.size - own - stray)
