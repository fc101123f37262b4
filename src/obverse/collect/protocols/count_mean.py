"""Count mean sketch (CMS): one row of a table of hashes, every bit of it randomized. For items nobody has listed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from obverse.collect.protocols.base import Coded, Estimated, Told, bytes_for, numbers_in, packed, supported
from obverse.collect.protocols.bit_sums import grouped_sums
from obverse.collect.protocols.sketch import cell_sums, squared_shares, with_collisions
from obverse.collect.protocols.unary import Unary
from obverse.collect.randomness.coins import Coins, vectors
from obverse.collect.randomness.hashing import WORD, key_symbol, key_symbols_of
from obverse.collect.randomness.odds import HALF, ONE, share, sway
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

ROWS_MAX, COLUMNS_MAX = 1 << 20, 1 << 16
ROWS, COLUMNS = 1 << 10, 1 << 10


@dataclass(frozen=True, slots=True)
class CountMean:
    """Row `seed mod rows`, its hash of the key to one of `columns` bits, and each bit right with probability kept / 2**53.

    Claim:   epsilon = 2 ln(p / (1 - p)) per report and person, p = kept / 2**53, rounded up.
    Proof:   Apple 2017: the row does not depend on the item; given it, two items differ in two bits at most, and bits are
             independent: symmetric unary encoding over the columns. Estimate: one's own bit is set with probability p, that
             of another item, whose column is uniform over hashes, with q = (1 - p) + (2 p - 1) / columns; `supported` does
             the rest, `with_collisions` adds that the hashes are drawn once.
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
        import numpy as np

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
        import numpy as np

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
