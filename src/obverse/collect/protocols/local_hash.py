"""Local hashing (OLH): the item is hashed to a few symbols by a hash of its own, and the symbol is randomized.

Local hashing with a public pool of hashes: the server's state and its work per report no longer grow with the items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.collect.protocols.base import (
    Coded,
    Estimated,
    Told,
    bytes_for,
    in_blocks,
    numbers_in,
    packed,
    supported,
    tallied,
    write_numbers,
)
from obverse.collect.protocols.count_mean import pool_squares, pool_sums, with_collisions
from obverse.collect.protocols.direct import Direct
from obverse.collect.randomness.coins import Coins, check_epsilon, exp_down, sway
from obverse.collect.randomness.hashing import mixed, symbol, symbols_of
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads


SEED_BYTES = 8
SYMBOLS_MAX = 256
SIZE_MAX = 1 << 24
CELLS = 1 << 14  # hashes at a time, so that they stay in the cache
FEW = 256  # reports, below which it is faster to take them one by one


@dataclass(frozen=True, slots=True)
class LocalHash:
    """A symbol of `answer.size`, of a hash whose seed comes from the report's token; the seed is sent along.

    Claim:   epsilon of `answer`, direct response over the symbols, per report and person.
    Proof:   the seed does not depend on the item; given the seed, the report is direct response on the symbol.
             Estimate: the own item is supported with p = P[truth], another one, whose symbol is uniform and independent
             over random seeds, with exactly q = 1 / symbols up to 2**-32 symbols; `supported` does the rest.
    Assumes: seeds are uniform and not chosen by the sender, for the estimate; for the loss nothing but one report per
             person, or the losses of all of them added.
    """

    name: ClassVar[str] = "local_hash"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "index"
    size: int
    answer: Direct

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= SIZE_MAX, "local hashing has from 2 to 2**24 items")
        invariant(2 <= self.answer.size <= SYMBOLS_MAX, "a hash has from 2 to 256 symbols")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> LocalHash:
        check_epsilon(epsilon)
        symbols = min(max(round(exp_down(epsilon)) + 1, 2), SYMBOLS_MAX)
        return cls(size, Direct.fitted(symbols, epsilon))

    @property
    def length(self) -> int:
        return SEED_BYTES + 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    def loss(self) -> Fraction:
        return self.answer.loss()

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        invariant(0 <= code < self.size, "an item of the list")
        sent = self.answer.report(symbol(seed, code, self.answer.size), coins)
        return seed.to_bytes(SEED_BYTES, "little") + sent

    @in_blocks
    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        invariant(bool(np.all(codes < self.size)), "items of the list")
        chosen = rng.words(len(codes)) if seeds is None else seeds
        found = np.empty((len(codes), self.length), dtype=np.uint8)
        write_numbers(found[:, :SEED_BYTES], chosen)
        found[:, SEED_BYTES:] = self.answer.reports(symbols_of(chosen, codes, self.answer.size), rng)
        return found

    def valid(self, payloads: Payloads) -> Bits:
        found: Bits = payloads[:, SEED_BYTES] < self.answer.size
        return found

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        found: Bits = numbers_in(payloads[:, :SEED_BYTES]) == seeds
        return found

    def fold(self, payloads: Payloads) -> Counts:
        """Each report is hashed against each item: the time is that of reports times items."""
        factors = mixed(numbers_in(payloads[:, :SEED_BYTES]))
        first, width = _ranges(payloads[:, SEED_BYTES], self.answer.size)
        words = mixed(factors) - first  # of item 0; wraps around where a hash lies before its symbol's range
        counts = np.zeros(self.size, dtype=np.int64)
        if len(payloads) < FEW:
            for parts in zip(factors, words, width):
                _add_report(counts, *parts)
            return counts
        for start in range(0, len(payloads), CELLS):
            some = slice(start, start + CELLS)
            _add_reports(counts, factors[some], words[some], width[some])
        return counts

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        return supported(counts[codes], n, self.answer.own, Fraction(1, self.answer.size))

    def leverage(self) -> float:
        return sway(self.answer.own, Fraction(1, self.answer.size))

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        if int.from_bytes(payload[:SEED_BYTES], "little") != seed:
            return Fraction(0)
        return self.answer.probability(symbol(seed, code, self.answer.size), payload[SEED_BYTES:])

    def payloads(self, seed: int) -> Iterator[bytes]:
        return (seed.to_bytes(SEED_BYTES, "little") + sent for sent in self.answer.payloads())


def _ranges(symbols: NDArray[np.uint8], size: int) -> tuple[Codes, Codes]:
    """Which of the 2**64 hashes, whose high half counts, give each symbol: the first one, and how many."""
    ends = [-(-(s << 32) // size) << 32 for s in range(size + 1)]
    first = ends[:-1]
    width = [end - start for start, end in pairwise(ends)]
    return np.array(first, dtype=np.uint64)[symbols], np.array(width, dtype=np.uint64)[symbols]


def _add_reports(counts: Counts, factors: Codes, words: Codes, width: Codes) -> None:
    """Count the reports that support each item, item by item: a report's hashes differ by its factor from item to
    item.
    """
    hits = np.empty(len(words), dtype=np.bool_)
    for item in range(len(counts)):
        np.less(words, width, out=hits)
        counts[item] += np.count_nonzero(hits)
        np.add(words, factors, out=words)


def _add_report(counts: Counts, factor: np.uint64, word: np.uint64, width: np.uint64) -> None:
    """Count the items that one report supports."""
    for low in range(0, len(counts), CELLS):
        items = np.arange(low, min(low + CELLS, len(counts)), dtype=np.uint64)
        items *= factor
        items += word
        counts[low : low + CELLS] += items < width


POOL = 1 << 16
POOL_MAX = 1 << 24
POOLED_SIZE_MAX = 1 << 32


@dataclass(frozen=True, slots=True)
class PooledHash:
    """A symbol of `answer.size`, of one of `pool` public hashes, which the report's token picks; its number is sent
    along.

    Claim:   epsilon of `answer`, direct response over the symbols, per report and person.
    Proof:   the number of the hash does not depend on the item; given it, the report is direct response on the symbol.
             Estimate: as for local hashing. The pool is drawn once: another item of share f shares the symbol of item v
                       in
             a share of the hashes that is 1/g only on average, with variance (1/g)(1 - 1/g)/pool; summed over items,
             and divided by (1 - 1/g)**2, that leaves (F2 - f_v**2) / (pool (g - 1)), however many reports there are.
    Assumes: hashes are picked uniformly and not by the sender, for the estimate; for the loss nothing but one report
             per person, or the losses of all of them added.
    """

    name: ClassVar[str] = "pooled_hash"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "index"
    size: int
    pool: int
    answer: Direct

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= POOLED_SIZE_MAX, "pooled hashing has from 2 to 2**32 items")
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
        number = seed % self.pool
        symbols = self.answer.size
        sent = int.from_bytes(self.answer.report(symbol(number, code, symbols), coins), "little")
        return (number * symbols + sent).to_bytes(self.length, "little")

    @in_blocks
    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
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
        return self.answer.probability(
            symbol(number, code, self.answer.size), sent.to_bytes(self.answer.length, "little")
        )

    def payloads(self, seed: int) -> Iterator[bytes]:
        first = seed % self.pool * self.answer.size
        return ((first + sent).to_bytes(self.length, "little") for sent in range(self.answer.size))
