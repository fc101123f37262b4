"""LOLOHA: local hashing for answers that change.

A hash kept for ever, a permanent answer for each of its few symbols.
"""

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
    numbers_in,
    packed,
    supported,
    tallied,
    with_standing,
)
from obverse.collect.protocols.count_mean import pool_squares, pool_sums, with_collisions
from obverse.collect.protocols.direct import Direct
from obverse.collect.protocols.local_hash import SYMBOLS_MAX
from obverse.collect.randomness.coins import (
    EPSILON_MAX,
    ONE,
    Coins,
    check_epsilon,
    epsilon_of,
    exp_down,
    most_odds,
    sway,
)
from obverse.collect.randomness.hashing import symbol, symbols_of
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

POOL = 1 << 10
POOL_MAX = 1 << 24
SIZE_MAX = 1 << 32


@dataclass(frozen=True, slots=True)
class Loloha:
    """Hash `seed mod pool` of the device, its symbol of the item; `first` randomizes a symbol for ever, `second` each
    report.

    Hashes are of a public pool: a hash of each device alone would name the device in every report.

    Claim:   all reports ever of answers of one symbol: epsilon of `first`. One report alone: epsilon = ln(p / p'),
             p = p1 p2 + (g - 1) q1 q2 and p' = (1 - p) / (g - 1), rounded up. All reports ever of people of whose
             reports the same ones share a symbol: epsilon of `first` for each symbol that is met, at most g.
    Proof:   Arcolezi et al. 2023. The hash does not depend on the items. Reports of a symbol are made of its permanent
             answer, direct response; permanent answers of different symbols are independent. Of two rounds of direct
             response the own symbol comes out if neither or both err, the second back: p. All others come out alike.
    Assumes: hash and permanent answers never change. Which reports share a symbol is not hidden.
    """

    name: ClassVar[str] = "loloha"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "index"
    size: int
    pool: int
    first: Direct
    second: Direct

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= SIZE_MAX, "there are from 2 to 2**32 items")
        invariant(2 <= self.pool <= POOL_MAX, "a pool has from 2 to 2**24 hashes")
        invariant(self.first.size == self.second.size <= SYMBOLS_MAX, "both rounds have the same symbols, 256 at most")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> Loloha:
        """All reports of one symbol lose at most twice what one does."""
        check_epsilon(epsilon)
        return cls.lasting_at(size, min(2 * epsilon, EPSILON_MAX), epsilon)

    @classmethod
    def lasting_at(cls, size: int, ever: Fraction, each: Fraction) -> Loloha:
        """`ever` for all reports of one symbol, `each` for one of them.

        Together the rounds are direct response at `each`.
        """
        check_epsilon(each)
        invariant(each <= ever, "one report loses no more than all of them")
        symbols = min(max(round(exp_down(each)) + 1, 2), SYMBOLS_MAX)
        first = Direct.fitted(symbols, ever)
        growth = exp_down(each)
        most = first.own / first.other
        ratio = (growth * (most + symbols - 2) - (symbols - 1)) / (most - growth) if most > growth else Fraction(ONE)
        fits = lambda odds: odds * symbols <= ONE or cls(size, POOL, first, Direct(symbols, odds)).loss() <= each  # noqa: E731
        truth = max(most_odds(ratio / (ratio + symbols - 1), fits), -(-ONE // symbols))
        return cls(size, POOL, first, Direct(symbols, truth))

    @property
    def symbols(self) -> int:
        return self.first.size

    @property
    def own(self) -> Fraction:
        """How often a report has the symbol of one's own item."""
        return self.first.own * self.second.own + (self.symbols - 1) * self.first.other * self.second.other

    @property
    def other(self) -> Fraction:
        return (1 - self.own) / (self.symbols - 1)

    @property
    def length(self) -> int:
        return bytes_for(self.pool * self.symbols)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.pool, self.symbols)

    def loss(self) -> Fraction:
        return epsilon_of(self.own / self.other)

    def lasting(self) -> Fraction:
        return self.first.loss()

    def lifetime(self, values: int) -> Fraction:
        return min(values, self.symbols) * self.lasting()

    def label(self, code: int, seed: int) -> int:
        return symbol(seed % self.pool, code, self.symbols)

    def permanent(self, code: int, coins: Coins, seed: int) -> int:
        invariant(0 <= code < self.size, "an item of the list")
        return int.from_bytes(self.first.report(self.label(code, seed), coins), "little")

    def instant(self, permanent: int, coins: Coins, seed: int) -> bytes:
        return self._payload(seed, int.from_bytes(self.second.report(permanent, coins), "little"))

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        return self.instant(self.permanent(code, coins, seed), coins, seed)

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        invariant(bool(np.all(codes < self.size)), "items of the list")
        numbers = (rng.words(len(codes)) if seeds is None else seeds) % np.uint64(self.pool)
        permanent = numbers_in(self.first.reports(symbols_of(numbers, codes, self.symbols), rng))
        sent = numbers_in(self.second.reports(permanent, rng))
        return packed(numbers * np.uint64(self.symbols) + sent, self.length)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < self.pool * self.symbols

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        found: Bits = numbers_in(payloads) // self.symbols == seeds % self.pool
        return found

    def fold(self, payloads: Payloads) -> Counts:
        return tallied(payloads, self.pool * self.symbols).reshape(self.shape)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        q = Fraction(1, self.symbols)
        gap = (self.second.own - self.second.other) ** 2
        found = supported(pool_sums(counts, codes), n, self.own, q)
        own, other = (float(chance * (1 - chance) * gap) for chance in (self.first.own, q))  # of a permanent symbol
        found = with_standing(found, own, other, n * float(self.own - q) ** 2)
        return with_collisions(found, pool_squares(counts, self.own - self.other), 1 / (self.pool * (self.symbols - 1)))

    def leverage(self) -> float:
        return sway(self.own, Fraction(1, self.symbols))

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        number, sent = divmod(int.from_bytes(payload, "little"), self.symbols)
        if number != seed % self.pool:
            return Fraction(0)
        return self.own if sent == self.label(code, seed) else self.other

    def standing(self, code: int, seed: int) -> Iterator[tuple[int, Fraction]]:
        held = self.label(code, seed)
        return ((found, self.first.own if found == held else self.first.other) for found in range(self.symbols))

    def given(self, permanent: int, payload: bytes, seed: int) -> Fraction:
        number, sent = divmod(int.from_bytes(payload, "little"), self.symbols)
        if number != seed % self.pool:
            return Fraction(0)
        return self.second.own if sent == permanent else self.second.other

    def payloads(self, seed: int) -> Iterator[bytes]:
        return (self._payload(seed, sent) for sent in range(self.symbols))

    def _payload(self, seed: int, sent: int) -> bytes:
        return (seed % self.pool * self.symbols + sent).to_bytes(self.length, "little")
