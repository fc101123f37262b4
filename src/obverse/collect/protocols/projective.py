"""Projective geometry response: about log2(size) bits, the least error that is known, and decoding by one fast
transform.

A sketch whose rows are answered by projective geometry: for items nobody has listed, the least error in a few bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

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
from obverse.collect.protocols.count_mean import cell_sums, squared_shares, with_collisions
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
from obverse.collect.randomness.hashing import WORD, key_symbol, key_symbols_of
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads


SIZE_MAX = 1 << 20
FIELD_MAX = 1 << 10
DIMS_MAX = 25
CELLS_MAX = 1 << 25  # vectors of the space, that the transform is made of


@dataclass(frozen=True, slots=True)
class Projective:
    """A point of the projective space over the field of `field` elements, a prime; `dims` coordinates, the first not 0
    being 1.

    Items are points, and one's own point v agrees with the points y for which v y = 0. With probability odds / 2**53
    one of these is sent, each alike, else one of all.

    Claim:   epsilon = ln(1 + r N / ((1 - r) s)) per report and person, r = odds / 2**53, rounded up; N points in all,
             of which s agree with an item.
    Proof:   Feldman, Nelson, Nguyen, Talwar 2022: a point has probability (1 - r) / N, and those that agree with the
             item have r / s more, whatever the item is. Estimate: of the points that agree with an item, c agree with
             any other item too (two planes meet alike), so the own item is supported with p = r + (1 - r) s / N and any
             other with q = r c / s + (1 - r) s / N; `supported` does the rest.
    Assumes: one report per person, or the losses of all of them added.
    """

    name: ClassVar[str] = "projective"
    told: ClassVar[Told] = "shares"
    coded: ClassVar[Coded] = "index"
    size: int
    field: int
    dims: int
    odds: int

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= SIZE_MAX, "projective geometry response has from 2 to 2**20 items")
        invariant(2 <= self.field <= FIELD_MAX and _is_prime(self.field), "a field has a prime number of elements")
        invariant(
            2 <= self.dims <= DIMS_MAX and self.field**self.dims <= CELLS_MAX, "the space has at most 2**25 vectors"
        )
        invariant(self.size <= self.points, "there is a point for each item")
        invariant(0 < self.odds < ONE, "odds lie strictly between none and all")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction, most: int = CELLS_MAX) -> Projective:
        """The field of least variance for items that few people have; near e**epsilon + 1 if the list is long.

        Farther from it, at epsilon 5 and more, where the transform would be larger than it may, or points more than
        `most`.
        """
        check_epsilon(epsilon)
        growth = exp_down(epsilon)
        _, field, dims = min(
            (_variance(field, dims, float(growth)), field, dims)
            for field in filter(_is_prime, range(2, FIELD_MAX))
            for dims in (_dims(field, size),)
            if field**dims <= CELLS_MAX and _points(field, dims) <= most
        )
        weight = (growth - 1) * _points(field, dims - 1)
        guess = weight / (weight + _points(field, dims))
        return cls(size, field, dims, most_odds(guess, lambda odds: cls(size, field, dims, odds).loss() <= epsilon))

    @property
    def points(self) -> int:
        return _points(self.field, self.dims)

    @property
    def agreeing(self) -> int:
        """Points that agree with an item."""
        return _points(self.field, self.dims - 1)

    @property
    def own(self) -> Fraction:
        return share(self.odds) + (1 - share(self.odds)) * Fraction(self.agreeing, self.points)

    @property
    def other(self) -> Fraction:
        common = Fraction(_points(self.field, self.dims - 2), self.agreeing)
        return share(self.odds) * common + (1 - share(self.odds)) * Fraction(self.agreeing, self.points)

    @property
    def length(self) -> int:
        return bytes_for(self.points)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.points,)

    def loss(self) -> Fraction:
        return epsilon_of(1 + Fraction(self.odds, ONE - self.odds) * Fraction(self.points, self.agreeing))

    def report(self, code: int, coins: Coins, seed: int = 0) -> bytes:
        invariant(0 <= code < self.size, "an item of the list")
        agreeing = coins.flip(self.odds)
        inside = coins.below(self.agreeing)
        word = coins.below(self.points)
        return (self._agreeing(code, inside) if agreeing else word).to_bytes(self.length, "little")

    @in_blocks
    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        invariant(bool(np.all(codes < self.size)), "items of the list")
        words = rng.below(self.points, len(codes))
        (people,) = np.nonzero(flips(self.odds, len(codes), rng))
        inside = rng.below(self.agreeing, len(people))
        words[people] = self._agreeing_of(codes[people].view(np.int64), inside)
        return packed(words.view(np.uint64), self.length)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < self.points

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        return everyone(payloads)

    def fold(self, payloads: Payloads) -> Counts:
        return tallied(payloads, self.points)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        return supported(self.support(counts)[codes], n, self.own, self.other)

    def support(self, counts: Counts) -> Counts:
        """How many reports agree with each point.

        Claim:   exact.
        Proof:   give the count of a point to all its multiples k y, k not 0. The Fourier transform over the field at v
                 is then the sum over points of count times (field - 1 if v y = 0, else -1): field times the support,
                 less all reports. It is computed in doubles and rounded; that all sums are near whole numbers is
                 checked.
        Assumes: far fewer than 2**50 reports.
        """
        r = self.field
        dims = self.dims
        whole = np.zeros(r**dims)
        first = 0
        for tail in range(dims):  # points with a 1 and then `tail` coordinates
            step = r**tail
            block = counts[first : first + step].reshape((r,) * tail)
            for factor in range(1, r):
                turned = block[np.ix_(*[np.arange(r) * pow(factor, -1, r) % r] * tail)] if tail else block
                whole[factor * step : (factor + 1) * step] = turned.reshape(-1)
            first += step
        sums = np.fft.rfftn(whole.reshape((r,) * dims)).real
        numbers = self._vectors(np.arange(self.points))
        last = numbers % r
        mirrored = np.where(last <= r // 2, numbers, self._negative(numbers))  # v and -v have the same sum
        rows = mirrored // r
        columns = mirrored % r
        found = (sums.reshape(-1, r // 2 + 1)[rows, columns] + counts.sum()) / r
        support: Counts = np.rint(found).astype(np.int64)
        invariant(bool(np.all(np.abs(found - support) < 0.25)), "the transform is near whole numbers")
        return support

    def agreement(self) -> NDArray[np.bool_]:
        """Which points agree with which: a symmetric matrix, for spaces that are small."""
        digits = self._vectors(np.arange(self.points))[:, None] // self._powers() % self.field
        found: NDArray[np.bool_] = digits @ digits.T % self.field == 0
        return found

    def leverage(self) -> float:
        return sway(self.own, self.other)

    def probability(self, code: int, payload: bytes, seed: int = 0) -> Fraction:
        point = int.from_bytes(payload, "little")
        product = sum(a * b for a, b in zip(self._digits(code), self._digits(point))) % self.field
        rate = share(self.odds)
        return (1 - rate) / self.points + (0 if product else rate / self.agreeing)

    def payloads(self, seed: int = 0) -> Iterator[bytes]:
        return (point.to_bytes(self.length, "little") for point in range(self.points))

    def _digits(self, point: int) -> list[int]:
        """Coordinates of a point, the last one first."""
        tail = 0
        while point >= self.field**tail:
            point = point - self.field**tail
            tail = tail + 1
        number = self.field**tail + point
        return [number // self.field**place % self.field for place in range(self.dims)]

    def _agreeing(self, code: int, inside: int) -> int:
        """The points that agree with an item, numbered below `agreeing`.

        Let v be 1 at coordinate l and 0 before. A point u with a coordinate less is spread over all but l, and y_l is
        chosen such that v y = 0. The first coordinate that is not 0 is then 1, unless it is y_l: then y is divided by
        it. Different points u give different points y, because u is y without y_l, up to a factor.
        """
        r = self.field
        own = self._digits(code)
        found = self._digits(inside)[:-1]
        place = max(place for place, digit in enumerate(own) if digit)
        pivot = -sum(a * b for a, b in zip(own[:place], found)) % r
        found.insert(place, pivot)
        factor = pow(next(digit for digit in reversed(found) if digit), -1, r)
        number: int = sum(digit * factor % r * r**place for place, digit in enumerate(found))
        unit: int = r ** max(place for place, digit in enumerate(found) if digit)
        return number - unit + (unit - 1) // (r - 1)

    def _agreeing_of(self, codes: Counts, inside: Counts) -> Counts:
        """`_agreeing` of many."""
        r = self.field
        own = self._vectors(codes)
        spread = self._vectors(inside)
        unit = self._powers()[np.searchsorted(self._powers(), own, side="right") - 1]  # of coordinate l
        before = spread // unit
        after = spread % unit
        left = own - unit
        right = after.copy()
        product = np.zeros_like(own)
        for _ in range(self.dims - 1):
            upper = left // r
            lower = right // r
            product += (left - upper * r) * (right - lower * r)
            left = upper
            right = lower
        pivot = -product % r
        (scaled,) = np.nonzero((before == 0) & (pivot > 1))
        factor = np.array([0] + [pow(k, -1, r) for k in range(1, r)])[pivot[scaled]]
        right = after[scaled]
        turned = np.zeros_like(scaled)
        for place in range(self.dims - 1):
            lower = right // r
            turned += (right - lower * r) * factor % r * r**place
            right = lower
        after[scaled] = turned
        pivot[scaled] = 1
        return self._numbers((before * r + pivot) * unit + after)

    def _vectors(self, points: Counts) -> Counts:
        """Points as the numbers that their coordinates are the digits of."""
        firsts = (self._powers() - 1) // (self.field - 1)
        tail = np.searchsorted(firsts, points, side="right") - 1
        return points - firsts[tail] + self._powers()[tail]

    def _numbers(self, vectors: Counts) -> Counts:
        units = self._powers()[np.searchsorted(self._powers(), vectors, side="right") - 1]
        return vectors - units + (units - 1) // (self.field - 1)

    def _negative(self, vectors: Counts) -> Counts:
        found = np.zeros_like(vectors)
        for place in range(self.dims):
            found += -(vectors // self.field**place) % self.field * self.field**place
        return found

    def _powers(self) -> NDArray[np.int64]:
        return np.array([self.field**place for place in range(self.dims)], dtype=np.int64)


def _is_prime(number: int) -> bool:
    return number >= 2 and all(number % factor for factor in range(2, isqrt(number) + 1))


def _points(field: int, dims: int) -> int:
    vectors: int = field**dims
    return (vectors - 1) // (field - 1)


def _dims(field: int, size: int) -> int:
    dims = 2
    while _points(field, dims) < size:
        dims += 1
    return dims


def _variance(field: int, dims: int, growth: float) -> float:
    """Of an item that nobody has, times reports."""
    points, agreeing, common = (_points(field, dims - less) for less in range(3))
    weight = agreeing * growth + points - agreeing
    p = agreeing * growth / weight
    q = (common * growth + agreeing - common) / weight
    return q * (1 - q) / (p - q) ** 2


ROWS = 1 << 8
ROWS_MAX = 1 << 20
COLUMNS_MIN = 1 << 8
COLUMNS_MAX = 1 << 11


@dataclass(frozen=True, slots=True)
class ProjectiveSketch:
    """Row `seed mod rows`, its hash of the key to one of as many columns as `answer` has points, and that column's
    answer.

    Claim:   epsilon of `answer`, projective geometry response over the columns, per report and person.
    Proof:   the row does not depend on the item; given it, the report is `answer` of the column. Estimate: one's own
             column is supported with p; that of another item, whose column is uniform over hashes, with q + (p - q) /
             columns; `supported` does the rest, `with_collisions` adds that the hashes are drawn once.
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
        if not counts.any():
            return counts
        found: Counts = (counts.astype(np.float64) @ self.answer.agreement()).astype(np.int64)
        return found

    def squares(self, counts: Counts, table: Counts) -> float:
        """F2, the sum of squared shares, cut to [0, 1]; from reports and their support."""
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
