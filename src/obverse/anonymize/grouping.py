"""Rows with equal codes brought together: the one loop over rows that everything here is made of, and numpy runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.table import Codes, Counts

BITS = 63  # of a key that fits into a word
DENSE = 4  # cells counted directly rather than sorted, for each row


@dataclass(frozen=True)
class Grouped:
    """Distinct rows in the order of their codes, each weight added up over the rows that it stands for.

    Rows are keys of `sizes`, told apart into columns only when they are asked for; or columns, where no word holds a key.
    """

    keys: NDArray[np.int64]
    sizes: tuple[int, ...]
    weights: tuple[Counts, ...]
    given: tuple[Codes, ...] = ()

    @cached_property
    def columns(self) -> tuple[Codes, ...]:
        return self.given or _unpacked(self.keys, self.sizes)

    def column(self, place: int) -> Codes:
        """One column, without the others."""
        if self.given or "columns" in self.__dict__:
            return self.columns[place]
        found = self.keys // prod(self.sizes[place + 1 :])
        return (found % self.sizes[place]).astype(np.int32)

    def recoded(self, place: int, codes: Codes) -> Grouped:
        """The same rows with other codes in one column, below its size; brought together."""
        if self.given:
            columns = [codes if j == place else column for j, column in enumerate(self.given)]
            return grouped(columns, self.sizes, self.weights)
        moved = (codes.astype(np.int64) - self.column(place)) * prod(self.sizes[place + 1 :])
        return grouped_keys(self.keys + moved, self.sizes, self.weights)

    def __len__(self) -> int:
        return len(self.weights[0])

    def starts(self, leading: int) -> NDArray[np.int64]:
        """Where a new combination of the leading columns begins."""
        if not self.given:
            rest = prod(self.sizes[leading:])
            return _changes(self.keys if rest == 1 else self.keys // rest)
        fresh = np.zeros(len(self), dtype=bool)
        fresh[:1] = True
        for column in self.given[:leading]:
            fresh[1:] |= column[1:] != column[:-1]
        return np.flatnonzero(fresh)


def grouped(columns: Sequence[Codes], sizes: Sequence[int], weights: Sequence[Counts]) -> Grouped:
    """Group by all columns; column j has codes below sizes[j]."""
    cells, rows = prod(sizes), len(weights[0])
    if rows == 0:
        return Grouped(np.zeros(0, dtype=np.int64), tuple(sizes), tuple(weights))
    if cells.bit_length() > BITS:
        return _by_columns(columns, tuple(sizes), weights)
    return grouped_keys(packed(columns, sizes), sizes, weights)


def grouped_keys(keys: NDArray[np.int64], sizes: Sequence[int], weights: Sequence[Counts]) -> Grouped:
    """Group by keys that were packed of columns with these sizes."""
    cells, rows = prod(sizes), len(keys)
    if cells <= DENSE * rows:
        found, added = _counted(keys, cells, weights)
    else:
        found, added = _sorted(keys, cells, weights)
    return Grouped(found, tuple(sizes), added)


def numbered(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[NDArray[np.int64], int]:
    """A number for each row, the same where all codes are, in the order of the codes; and how many there are."""
    if not columns:
        raise ValueError("rows are told apart by columns")
    if prod(sizes).bit_length() <= BITS:
        found, index = np.unique(packed(columns, sizes), return_inverse=True)
        return index, len(found)
    index, _ = numbered(columns[:-1], sizes[:-1])
    found, index = np.unique(index * sizes[-1] + columns[-1], return_inverse=True)
    return index, len(found)


def packed(columns: Sequence[Codes], sizes: Sequence[int]) -> NDArray[np.int64]:
    """One number a row, the last column's code turning fastest."""
    keys = np.zeros(len(columns[0]), dtype=np.int64)
    for column, size in zip(columns, sizes):
        keys *= size
        keys += column
    return keys


def _unpacked(keys: NDArray[np.int64], sizes: Sequence[int]) -> tuple[Codes, ...]:
    found = []
    keys = keys.astype(np.uint32) if prod(sizes) <= 1 << 32 else keys  # half the memory to move
    for size in reversed(sizes):
        rest = keys // keys.dtype.type(size)  # by a constant: numpy does many at once, as it does not for divmod
        found.append((keys - rest * keys.dtype.type(size)).astype(np.int32))
        keys = rest
    return tuple(reversed(found))


def _counted(keys: NDArray[np.int64], cells: int, weights: Sequence[Counts]) -> tuple[NDArray[np.int64], tuple[Counts, ...]]:
    """By a counter for each possible key. A double adds whole numbers exactly up to 2^53."""
    added = [np.bincount(keys, weights=weight, minlength=cells) for weight in weights]
    there = added[0] if len(weights) == 1 and weights[0].min() > 0 else np.bincount(keys, minlength=cells)
    present = np.flatnonzero(there)
    return present, tuple(weight[present].astype(np.int64) for weight in added)


def _sorted(keys: NDArray[np.int64], cells: int, weights: Sequence[Counts]) -> tuple[NDArray[np.int64], tuple[Counts, ...]]:
    """By sorting; weights are sorted along within the key's word where they fit, which is three times faster."""
    bits = [int(weight.max()).bit_length() for weight in weights]
    beside = sum(bits)
    if cells.bit_length() + beside <= BITS:
        words = keys
        for weight, wide in zip(weights, bits):
            words = (words << wide) | weight
        short = np.uint32 if cells.bit_length() + beside <= 32 else np.int64  # half as wide is sorted in half the time
        words = np.sort(words.astype(short, copy=False)).astype(np.int64, copy=False)
        ordered = words >> beside
        ends = [sum(bits[place + 1 :]) for place in range(len(bits))]
        sums = [(words >> end) & ((1 << wide) - 1) for end, wide in zip(ends, bits)]
    else:
        order = np.argsort(keys, kind="stable")
        ordered, sums = keys[order], [weight[order] for weight in weights]
    starts = _changes(ordered)
    return ordered[starts], tuple(np.add.reduceat(weight, starts) for weight in sums)


def _by_columns(columns: Sequence[Codes], sizes: tuple[int, ...], weights: Sequence[Counts]) -> Grouped:
    """Where no word holds a key: sorted column after column."""
    order = np.lexsort(columns[::-1])
    nothing = np.zeros(0, dtype=np.int64)
    whole = Grouped(nothing, sizes, tuple(weight[order] for weight in weights), tuple(column[order] for column in columns))
    starts = whole.starts(len(columns))
    added = tuple(np.add.reduceat(weight, starts) for weight in whole.weights)
    return Grouped(nothing, sizes, added, tuple(column[starts] for column in whole.given))


def _changes(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(ordered) else ordered
