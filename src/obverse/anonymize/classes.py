"""Classes of rows that look alike, with how often each sensitive value occurs in them: what models are judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from obverse.anonymize.grouping import Grouped, grouped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.table import Counts, Table

    Rows = NDArray[np.int64] | slice

ALL = slice(None)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Class, value and count of each sensitive value that occurs in a class; in the order of classes, then values."""

    classes: NDArray[np.int64]
    values: NDArray[np.int64]
    counts: Counts
    starts: NDArray[np.int64]  # of each class that has people
    of: NDArray[np.int64]  # the class that starts there


@dataclass(frozen=True, slots=True)
class Classes:
    """`sizes` people in each class, `population` of them in the population where one is given; a class may have none."""

    sizes: Counts
    population: Counts | None
    pairs: tuple[Pairs, ...]  # for each sensitive column


def classes_of(rows: Grouped, quasi: int, sensitive_sizes: tuple[int, ...]) -> Classes:
    """Classes by the leading columns, of rows in the order of their codes; the columns after those are sensitive."""
    if not sensitive_sizes:  # every row is a class
        return Classes(rows.weights[0], rows.weights[1] if len(rows.weights) > 1 else None, ())
    starts = rows.starts(quasi)
    lengths = np.diff(np.append(starts, len(rows.weights[0])))
    added = [np.add.reduceat(weight, starts) if len(starts) else weight for weight in rows.weights]
    index = np.repeat(np.arange(len(starts), dtype=np.int32), lengths)
    pairs = tuple(
        pairs_of(index, column, rows.weights[0], len(starts), size)
        for column, size in zip(rows.columns[quasi:], sensitive_sizes)
    )
    return Classes(added[0], added[1] if len(added) > 1 else None, pairs)


def classes_by(index: NDArray[np.int64], classes: int, table: Table, counts: Counts, rows: Rows = ALL) -> Classes:
    """Classes by the number that each row has; `counts` people in each, `rows` of the table alone."""
    short = index.astype(np.int32)
    people = np.bincount(index, weights=counts, minlength=classes).astype(np.int64)
    pairs = tuple(pairs_of(short, column.codes[rows], counts, classes, column.size) for column in table.sensitive)
    population = None
    if table.population is not None:
        population = np.bincount(index, weights=table.population[rows], minlength=classes).astype(np.int64)
    return Classes(people, population, pairs)


def pairs_of(index: NDArray[np.int32], values: NDArray[np.int32], counts: Counts, classes: int, size: int) -> Pairs:
    """How often each value occurs in each class; what never occurs is left out."""
    found = grouped((index, values), (max(classes, 1), size), (counts,))
    here = found.weights[0] > 0
    index, values, counts = found.columns[0][here], found.columns[1][here], found.weights[0][here]
    starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1]))) if len(index) else np.zeros(0, dtype=np.int64)
    return Pairs(index.astype(np.int64), values.astype(np.int64), counts, starts, index[starts].astype(np.int64))
