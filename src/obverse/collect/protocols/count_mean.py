"""Count mean sketch (CMS): one row of a table of hashes, every bit of it randomized. For items nobody has listed.

Tables of a row for each hash: what an item's cells sum to, and what collisions leave.

Hadamard count mean sketch (HCMS): one bit of the transform of a row of a table of hashes. For items nobody has listed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

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
)
from obverse.collect.protocols.bit_sums import grouped_sums
from obverse.collect.protocols.direct import Direct
from obverse.collect.protocols.unary import Unary
from obverse.collect.randomness.coins import HALF, ONE, Coins, flips, share, sway, vectors
from obverse.collect.randomness.hashing import WORD, key_symbol, key_symbols_of, mixed, walsh_hadamard
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Doubles, Payloads


CELLS = 1 << 14  # hashes at a time, so that they stay in the cache


def cell_sums(table: Counts, keys: Codes, columns: int, hashes: int = 1) -> Counts:
    """For each key the sum over rows of the cells that the row's hashes give to it; row j has those from j times
    hashes on.
    """
    found = np.zeros(len(keys), dtype=np.int64)
    rows = np.arange(len(table) * hashes, dtype=np.uint64)[:, None]
    flat = table.reshape(-1)
    firsts = rows // np.uint64(hashes) * np.uint64(table.shape[1])
    for low in range(0, len(keys), CELLS):
        some = keys[low : low + CELLS]
        step = max(1, CELLS // len(some))
        for start in range(0, len(rows), step):
            cells = key_symbols_of(rows[start : start + step], some, columns)
            cells += firsts[start : start + step]
            found[low : low + CELLS] += flat.take(cells.view(np.int64)).sum(axis=0)
    return found


def pool_sums(table: Counts, items: Codes) -> Counts:
    """For each item the sum, over a pool of hashes, of the count of its symbol.

    The time is that of the pool times items.
    """
    pool, size = table.shape
    found = np.zeros(len(items), dtype=np.int64)
    symbols = np.uint64(size)
    flat = table.reshape(-1)
    for low in range(0, len(items), CELLS):
        some = items[low : low + CELLS]
        rows = max(1, CELLS // len(some))
        words = np.empty((rows, len(some)), dtype=np.uint64)
        for start in range(0, pool, rows):
            numbers = np.arange(start, min(start + rows, pool), dtype=np.uint64)[:, None]
            factors = mixed(numbers)
            here = words[: len(numbers)]
            np.multiply(factors, some, out=here)
            np.add(here, mixed(factors), out=here)
            np.right_shift(here, np.uint64(32), out=here)
            np.multiply(here, symbols, out=here)
            np.right_shift(here, np.uint64(32), out=here)
            np.add(here, numbers * symbols, out=here)
            found[low : low + CELLS] += flat[here.view(np.int64)].sum(axis=0)
    return found


def pool_squares(table: Counts, gap: Fraction) -> float:
    """F2, the sum of squared shares, cut to [0, 1]; `gap` is by how much more often a report has the own symbol than
    another.

    Two reports of one hash show one symbol with probability 1/g + (1 - 1/g) gap**2 F2 on average over hashes; pairs of
    one hash are counted, and this is solved for F2.
    """
    symbols = table.astype(np.float64)
    reports = table.sum(axis=1).astype(np.float64)
    q: float = 1 / table.shape[1]
    pairs = float((reports * (reports - 1)).sum())
    if not pairs:
        return 1.0
    alike = float((symbols * (symbols - 1)).sum()) / pairs
    return min(max((alike - q) / ((1 - q) * float(gap) ** 2), 0.0), 1.0)


def with_collisions(found: Estimated, squares: float, factor: float) -> Estimated:
    """The estimate with the variance of collisions added, for shares whose squares sum to F2 = `squares`.

    Hashes are drawn once. Of m of them a share is met in which another item, of share f, meets item v: on average that
    which the estimate takes away, with a variance that is one over m; summed over items it leaves factor (F2 - f_v**2)
    of variance, however many reports there are. For hashes to g symbols the factor is 1 / (m (g - 1)): they meet with
    probability 1/g, with variance (1/g) (1 - 1/g) / m, and taking the average away divides by (1 - 1/g)**2.
    """
    left = np.clip(squares - np.clip(found.value, 0.0, 1.0) ** 2, 0.0, 1.0)
    return replace(found, variance=found.variance + left * factor, floor=squares * factor)


def squared_shares(counts: Counts, own: Fraction, other: Fraction, held: float) -> float:
    """F2, the sum of squared shares, cut to [0, 1]; from counts of bits, a row for each hash, reports in the last
    column.

    A bit of the item's hash is sent as 1 with probability p, another with q; a bit is of an item's hash with
    probability h. Of a row of N reports, C with the bit set, ((C - N q)**2 - V) / (p - q)**2 is N**2 times the bit's
    squared share on average, V = C (N - C) / (N - 1) being for the variance of C. Over hashes squared shares of bits
    are h**2 + h (1 - h) F2 each.
    """
    (rows,) = np.nonzero(counts[:, -1] > 1)
    if not len(rows):
        return 1.0
    bits = counts[rows, :-1].astype(np.float64)
    many = counts[rows, -1:].astype(np.float64)
    found = float(((bits - many * float(other)) ** 2 - bits * (many - bits) / (many - 1)).sum())
    known: float = found / (float(own - other) ** 2 * float((many**2).sum()) * (counts.shape[1] - 1))
    return min(max((known - held**2) / (held * (1 - held)), 0.0), 1.0)


HADAMARD_ROWS_MAX = 1 << 20
HADAMARD_COLUMNS_MAX = 1 << 20
ROWS = 1 << 10
COLUMNS = 1 << 10
SPARSE = 8  # up to as many numbers for each report it is faster to count them all


@dataclass(frozen=True, slots=True)
class HadamardCountMean:
    """Cell `seed mod (rows columns)`, its row and coefficient, and one bit that is right with probability kept / 2**53.

    The bit is the parity of ones in (coefficient & column), the column being the row's hash of the key.

    Claim:   epsilon = ln(p / (1 - p)) per report and person, p = kept / 2**53, rounded up.
    Proof:   Apple 2017: the cell does not depend on the item; given it, the report is randomized response on one bit.
             Estimate: let c = 1 / (2 p - 1) and X = c or -c, the sign (-1)**parity that was sent times that of the item
                       asked
             for. Over coefficients E[X] is 1 if the two columns are the same, else 0: the columns of a Hadamard matrix
             are orthogonal. For one's own item that is 1, for another one 1 / columns over hashes; this is taken away,
             dividing by 1 - 1 / columns. X**2 = c**2. `with_collisions` adds that the hashes are drawn once.
    Assumes: cells are picked uniformly and not by the sender, for the estimate; for the loss nothing but one report per
             person, or the losses of all of them added. Columns are a power of two.
    """

    name: ClassVar[str] = "hadamard_count_mean"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "key"
    rows: int
    columns: int
    kept: int

    def __post_init__(self) -> None:
        invariant(1 <= self.rows <= HADAMARD_ROWS_MAX, "a sketch has from 1 to 2**20 rows")
        invariant(2 <= self.columns <= HADAMARD_COLUMNS_MAX, "a sketch has from 2 to 2**20 columns")
        invariant(self.columns & (self.columns - 1) == 0, "columns are a power of two")
        invariant(HALF < self.kept < ONE, "a bit is rather kept than flipped")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> HadamardCountMean:
        return cls(ROWS, COLUMNS, Direct.fitted(2, epsilon).truth)

    @classmethod
    def published(cls) -> HadamardCountMean:
        """As seen in a device's record: 1,024 rows of 32,768 columns at epsilon 4. Its counts take a quarter of a
        gigabyte.
        """
        return cls(1 << 10, 1 << 15, Direct.fitted(2, Fraction(4)).truth)

    @property
    def scale(self) -> float:
        return float(1 / (2 * share(self.kept) - 1))

    @property
    def length(self) -> int:
        return bytes_for(2 * self.rows * self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.rows, self.columns + 1)

    def loss(self) -> Fraction:
        return Direct(2, self.kept).loss()

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        invariant(0 <= code <= WORD, "a key of 64 bits")
        cell = seed % (self.rows * self.columns)
        bit = self._bit(code, cell) ^ (not coins.flip(self.kept))
        return (2 * cell + bit).to_bytes(self.length, "little")

    @in_blocks
    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        cells = (rng.words(len(codes)) if seeds is None else seeds) % np.uint64(self.rows * self.columns)
        held = key_symbols_of(cells // np.uint64(self.columns), codes, self.columns)
        bits = np.bitwise_count(cells & np.uint64(self.columns - 1) & held) & np.uint8(1)
        sent = bits ^ ~flips(self.kept, len(codes), rng)
        return packed(cells << np.uint64(1) | sent, self.length)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < 2 * self.rows * self.columns

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        found: Bits = numbers_in(payloads) >> np.uint64(1) == seeds % (self.rows * self.columns)
        return found

    def fold(self, payloads: Payloads) -> Counts:
        """For each cell the sum of signs, and in the last column how many reports the row has."""
        found = np.zeros(self.shape, dtype=np.int64)
        if 2 * self.rows * self.columns <= SPARSE * len(payloads):
            signs = tallied(payloads, 2 * self.rows * self.columns).reshape(self.rows, self.columns, 2)
            np.subtract(signs[:, :, 0], signs[:, :, 1], out=found[:, :-1])
            found[:, -1] = signs.reshape(self.rows, -1).sum(axis=1)
            return found
        numbers = numbers_in(payloads).view(np.int64)
        cells = numbers >> 1
        rows = cells // self.columns
        found[:, -1] = np.bincount(rows, minlength=self.rows)
        np.add.at(found.reshape(-1), cells + rows, 1 - 2 * (numbers & 1))  # a row has one place more than it has cells
        return found

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        sums = cell_sums(walsh_hadamard(counts[:, :-1]), codes, self.columns).astype(np.float64)
        back = 1 / (1 - 1 / self.columns)
        value: Doubles = (sums * (self.scale / n) - 1 / self.columns) * back
        known = np.clip(value, 0.0, 1.0)
        spread = self.scale**2 - known - (1 - known) / self.columns
        floor = 1 / (self.rows * (self.columns - 1))
        found = Estimated(value, spread * back**2 / n, tilt=-back / n, grain=self.scale * back / n)
        return with_collisions(found, self.squares(counts), floor)

    def squares(self, counts: Counts) -> float:
        """F2, the sum of squared shares, cut to [0, 1].

        Two reports of a row of N have one coefficient with probability 1 / columns, and then the product of their signs
        is on average the squared coefficient over c**2. A row's squared sums less N count these pairs twice; by
        Parseval squared coefficients sum to columns times squared shares of columns, and those to F2 + (1 - F2) /
        columns over hashes.
        """
        reports = counts[:, -1].astype(np.float64)
        pairs = float((reports * (reports - 1)).sum())
        if not pairs:
            return 1.0
        sums = counts[:, :-1].astype(np.float64)
        known = (float((sums**2).sum()) - float(reports.sum())) * self.scale**2 * self.columns / pairs
        return min(max((known - 1 / self.columns) / (1 - 1 / self.columns), 0.0), 1.0)

    def leverage(self) -> float:
        """Down from one's own item: the wrong sign counts as little as the right one counts much."""
        return (self.scale + 1) / (1 - 1 / self.columns)

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        cell, bit = divmod(int.from_bytes(payload, "little"), 2)
        if cell != seed % (self.rows * self.columns):
            return Fraction(0)
        return share(self.kept if bit == self._bit(code, cell) else ONE - self.kept)

    def payloads(self, seed: int) -> Iterator[bytes]:
        cell = seed % (self.rows * self.columns)
        return ((2 * cell + bit).to_bytes(self.length, "little") for bit in (0, 1))

    def _bit(self, code: int, cell: int) -> int:
        row, coefficient = divmod(cell, self.columns)
        return (coefficient & key_symbol(row, code, self.columns)).bit_count() & 1


