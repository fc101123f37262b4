"""Hadamard count mean sketch (HCMS): one bit of the transform of a row of a table of hashes. For items nobody has listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from obverse.collect.protocols.base import Coded, Estimated, Told, bytes_for, in_blocks, numbers_in, packed, tallied
from obverse.collect.protocols.direct import Direct
from obverse.collect.protocols.sketch import cell_sums, with_collisions
from obverse.collect.randomness.coins import Coins, flips
from obverse.collect.randomness.hashing import WORD, key_symbol, key_symbols_of
from obverse.collect.randomness.odds import HALF, ONE, share
from obverse.collect.randomness.transform import walsh_hadamard
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Doubles, Payloads

ROWS_MAX, COLUMNS_MAX = 1 << 20, 1 << 20
ROWS, COLUMNS = 1 << 10, 1 << 10
SPARSE = 8  # up to as many numbers for each report it is faster to count them all


@dataclass(frozen=True, slots=True)
class HadamardCountMean:
    """Cell `seed mod (rows columns)`, its row and coefficient, and one bit that is right with probability kept / 2**53.

    The bit is the parity of ones in (coefficient & column), the column being the row's hash of the key.

    Claim:   epsilon = ln(p / (1 - p)) per report and person, p = kept / 2**53, rounded up.
    Proof:   Apple 2017: the cell does not depend on the item; given it, the report is randomized response on one bit.
             Estimate: let c = 1 / (2 p - 1) and X = c or -c, the sign (-1)**parity that was sent times that of the item asked
             for. Over coefficients E[X] is 1 if the two columns are the same, else 0: the columns of a Hadamard matrix are
             orthogonal. For one's own item that is 1, for another one 1 / columns over hashes; this is taken away, dividing
             by 1 - 1 / columns. X**2 = c**2. `with_collisions` adds that the hashes are drawn once.
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
        invariant(1 <= self.rows <= ROWS_MAX, "a sketch has from 1 to 2**20 rows")
        invariant(2 <= self.columns <= COLUMNS_MAX, "a sketch has from 2 to 2**20 columns")
        invariant(self.columns & (self.columns - 1) == 0, "columns are a power of two")
        invariant(HALF < self.kept < ONE, "a bit is rather kept than flipped")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> HadamardCountMean:
        return cls(ROWS, COLUMNS, Direct.fitted(2, epsilon).truth)

    @classmethod
    def published(cls) -> HadamardCountMean:
        """As seen in a device's record: 1,024 rows of 32,768 columns at epsilon 4. Its counts take a quarter of a gigabyte."""
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
        import numpy as np

        cells = (rng.words(len(codes)) if seeds is None else seeds) % np.uint64(self.rows * self.columns)
        held = key_symbols_of(cells // np.uint64(self.columns), codes, self.columns)
        bits = np.bitwise_count(cells & np.uint64(self.columns - 1) & held) & np.uint8(1)
        sent = bits ^ ~flips(self.kept, len(codes), rng)
        return packed(cells << np.uint64(1) | sent, self.length)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < 2 * self.rows * self.columns

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        import numpy as np

        found: Bits = numbers_in(payloads) >> np.uint64(1) == seeds % (self.rows * self.columns)
        return found

    def fold(self, payloads: Payloads) -> Counts:
        """For each cell the sum of signs, and in the last column how many reports the row has."""
        import numpy as np

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
        import numpy as np

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

        Two reports of a row of N have one coefficient with probability 1 / columns, and then the product of their signs is
        on average the squared coefficient over c**2. A row's squared sums less N count these pairs twice; by Parseval squared
        coefficients sum to columns times squared shares of columns, and those to F2 + (1 - F2) / columns over hashes.
        """
        import numpy as np

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
