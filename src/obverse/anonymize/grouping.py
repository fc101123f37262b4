"""Rows with equal codes brought together: the one loop over rows that everything here is made of, and numpy runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.table import Codes, Counts

BITS = 63  # of a key that fits into a word
DENSE = 4  # cells counted directly rather than sorted, for each row


@dataclass(frozen=True, slots=True)
class Grouped:
    """Distinct rows in the order of their codes, each weight added up over the rows that it stands for."""

    columns: tuple[Codes, ...]
    weights: tuple[Counts, ...]

    def starts(self, leading: int) -> NDArray[np.int64]:
        """Where a new combination of the leading columns begins."""
        n = len(self.weights[0])
        fresh = np.zeros(n, dtype=bool)
        fresh[:1] = True
        for column in self.columns[:leading]:
            fresh[1:] |= column[1:] != column[:-1]
        return np.flatnonzero(fresh)


def grouped(columns: Sequence[Codes], sizes: Sequence[int], weights: Sequence[Counts]) -> Grouped:
    """Group by all columns; column j has codes below sizes[j]."""
    cells, rows = prod(sizes), len(weights[0])
    if rows == 0:
        return Grouped(tuple(columns), tuple(weights))
    if cells.bit_length() > BITS:
        return _by_columns(columns, weights)
    keys = packed(columns, sizes)
    if cells <= DENSE * rows:
        found, added = _counted(keys, cells, weights)
    else:
        found, added = _sorted(keys, cells, weights)
    return Grouped(_unpacked(found, sizes), added)


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
    for size in reversed(sizes):
        keys, code = np.divmod(keys, size)
        found.append(code.astype(np.int32))
    return tuple(reversed(found))


def _counted(keys: NDArray[np.int64], cells: int, weights: Sequence[Counts]) -> tuple[NDArray[np.int64], tuple[Counts, ...]]:
    """By a counter for each possible key. A double adds whole numbers exactly up to 2^53."""
    present = np.flatnonzero(np.bincount(keys, minlength=cells))
    added = (np.bincount(keys, weights=weight, minlength=cells)[present] for weight in weights)
    return present, tuple(weight.astype(np.int64) for weight in added)


def _sorted(keys: NDArray[np.int64], cells: int, weights: Sequence[Counts]) -> tuple[NDArray[np.int64], tuple[Counts, ...]]:
    """By sorting; one weight is sorted along within the key's word where it fits, which is three times faster."""
    beside = int(weights[0].max()).bit_length()
    if len(weights) == 1 and cells.bit_length() + beside <= BITS:
        words = np.sort((keys << beside) | weights[0])
        ordered, sums = words >> beside, [words & ((1 << beside) - 1)]
    else:
        order = np.argsort(keys, kind="stable")
        ordered, sums = keys[order], [weight[order] for weight in weights]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return ordered[starts], tuple(np.add.reduceat(weight, starts) for weight in sums)


def _by_columns(columns: Sequence[Codes], weights: Sequence[Counts]) -> Grouped:
    """Where no word holds a key: sorted column after column."""
    order = np.lexsort(columns[::-1])
    whole = Grouped(tuple(column[order] for column in columns), tuple(weight[order] for weight in weights))
    starts = whole.starts(len(columns))
    added = tuple(np.add.reduceat(weight, starts) for weight in whole.weights)
    return Grouped(tuple(column[starts] for column in whole.columns), added)