ROWS_MAX = 1 << 20
COLUMNS_MAX = 1 << 16


@dataclass(frozen=True, slots=True)
class CountMean:
    """Row `seed mod rows`, its hash of the key to one of `columns` bits, and each bit right with probability kept /
    2**53.

    Claim:   epsilon = 2 ln(p / (1 - p)) per report and person, p = kept / 2**53, rounded up.
    Proof:   Apple 2017: the row does not depend on the item; given it, two items differ in two bits at most, and bits
             are independent: symmetric unary encoding over the columns. Estimate: one's own bit is set with probability
             p, that of another item, whose column is uniform over hashes, with q = (1 - p) + (2 p - 1) / columns;
             `supported` does the rest, `with_collisions` adds that the hashes are drawn once.
    Assumes: rows are picked uniformly and not by the sender, for the estimate; for the loss nothing but one report per
             person, or the losses of all of them added.
    """

    name: ClassVar[str] = "count_mean"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "key"
    rows: int
    columns: int
    kept: int

    def __post_init__(self) -> None:
        invariant(1 <= self.rows <= ROWS_MAX, "a sketch has from 1 to 2**20 rows")
        invariant(2 <= self.columns <= COLUMNS_MAX, "a sketch has from 2 to 2**16 columns")
        invariant(HALF < self.kept < ONE, "a bit is rather kept than flipped")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> CountMean:
        return cls(ROWS, COLUMNS, Unary.symmetric(2, epsilon).own)

    @classmethod
    def published(cls) -> CountMean:
        """Apple's for emoji: 65,536 rows of 1,024 bits at epsilon 4. Its counts take half a gigabyte."""
        return cls(1 << 16, 1 << 10, Unary.symmetric(2, Fraction(4)).own)

    @property
    def own(self) -> Fraction:
        return share(self.kept)

    @property
    def other(self) -> Fraction:
        return 1 - self.own + (2 * self.own - 1) / self.columns

    @property
    def head(self) -> int:
        """Bytes that say which row it is."""
        return bytes_for(self.rows)

    @property
    def length(self) -> int:
        return self.head + (self.columns + 7) // 8

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.rows, self.columns + 1)

    def loss(self) -> Fraction:
        return Unary(2, self.kept, ONE - self.kept).loss()

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        invariant(0 <= code <= WORD, "a key of 64 bits")
        row = seed % self.rows
        bits = coins.vector(ONE - self.kept, self.columns) ^ 1 << key_symbol(row, code, self.columns)
        return row.to_bytes(self.head, "little") + bits.to_bytes(self.length - self.head, "little")

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        rows = (rng.words(len(codes)) if seeds is None else seeds) % np.uint64(self.rows)
        held = key_symbols_of(rows, codes, self.columns)
        bits = np.ascontiguousarray(vectors(ONE - self.kept, len(codes), self.columns, rng))
        place = (np.arange(len(codes)), (held >> np.uint64(3)).view(np.int64))
        bits[place] ^= np.left_shift(np.uint8(1), (held & np.uint64(7)).astype(np.uint8))
        return np.concatenate([packed(rows, self.head), bits], axis=1)

    def valid(self, payloads: Payloads) -> Bits:
        spare = self.columns % 8
        found: Bits = self._rows(payloads) < self.rows
        return found & (payloads[:, -1] < 1 << spare) if spare else found

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        found: Bits = self._rows(payloads) == seeds % self.rows
        return found

    def fold(self, payloads: Payloads) -> Counts:
        """For each row how often each bit is set, and in the last column how many reports it has."""
        return grouped_sums(self._rows(payloads).view(np.int64), payloads, self.rows, self.columns, self.head)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        found = supported(cell_sums(counts, codes, self.columns), n, self.own, self.other)
        squares = squared_shares(counts, self.own, 1 - self.own, 1 / self.columns)
        return with_collisions(found, squares, 1 / (self.rows * (self.columns - 1)))

    def leverage(self) -> float:
        return sway(self.own, self.other)

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        row = seed % self.rows
        if int.from_bytes(payload[: self.head], "little") != row:
            return Fraction(0)
        flipped = int.from_bytes(payload[self.head :], "little") ^ 1 << key_symbol(row, code, self.columns)
        return (1 - self.own) ** flipped.bit_count() * self.own ** (self.columns - flipped.bit_count())

    def payloads(self, seed: int) -> Iterator[bytes]:
        row = (seed % self.rows).to_bytes(self.head, "little")
        for bits in itertools.product((0, 1), repeat=self.columns):
            yield row + sum(bit << place for place, bit in enumerate(bits)).to_bytes(self.length - self.head, "little")

    def _rows(self, payloads: Payloads) -> Codes:
        return numbers_in(payloads[:, : self.head])
