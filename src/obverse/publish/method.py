"""What a release method is: it chooses what is measured, and makes tables of what comes back. It never sees an exact
value.

Sheets beside the tables of a release: what follows from the same noisy numbers, such as quantiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from obverse.catalog.model import Accounting
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.mechanisms.base import Additive
from obverse.plan.strategy.matrix import Block, Strategy
from obverse.publish.workload import Table, Workload

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Further:
    """Columns in order; masked values are missing. `words` tell how the sheet is read."""

    title: str
    file: str
    columns: Mapping[str, Array]
    types: Mapping[str, Type]
    words: str


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


LEVEL = 0.95
KNOWN = 1e-6  # a smaller deviation, in steps, is rounding of floats


@dataclass(frozen=True, slots=True)
class Terms:
    """How losses are counted, and what neighbours are: all that a method may know of the project."""

    accounting: Accounting
    neighbours: Neighbours

    def together(self, many: int) -> float:
        """Standard deviations that hold so many numbers at once with 95 %: each strays with 5 % of an equal part.

        Sums of Laplace noise are held by as many as one is.
        """
        beyond = (1 - LEVEL) / many
        return NormalDist().inv_cdf(1 - beyond / 2) if self.accounting == "zcdp" else -math.log(beyond) / math.sqrt(2)

    def half(self, stddev: Floats, step: float, many: int = 1) -> Floats:
        """Half of the intervals that hold so many numbers at once with 95 %. Noise is whole: it comes in steps of so
        much.

        Claim:   an interval holds its number X no less often than noise without steps, of the same variance, would.
        Proof:   let U be uniform within half a step. |X| <= |X + U| + step/2, so P[|X| <= h] >= P[|X + U| <= h -
                 step/2]; X + U has no steps, and step^2/12 more variance. What is known exactly has no interval.
        Assumes: X + U strays beyond so many deviations no more often than Gaussian noise (zcdp) or Laplace noise does.
        """
        wide = self.together(many) * np.sqrt(np.square(stddev) + step**2 / 12) + step / 2
        return np.where(np.asarray(stddev) > KNOWN * step, wide, 0.0)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a method wants measured: grouping sets, as places among the workload's attributes, and a strategy over
    them.
    """

    sets: tuple[Table, ...]
    strategy: Strategy


@dataclass(frozen=True, slots=True)
class Entries:
    """One measured block: its noise, what a released integer is worth, and, once it was measured, the integers."""

    block: Block
    mechanism: Additive
    unit: float  # of a count
    values: Integers | None = None

    @property
    def variance(self) -> float:
        """Of an entry, in counts."""
        return (self.mechanism.stddev() * self.unit) ** 2

    def counts(self) -> Floats:
        """The noisy entries as counts, in the block's shape."""
        assert self.values is not None
        return (self.values.astype(np.float64) * self.unit).reshape(self.block.shape)


Measured = tuple[Entries, ...]


def worth(measured: Measured) -> float:
    """What a released integer is worth: the steps that noise comes in."""
    return measured[0].unit


Ask = Callable[[Draft], Measured]  # charged once for all blocks; the sensitivities are not the method's business
Labels = tuple[dict[str, "Array"], dict[str, Type]]


@dataclass(frozen=True, slots=True)
class Expected:
    """The error of one published table: a cell's standard deviation and half of its 95 % interval; means where they
    differ.
    """

    title: str
    file: str
    cells: int
    stddev: float
    half_width: float
    kind: Literal["count", "rank"] = "count"  # of a table's cells; or of ranks, in rows, for a further sheet


@dataclass(frozen=True, slots=True)
class Published:
    """One table of a release: unbiased values with their standard deviations, and whole numbers beside them; all
    flat.
    """

    title: str
    file: str
    values: Floats
    stddev: Floats
    half_width: Floats
    whole: Integers


@dataclass(frozen=True, slots=True)
class Outcome:
    """All tables, and whether their whole numbers agree with each other on everything they share; and files of rows."""

    tables: tuple[Published, ...]
    agree: bool
    further: tuple[Further, ...] = ()
    notes: tuple[str, ...] = ()  # what the statement is to say of them
    rows: Mapping[str, Labels] = field(default_factory=dict)  # by file


@dataclass(frozen=True, slots=True)
class Law:
    """Something that must hold of published tables."""

    name: str
    holds: bool
    words: str


class Method(Protocol):
    """A release method with its workload: Claim, Proof and Assumes stand with each."""

    name: ClassVar[str]
    after: ClassVar[tuple[str, ...]]  # post-processing, in words

    @property
    def workload(self) -> Workload: ...

    def draft(self, terms: Terms) -> Draft:
        """What is measured, with weights of the method's choice."""
        ...

    def weighted(self, terms: Terms, weights: Mapping[str, Fraction]) -> Draft:
        """The same with these weights, by the blocks' names."""
        ...

    def errors(self, measured: Measured, terms: Terms) -> tuple[Expected, ...]:
        """From noise alone: known before anything is measured."""
        ...

    def finish(self, measured: Measured, terms: Terms) -> Outcome:
        """Tables from noisy entries alone."""
        ...

    def block_title(self, name: str) -> str: ...

    def block_labels(self, name: str) -> Labels:
        """What each entry of a block stands for."""
        ...

    def labels(self, place: int) -> Labels:
        """What each cell of a published table stands for."""
        ...

    def laws(self, tables: Sequence[Mapping[str, Array]], agree: bool) -> list[Law]:
        """What must hold between published tables, given by their columns `count` and `estimate`."""
        ...

    def invariants(self) -> str:
        """What was held exact, in words; empty where nothing was."""
        ...

    def pictures(self, outcome: Outcome) -> dict[str, tuple[str, str]]:
        """File to title and SVG."""
        ...

    def as_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Method: ...

    @classmethod
    def example(cls, workload: Workload) -> Method:
        """What trials run on: two attributes."""
        ...
