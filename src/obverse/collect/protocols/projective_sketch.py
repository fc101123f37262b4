"""A sketch whose rows are answered by projective geometry: for items nobody has listed, the least error in a few bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from obverse.collect.protocols.base import Coded, Estimated, Told, bytes_for, in_blocks, numbers_in, packed, supported, tallied
from obverse.collect.protocols.projective import Projective
from obverse.collect.protocols.sketch import cell_sums, squared_shares, with_collisions
from obverse.collect.randomness.coins import Coins
from obverse.collect.randomness.hashing import WORD, key_symbol, key_symbols_of
from obverse.collect.randomness.odds import sway
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

ROWS, ROWS_MAX = 1 << 8, 1 << 20
COLUMNS_MIN, COLUMNS_MAX = 1 << 8, 1 << 11


@dataclass(frozen=True, slots=True)
class ProjectiveSketch:
    """Row `seed mod rows`, its hash of the key to one of as many columns as `answer` has points, and that column's answer.

    Claim:   epsilon of `answer`, projective geometry response over the columns, per report and person.
    Proof:   the row does not depend on the item; given it, the report is `answer` of the column. Estimate: one's own column is
             supported with p; that of another item, whose column is uniform over hashes, with q + (p - q) / columns;
             `supported` does the rest, `with_collisions` adds that the hashes are drawn once.
    Assumes: rows are picked uniformly and not by the sender, for the estimate; for the loss nothing but one report per
             person, or the losses of all of them added.
    """

    name: ClassVar[str] = "projective_sketch"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "key"
    rows: int
    answer: Projective

    def __post_init__(self) -> None:
        invariant(1 <= self.rows <= ROWS_MAX, "a sketch has from 1 to 2**20 rows")
        invariant(self.answer.size == self.answer.points <= COLUMNS_MAX, "every point is a column, of at most 2**11")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> ProjectiveSketch:
        answer = Projective.fitted(COLUMNS_MIN, epsilon, most=COLUMNS_MAX)
        return cls(ROWS, replace(answer, size=answer.points))

    @property
    def columns(self) -> int:
        return self.answer.points

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    @property
    def own(self) -> Fraction:
        return self.answer.own

    @property
    def other(self) -> Fraction:
        return self.answer.other + (self.answer.own - self.answer.other) / self.columns

    @property
    def met(self) -> float:
        """The variance that collisions leave, for shares whose squares sum to one."""
        return 1 / (self.rows * (self.columns - 1))

    @property
    def length(self) -> int:
        return bytes_for(self.cells)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.rows, self.columns)

    def loss(self) -> Fraction:
        return self.answer.loss()

    def report(self, code: int, coins: Coins, seed: int) -> bytes:
        invariant(0 <= code <= WORD, "a key of 64 bits")
        row = seed % self.rows
        sent = self.answer.report(key_symbol(row, code, self.columns), coins)
        return (row * self.columns + int.from_bytes(sent, "little")).to_bytes(self.length, "little")

    @in_blocks
    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        import numpy as np

        rows = (rng.words(len(codes)) if seeds is None else seeds) % np.uint64(self.rows)
        sent = numbers_in(self.answer.reports(key_symbols_of(rows, codes, self.columns), rng))
        return packed(rows * np.uint64(self.columns) + sent, self.length)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < self.cells

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        found: Bits = numbers_in(payloads) // self.columns == seeds % self.rows
        return found

    def fold(self, payloads: Payloads) -> Counts:
        return tallied(payloads, self.cells).reshape(self.shape)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        table = self.support(counts)
        found = supported(cell_sums(table, codes, self.columns), n, self.own, self.other)
        return with_collisions(found, self.squares(counts, table), self.met)

    def support(self, counts: Counts) -> Counts:
        """For each row how many of its reports agree with each column; exact for fewer than 2**53 reports."""
        import numpy as np

        if not counts.any():
            return counts
        found: Counts = (counts.astype(np.float64) @ self.answer.agreement()).astype(np.int64)
        return found

    def squares(self, counts: Counts, table: Counts) -> float:
        """F2, the sum of squared shares, cut to [0, 1]; from reports and their support."""
        import numpy as np

        bits = np.concatenate([table, counts.sum(axis=1, keepdims=True)], axis=1)
        return squared_shares(bits, self.answer.own, self.answer.other, 1 / self.columns)

    def leverage(self) -> float:
        return sway(self.own, self.other)

    def probability(self, code: int, payload: bytes, seed: int) -> Fraction:
        row, sent = divmod(int.from_bytes(payload, "little"), self.columns)
        if row != seed % self.rows:
            return Fraction(0)
        return self.answer.probability(key_symbol(row, code, self.columns), sent.to_bytes(self.answer.length, "little"))

    def payloads(self, seed: int) -> Iterator[bytes]:
        first = seed % self.rows * self.columns
        return ((first + sent).to_bytes(self.length, "little") for sent in range(self.columns))
