"""Direct response (k-ary randomized response, GRR): one's own item, or now and then another one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from obverse.collect.protocols.base import (
    Coded,
    Estimated,
    Told,
    bytes_for,
    everyone,
    in_blocks,
    numbers_in,
    packed,
    supported,
    tallied,
)
from obverse.collect.randomness.coins import (
    ONE,
    Coins,
    check_epsilon,
    epsilon_of,
    exp_down,
    flips,
    most_odds,
    share,
    sway,
)
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

SIZE_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class Direct:
    """The truth with probability truth / 2**53, else a uniform other item. Best for few items.

    Claim:   epsilon = ln(p / p') per report and person, p = truth / 2**53, p' = (1 - p) / (size - 1), rounded up;
             whichever two answers are compared.
    Proof:   Warner 1965, Kairouz et al. 2014: a report has probability p or p' under every answer, so no ratio exceeds
             p / p'. Share of support: p for the own item, p' for each other one; `supported` does the rest.
    Assumes: one report per person, or the losses of all of them added; size >= 2 and p >= p'.
    """

    name: ClassVar[str] = "direct"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "index"
    size: int
    truth: int

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= SIZE_MAX, "direct response has from 2 to 2**20 items")
        invariant(
            self.truth * self.size >= ONE and self.truth < ONE, "the truth is told at least as often as any other item"
        )

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> Direct:
        check_epsilon(epsilon)
        guess = exp_down(epsilon) / (exp_down(epsilon) + size - 1)
        fits = lambda odds: odds * size <= ONE or cls(size, odds).loss() <= epsilon  # noqa: E731
        return cls(size, max(most_odds(guess, fits), -(-ONE // size)))

    @classmethod
    def two_coins(cls) -> Direct:
        """Heads: the truth. Tails: toss again, and say yes or no by that coin. epsilon = ln 3, and p~ = 2 a - 1/2."""
        return cls(2, ONE // 4 * 3)

    @classmethod
    def truthful(cls, size: int, chance: Fraction) -> Direct:
        """The truth with this chance, else a uniform item of all, one's own among them; for two epsilon =
        ln((1+c)/(1-c)).
        """
        own = chance + (1 - chance) / size
        return cls(size, own.numerator * ONE // own.denominator)

    @property
    def own(self) -> Fraction:
        return share(self.truth)

    @property
    def other(self) -> Fraction:
        return (1 - self.own) / (self.size - 1)

    @property
    def length(self) -> int:
        return bytes_for(self.size)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    def loss(self) -> Fraction:
        return epsilon_of(self.own / self.other)

    def report(self, code: int, coins: Coins, seed: int = 0) -> bytes:
        invariant(0 <= code < self.size, "an item of the list")
        truth = coins.flip(self.truth)
        other = coins.below(self.size - 1)
        return (code if truth else other + (other >= code)).to_bytes(self.length, "little")

    @in_blocks
    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        invariant(bool(np.all(codes < self.size)), "items of the list")
        other = rng.below(self.size - 1, len(codes)).view(np.uint64)
        other += other >= codes
        return packed(np.where(flips(self.truth, len(codes), rng), codes, other), self.length)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < self.size

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        return everyone(payloads)

    def fold(self, payloads: Payloads) -> Counts:
        return tallied(payloads, self.size)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        return supported(counts[codes], n, self.own, self.other)

    def leverage(self) -> float:
        return sway(self.own, self.other)

    def probability(self, code: int, payload: bytes, seed: int = 0) -> Fraction:
        return self.own if int.from_bytes(payload, "little") == code else self.other

    def payloads(self, seed: int = 0) -> Iterator[bytes]:
        return (item.to_bytes(self.length, "little") for item in range(self.size))
