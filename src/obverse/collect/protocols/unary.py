"""Unary encoding: one bit per item, each randomized for itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, ClassVar

from obverse.collect.protocols.base import Coded, Estimated, Told, everyone, supported
from obverse.collect.protocols.bit_sums import column_sums
from obverse.collect.randomness.coins import Coins, flips, vectors
from obverse.collect.randomness.odds import HALF, ONE, check_epsilon, epsilon_of, exp_down, most_odds, share, sway
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

SIZE_MAX = 1 << 16


@dataclass(frozen=True, slots=True)
class Unary:
    """A bit per item: one's own is sent as 1 with probability p = own / 2**53, each other one with q = other / 2**53.

    Claim:   epsilon = ln(p (1 - q) / (q (1 - p))) per report and person, rounded up.
    Proof:   Erlingsson et al. 2014, Wang et al. 2017: two answers differ in two bits, and bits are independent; the ratio is
             largest where the one bit is 1 and the other 0, and there it is p / q times (1 - q) / (1 - p).
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
        p, q = share(self.own), share(self.other)
        return epsilon_of(p * (1 - q) / (q * (1 - p)))

    def report(self, code: int, coins: Coins, seed: int = 0) -> bytes:
        invariant(0 <= code < self.size, "an item of the list")
        others, own = coins.vector(self.other, self.size), coins.flip(self.own)
        return (others & ~(1 << code) | own << code).to_bytes(self.length, "little")

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        import numpy as np

        invariant(bool(np.all(codes < self.size)), "items of the list")
        found = np.ascontiguousarray(vectors(self.other, len(codes), self.size, rng))
        people, place = np.arange(len(codes)), (codes >> np.uint64(3)).view(np.int64)
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
