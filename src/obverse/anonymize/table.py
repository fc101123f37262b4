"""A table as numbers: distinct rows as codes, how many rows share each, and whose they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Column:
    """Code i stands for values[i], the code after the last for a missing value, which is a value of its own."""

    name: str
    values: tuple[str, ...]
    codes: Codes

    @property
    def size(self) -> int:
        return len(self.values) + 1

    @property
    def missing(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Persons:
    """Whose the rows of each entry are, where a person may have several.

    `codes` is 0 for people all of whose rows are in this one entry; any other code names a person who is in several.
    `number` is how many people an entry has: 1 under a code above 0, and 0 in entries of the population alone. `most`
    is the largest number of rows that one of them has in it.
    """

    codes: Codes
    number: Counts
    most: Counts

    @property
    def size(self) -> int:
        """Codes are below it."""
        return int(self.codes.max(initial=0)) + 1

    def among(self, some: NDArray[np.bool_]) -> int:
        """How many different people these entries have."""
        codes = self.codes[some]
        number = self.number[some]
        spread = codes > 0
        return int(number[~spread].sum()) + len(np.unique(codes[spread & (number > 0)]))


@dataclass(frozen=True, slots=True)
class Table:
    """Distinct rows; `counts` says how many rows of the table are alike, `population` how many people of the population
    are.

    An entry that only the population has counts 0. Without `persons` each row is a person.
    """

    quasi: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    counts: Counts
    population: Counts | None = None
    persons: Persons | None = None

    def __post_init__(self) -> None:
        lengths = {len(column.codes) for column in (*self.quasi, *self.sensitive)} | {len(self.counts)}
        invariant(len(lengths) == 1, "columns have one length")

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.counts.sum())

    @property
    def people(self) -> int:
        """How many people the table has."""
        return self.people_of(np.ones(len(self.counts), dtype=bool))

    def people_of(self, some: NDArray[np.bool_]) -> int:
        """How many different people have a row in these entries."""
        if self.persons is None:
            return int(self.counts[some].sum())
        return self.persons.among(some)
