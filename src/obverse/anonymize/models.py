"""What a class of rows that look alike must be: large, diverse, close to the whole, or hard to be sure of.

Classes are counted by people. Where nobody is in two classes every model here is closed under merging: two classes that hold,
brought together, hold. So without suppression what holds at a node of the lattice holds above it. `absorbs` is more: a class
that holds, merged with any other, holds. Only then is the number of rows that must be suppressed never larger above a node, and
only then may a search conclude from one node to others while it suppresses.

Where somebody is in two classes that are brought together, they count once in the new one, and so do their values: shares are
no longer averaged, and somebody may come to hold several values. Only k stays as it is, which absorbs, since no merging makes
fewer people; and distinct l over a column of which everybody has one value in the whole table (`absorbing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from obverse.anonymize.classes import one_value_each
from obverse.anonymize.distances import distinct, entropies, equal, hierarchical, ordered, per_class, tails

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.classes import Classes
    from obverse.anonymize.table import Table

    Holds = NDArray[np.bool_]

ROUNDING = 1e-9
STRICT = 1e-12


class Model(Protocol):
    """A demand on each class."""

    @property
    def absorbs(self) -> bool: ...

    def holds(self, classes: Classes) -> Holds: ...

    @property
    def words(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Large:
    """k-anonymity: every row looks like at least k - 1 others. A larger class is larger, so it absorbs."""

    k: int
    absorbs: ClassVar[bool] = True

    def holds(self, classes: Classes) -> Holds:
        return classes.sizes >= self.k

    @property
    def words(self) -> str:
        return f"{self.k}-anonymity"


@dataclass(frozen=True, slots=True)
class Distinct:
    """Distinct l-diversity: at least l sensitive values in a class. More rows never take a value away, so it absorbs."""

    column: int
    name: str
    l: int  # noqa: E741
    absorbs: ClassVar[bool] = True

    def holds(self, classes: Classes) -> Holds:
        return distinct(classes, self.column) >= self.l

    @property
    def words(self) -> str:
        return f"distinct {self.l}-diversity of {self.name}"


@dataclass(frozen=True, slots=True)
class Entropy:
    """Entropy l-diversity: exp(entropy) of the sensitive values is at least l.

    Closed, since entropy is concave; it does not absorb: a large class of one value drowns a diverse one.
    """

    column: int
    name: str
    l: float  # noqa: E741
    absorbs: ClassVar[bool] = False

    def holds(self, classes: Classes) -> Holds:
        return np.exp(entropies(classes, self.column)) >= self.l - ROUNDING

    @property
    def words(self) -> str:
        return f"entropy {self.l:g}-diversity of {self.name}"


@dataclass(frozen=True, slots=True)
class Recursive:
    """Recursive (c, l)-diversity: the most frequent value occurs less than c times as often as the l-th and rarer together.

    Closed: the largest count of a merged class is at most the sum of both largest, its tail at least the sum of both tails.
    """

    column: int
    name: str
    c: float
    l: int  # noqa: E741
    absorbs: ClassVar[bool] = False

    def holds(self, classes: Classes) -> Holds:
        largest, tail = tails(classes, self.column, self.l)
        return largest < self.c * (1 - STRICT) * tail  # less, not as often: 1.1 * 110 is above 121 in doubles

    @property
    def words(self) -> str:
        return f"recursive ({self.c:g}, {self.l})-diversity of {self.name}"


@dataclass(frozen=True, slots=True)
class Close:
    """t-closeness: the distribution in a class is within t of the whole table's, suppressed rows included.

    Closed, since all three distances are convex.
    """

    column: int
    name: str
    t: float
    distance: str  # equal, ordered or hierarchical
    whole: NDArray[np.float64]
    levels: tuple[NDArray[np.int32], ...] = ()  # groups of the values at each level below the top, for hierarchical
    order: str = ""  # what the order is, where it may not be the one that was meant
    absorbs: ClassVar[bool] = False

    def far(self, classes: Classes) -> NDArray[np.float64]:
        if self.distance == "ordered":
            return ordered(classes, self.column, self.whole)
        if self.distance == "hierarchical":
            return hierarchical(classes, self.column, self.whole, self.levels)
        return equal(classes, self.column, self.whole)

    def holds(self, classes: Classes) -> Holds:
        return self.far(classes) <= self.t + ROUNDING

    @property
    def words(self) -> str:
        return f"{self.t:g}-closeness of {self.name}, {self.distance} distance{self.order}"


@dataclass(frozen=True, slots=True)
class Unsure:
    """(alpha, k)-anonymity beside k: no sensitive value has more than a share alpha of a class. Closed: shares are averaged."""

    column: int
    name: str
    alpha: float
    absorbs: ClassVar[bool] = False

    def holds(self, classes: Classes) -> Holds:
        largest = per_class(classes, self.column, lambda counts: counts, np.maximum)
        return largest <= (self.alpha + ROUNDING) * classes.sizes

    @property
    def words(self) -> str:
        return f"at most a share of {self.alpha:g} of a class for one {self.name}"


@dataclass(frozen=True, slots=True)
class Present:
    """Delta-presence: of the population that looks like a class, a share between low and high is in the table.

    Closed: shares are averaged. A suppressed class has a share of 0, so suppression helps only where low is 0.
    """

    low: float
    high: float
    absorbs: ClassVar[bool] = False

    def holds(self, classes: Classes) -> Holds:
        assert classes.population is not None
        people = np.maximum(classes.population, classes.sizes)
        return (classes.sizes >= (self.low - ROUNDING) * people) & (classes.sizes <= (self.high + ROUNDING) * people)

    @property
    def words(self) -> str:
        return f"({self.low:g}, {self.high:g})-presence"


def absorbing(models: Sequence[Model], table: Table, *, spread: bool) -> list[Model]:
    """The models that absorb; `spread` says whether somebody may be in two classes that are brought together."""
    if not spread:
        return [model for model in models if model.absorbs]
    return [m for m in models if isinstance(m, Large) or (isinstance(m, Distinct) and one_value_each(table, m.column))]


def all_hold(models: Sequence[Model], classes: Classes) -> Holds:
    found = np.ones(len(classes.sizes), dtype=bool)
    for model in models:
        found &= model.holds(classes)
    return found


def helped_by_suppression(models: Sequence[Model]) -> bool:
    return not any(isinstance(model, Present) and model.low > 0 for model in models)
