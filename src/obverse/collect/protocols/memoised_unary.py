"""Unary encoding in two rounds (L-SUE, L-OSUE): bits randomized once for ever, and once more for each report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from obverse.collect.protocols.base import Coded, Estimated, Told, everyone, supported
from obverse.collect.protocols.bit_sums import column_sums
from obverse.collect.protocols.standing import with_standing
from obverse.collect.protocols.unary import Unary
from obverse.collect.randomness.coins import Coins, vectors
from obverse.collect.randomness.odds import EPSILON_MAX, HALF, ONE, check_epsilon, epsilon_of, exp_down, most_odds, share, sway
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads


@dataclass(frozen=True, slots=True)
class MemoisedUnary:
    """`first` randomizes the bits for ever; of these a 1 is sent as 1 with probability high / 2**53, a 0 with low / 2**53.

    Claim:   all reports ever of one item: epsilon of `first`. One report alone: epsilon = ln(p (1 - q) / (q (1 - p))), p the
             chance of a 1 for one's own item after both rounds and q that for another one, rounded up.
    Proof:   Arcolezi et al. 2022. All reports are made of the permanent bits. The bits of one report are independent coins,
             of p = p1 p2 + (1 - p1) q2 and q = q1 p2 + (1 - q1) q2, so it is unary encoding with these.
    Assumes: permanent bits never change, for the first; for the second there is but one report. When answers change is not
             hidden.
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
        low, high = coins.vector(self.low, self.size), coins.vector(self.high, self.size)
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
        found, gap = supported(counts[codes], n, self.own, self.other), share(self.high - self.low) ** 2
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
        sent, own = int.from_bytes(payload, "little"), held.bit_count()
        hit, stray = (sent & held).bit_count(), (sent & ~held).bit_count()
        return high**hit * (1 - high) ** (own - hit) * low**stray * (1 - low) ** (self.size - own - stray)
