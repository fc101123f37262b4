"""Local hashing with a public pool of hashes: the server's state and its work per report no longer grow with the items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from obverse.collect.protocols.base import Coded, Estimated, Told, bytes_for, in_blocks, numbers_in, packed, supported, tallied
from obverse.collect.protocols.direct import Direct
from obverse.collect.protocols.local_hash import LocalHash
from obverse.collect.protocols.sketch import pool_squares, pool_sums, with_collisions
from obverse.collect.randomness.coins import Coins
from obverse.collect.randomness.hashing import symbol, symbols_of
from obverse.collect.randomness.odds import sway
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

POOL = 1 << 16
POOL_MAX = 1 << 24
SIZE_MAX = 1 << 32


@dataclass(frozen=True, slots=True)
class PooledHash:
    """A symbol of `answer.size`, of one of `pool` public hashes, which the report's token picks; its number is sent along.

    Claim:   epsilon of `answer`, direct response over the symbols, per report and person.
    Proof:   the number of the hash does not depend on the item; given it, the report is direct response on the symbol.
             Estimate: as for local hashing. The pool is drawn once: another item of share f shares the symbol of item v in
             a share of the hashes that is 1/g only on average, with variance (1/g)(1 - 1/g)/pool; summed over items, and
             divided by (1 - 1/g)**2, that leaves (F2 - f_v**2) / (pool (g - 1)), however many reports there are.
    Assumes: hashes are picked uniformly and not by the sender, for the estimate; for the loss nothing but one report per
             person, or the losses of all of them added.
    """

    name: ClassVar[str] = "pooled_hash"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "index"
    size: int
    pool: int
    answer: Direct

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= SIZE_MAX, "pooled hashing has from 2 to 2**32 items")
        invariant(2 <= self.pool <= POOL_MAX, "a pool has from 2 to 2**24 hashes")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> PooledHash:
        return cls(size, POOL, LocalHash.fitted(2, epsilon).answer)

    @property
    def length(self) -> int:
        return bytes_for(self.pool * self.answer.size)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.pool, self.answer.size)

    def loss(self) -> Fraction:
        return self.answer.loss()

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        invariant(0 <= code < self.size, "an item of the list")
        number, symbols = seed % self.pool, self.answer.size
        sent = int.from_bytes(self.answer.report(symbol(number, code, symbols), coins), "little")
        return (number * symbols + sent).to_bytes(self.length, "little")

    @in_blocks
    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        import numpy as np

        invariant(bool(np.all(codes < self.size)), "items of the list")
        numbers = (rng.words(len(codes)) if seeds is None else seeds) % np.uint64(self.pool)
        sent = numbers_in(self.answer.reports(symbols_of(numbers, codes, self.answer.size), rng))
        return packed(numbers * np.uint64(self.answer.size) + sent, self.length)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < self.pool * self.answer.size

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        found: Bits = numbers_in(payloads) // self.answer.size == seeds % self.pool
        return found

    def fold(self, payloads: Payloads) -> Counts:
        return tallied(payloads, self.pool * self.answer.size).reshape(self.shape)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        found = supported(pool_sums(counts, codes), n, self.answer.own, Fraction(1, self.answer.size))
        squares = pool_squares(counts, self.answer.own - self.answer.other)
        return with_collisions(found, squares, 1 / (self.pool * (self.answer.size - 1)))

    def leverage(self) -> float:
        return sway(self.answer.own, Fraction(1, self.answer.size))

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        number, sent = divmod(int.from_bytes(payload, "little"), self.answer.size)
        if number != seed % self.pool:
            return Fraction(0)
        return self.answer.probability(symbol(number, code, self.answer.size), sent.to_bytes(self.answer.length, "little"))

    def payloads(self, seed: int) -> Iterator[bytes]:
        first = seed % self.pool * self.answer.size
        return ((first + sent).to_bytes(self.length, "little") for sent in range(self.answer.size))
