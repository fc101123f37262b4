"""Rows with equal codes brought together: the one loop over rows that everything here is made of, and numpy runs it.

Classes of rows that look alike, with how many people hold each sensitive value in them: what models are judged by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.anonymize.table import Codes, Counts, Table

BITS = 63  # of a key that fits into a word
DENSE = 4  # cells counted directly rather than sorted, for each row


@dataclass(frozen=True)
class Grouped:
    """Distinct rows in the order of their codes, each weight added up over the rows that it stands for.

    Rows are keys of `sizes`, told apart into columns only when they are asked for; or columns, where no word holds a
    key.
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
    cells = prod(sizes)
    rows = len(weights[0])
    if rows == 0:
        return Grouped(np.zeros(0, dtype=np.int64), tuple(sizes), tuple(weights))
    if cells.bit_length() > BITS:
        return _by_columns(columns, tuple(sizes), weights)
    return grouped_keys(packed(columns, sizes), sizes, weights)


def grouped_keys(keys: NDArray[np.int64], sizes: Sequence[int], weights: Sequence[Counts]) -> Grouped:
    """Group by keys that were packed of columns with these sizes."""
    cells = prod(sizes)
    rows = len(keys)
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


def _counted(
    keys: NDArray[np.int64], cells: int, weights: Sequence[Counts]
) -> tuple[NDArray[np.int64], tuple[Counts, ...]]:
    """By a counter for each possible key. A double adds whole numbers exactly up to 2^53."""
    added = [np.bincount(keys, weights=weight, minlength=cells) for weight in weights]
    there = added[0] if len(weights) == 1 and weights[0].min() > 0 else np.bincount(keys, minlength=cells)
    present = np.flatnonzero(there)
    return present, tuple(weight[present].astype(np.int64) for weight in added)


def _sorted(
    keys: NDArray[np.int64], cells: int, weights: Sequence[Counts]
) -> tuple[NDArray[np.int64], tuple[Counts, ...]]:
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
        ordered = keys[order]
        sums = [weight[order] for weight in weights]
    starts = _changes(ordered)
    return ordered[starts], tuple(np.add.reduceat(weight, starts) for weight in sums)


def _by_columns(columns: Sequence[Codes], sizes: tuple[int, ...], weights: Sequence[Counts]) -> Grouped:
    """Where no word holds a key: sorted column after column."""
    order = np.lexsort(columns[::-1])
    nothing = np.zeros(0, dtype=np.int64)
    whole = Grouped(
        nothing, sizes, tuple(weight[order] for weight in weights), tuple(column[order] for column in columns)
    )
    starts = whole.starts(len(columns))
    added = tuple(np.add.reduceat(weight, starts) for weight in whole.weights)
    return Grouped(nothing, sizes, added, tuple(column[starts] for column in whole.given))


