"""A table as numbers: distinct rows as codes, and how many people share each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.core.errors import invariant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
class Table:
    """Distinct rows; `counts` says how many people of the table share one, `population` how many of the population do.

    A row that only the population has counts 0.
    """

    quasi: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    counts: Counts
    population: Counts | None = None

    def __post_init__(self) -> None:
        lengths = {len(column.codes) for column in (*self.quasi, *self.sensitive)} | {len(self.counts)}
        invariant(len(lengths) == 1, "columns have one length")

    @property
    def rows(self) -> int:
        """How many people the table has."""
        return int(self.counts.sum())
