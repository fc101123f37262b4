"""Classes of rows that look alike, with how many people hold each sensitive value in them: what models are judged by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.anonymize.grouping import Grouped, grouped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.table import Counts, Table

    Rows = NDArray[np.int64] | slice

ALL = slice(None)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Class, value and people of each sensitive value that occurs in a class; in the order of classes, then values.

    Where a person has several values in a class, `fewest` are the people of each if everybody counts with the one of theirs
    that makes the class least diverse, and `shared` those if everybody counts one, shared by their values (persons.py).
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
        np.zeros(len(table.counts), dtype=np.int64), 1, replace(table, sensitive=(table.sensitive[place],)), table.counts
    )
    return whole.pairs[0].shared is None


def pairs_of(index: NDArray[np.int32], values: NDArray[np.int32], counts: Counts, classes: int, size: int) -> Pairs:
    """How often each value occurs in each class; what never occurs is left out."""
    found = grouped((index, values), (max(classes, 1), size), (counts,))
    here = found.weights[0] > 0
    index, values, counts = found.columns[0][here], found.columns[1][here], found.weights[0][here]
    starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1]))) if len(index) else np.zeros(0, dtype=np.int64)
    return Pairs(index.astype(np.int64), values.astype(np.int64), counts, starts, index[starts].astype(np.int64))