def _changes(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(ordered) else ordered


Rows = NDArray[np.int64] | slice


ALL = slice(None)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Class, value and people of each sensitive value that occurs in a class; in the order of classes, then values.

    Where a person has several values in a class, `fewest` are the people of each if everybody counts with the one of
    theirs that makes the class least diverse, and `shared` those if everybody counts one, shared by their values
    (persons.py).
    """

    classes: NDArray[np.int64]
    values: NDArray[np.int64]
    counts: Counts
    starts: NDArray[np.int64]  # of each class that has people
    of: NDArray[np.int64]  # the class that starts there
    fewest: Counts | None = None
    shared: NDArray[np.float64] | None = None

    @property
    def least_diverse(self) -> Counts:
        return self.counts if self.fewest is None else self.fewest

    @property
    def shares(self) -> NDArray[Any]:
        return self.counts if self.shared is None else self.shared


@dataclass(frozen=True, slots=True)
class Classes:
    """`sizes` people in each class, who have `rows` there; `population` people of the population where one is given.

    A class may have nobody.
    """

    sizes: Counts
    population: Counts | None
    pairs: tuple[Pairs, ...]  # for each sensitive column
    rows: Counts


def classes_of(rows: Grouped, quasi: int, sensitive_sizes: tuple[int, ...]) -> Classes:
    """Classes by the leading columns, of rows in the order of their codes; the columns after those are sensitive."""
    if not sensitive_sizes:  # every row is a class
        return Classes(rows.weights[0], rows.weights[1] if len(rows.weights) > 1 else None, (), rows.weights[0])
    starts = rows.starts(quasi)
    lengths = np.diff(np.append(starts, len(rows.weights[0])))
    added = [np.add.reduceat(weight, starts) if len(starts) else weight for weight in rows.weights]
    index = np.repeat(np.arange(len(starts), dtype=np.int32), lengths)
    pairs = tuple(
        pairs_of(index, column, rows.weights[0], len(starts), size)
        for column, size in zip(rows.columns[quasi:], sensitive_sizes)
    )
    return Classes(added[0], added[1] if len(added) > 1 else None, pairs, added[0])


def classes_by(index: NDArray[np.int64], classes: int, table: Table, counts: Counts, rows: Rows = ALL) -> Classes:
    """Classes by the number that each entry has, which is of `counts` rows; `rows` says which entries of the table."""
    if table.persons is not None:
        return _by_persons(index, classes, table, counts, rows)
    short = index.astype(np.int32)
    people = np.bincount(index, weights=counts, minlength=classes).astype(np.int64)
    pairs = tuple(pairs_of(short, column.codes[rows], counts, classes, column.size) for column in table.sensitive)
    population = None
    if table.population is not None:
        population = np.bincount(index, weights=table.population[rows], minlength=classes).astype(np.int64)
    return Classes(people, population, pairs, people)


def _by_persons(index: NDArray[np.int64], classes: int, table: Table, counts: Counts, rows: Rows) -> Classes:
    from obverse.anonymize.persons import Entries, classes_of_people

    assert table.persons is not None
    number = np.where(counts > 0, table.persons.number[rows], 0)
    population = None if table.population is None else table.population[rows]
    entries = Entries(index, table.persons.codes[rows], table.persons.size, number, counts, population)
    return classes_of_people(entries, classes, [(column.codes[rows], column.size) for column in table.sensitive])


def whole_of(table: Table, place: int, counts: Counts) -> NDArray[np.float64]:
    """The share of each value of a sensitive column in the table, of which `counts` rows of each entry are there."""
    column = table.sensitive[place]
    if table.persons is None:
        people = np.bincount(column.codes, weights=counts, minlength=column.size)
        return np.asarray(people / max(people.sum(), 1))
    whole = classes_by(np.zeros(len(counts), dtype=np.int64), 1, replace(table, sensitive=(column,)), counts)
    found = np.zeros(column.size)
    found[whole.pairs[0].values] = whole.pairs[0].shares
    return found / max(int(whole.sizes[0]), 1)


def one_value_each(table: Table, place: int) -> bool:
    """Whether everybody has one value of this sensitive column."""
    whole = classes_by(
        np.zeros(len(table.counts), dtype=np.int64),
        1,
        replace(table, sensitive=(table.sensitive[place],)),
        table.counts,
    )
    return whole.pairs[0].shared is None


def pairs_of(index: NDArray[np.int32], values: NDArray[np.int32], counts: Counts, classes: int, size: int) -> Pairs:
    """How often each value occurs in each class; what never occurs is left out."""
    found = grouped((index, values), (max(classes, 1), size), (counts,))
    here = found.weights[0] > 0
    index = found.columns[0][here]
    values = found.columns[1][here]
    counts = found.weights[0][here]
    starts = (
        np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1]))) if len(index) else np.zeros(0, dtype=np.int64)
    )
    return Pairs(
        classes=index.astype(np.int64),
        values=values.astype(np.int64),
        counts=counts,
        starts=starts,
        of=index[starts].astype(np.int64),
    )
