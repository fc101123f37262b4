"""What a class of rows that look alike must be: large, diverse, close to the whole, or hard to be sure of.

Classes are counted by people. Where nobody is in two classes every model here is closed under merging: two classes that
hold, brought together, hold. So without suppression what holds at a node of the lattice holds above it. `absorbs` is
more: a class that holds, merged with any other, holds. Only then is the number of rows that must be suppressed never
larger above a node, and only then may a search conclude from one node to others while it suppresses.

Where somebody is in two classes that are brought together, they count once in the new one, and so do their values:
shares are no longer averaged, and somebody may come to hold several values. Only k stays as it is, which absorbs, since
no merging makes fewer people; and distinct l over a column of which everybody has one value in the whole table
(`absorbing`).

Numbers of each class's sensitive values: counts, entropy, tails, and distance from the whole table's distribution.

Counts are of people: those of the least diverse choice for diversity, those of evenly shared people for distances.

Only values that occur in a class are looked at, so the work is that of one GROUP BY however many values there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from obverse.anonymize.grouping import Classes, Pairs, one_value_each, pairs_of
from obverse.anonymize.table import Table

Numbers = NDArray[np.float64]


def per_class(
    classes: Classes, column: int, of: Callable[[NDArray[np.int64]], NDArray[Any]], add: Any = np.add
) -> NDArray[Any]:
    """A number of each value's people, added up (or reduced otherwise) within each class."""
    pairs = classes.pairs[column]
    counts = pairs.least_diverse
    return _spread(classes, pairs, add.reduceat(of(counts), pairs.starts) if len(pairs.starts) else counts)


def _spread(classes: Classes, pairs: Pairs, found: NDArray[Any]) -> NDArray[Any]:
    """For all classes; 0 for those without people."""
    spread = np.zeros(len(classes.sizes), dtype=found.dtype)
    spread[pairs.of] = found
    return spread


def distinct(classes: Classes, column: int) -> NDArray[np.int64]:
    """How many values there are; of people with several, the fewest values of which everybody has one, or fewer."""
    return per_class(classes, column, lambda counts: (counts > 0).astype(np.int64))


def entropies(classes: Classes, column: int) -> Numbers:
    """In nats: ln n - sum of c ln c / n."""
    people = np.maximum(classes.sizes, 1)
    return np.log(people) - per_class(classes, column, lambda counts: counts * np.log(np.maximum(counts, 1))) / people


def tails(classes: Classes, column: int, l: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # noqa: E741
    """The largest count of each class, and the sum of all from the l-th largest on."""
    pairs = classes.pairs[column]
    order = np.lexsort((-pairs.least_diverse, pairs.classes))
    lengths = np.diff(np.append(pairs.starts, len(order)))
    place = np.arange(len(order)) - np.repeat(pairs.starts, lengths)
    counts = pairs.least_diverse[order]
    late = np.where(place >= l - 1, counts, 0)
    largest, tail = (np.add.reduceat(part, pairs.starts) if len(order) else counts
                     for part in (np.where(place == 0, counts, 0), late))  # fmt: skip
    return _spread(classes, pairs, largest), _spread(classes, pairs, tail)


def equal(classes: Classes, column: int, whole: Numbers) -> Numbers:
    """Half the sum of differences; what a class lacks differs by all it has in the whole."""
    return _varied(classes, classes.pairs[column], whole)


def _varied(classes: Classes, pairs: Pairs, whole: Numbers) -> Numbers:
    if not len(pairs.starts):
        return np.zeros(len(classes.sizes))
    there = whole[pairs.values]
    differ = np.abs(pairs.shares / classes.sizes[pairs.classes] - there) - there
    return _spread(classes, pairs, (np.add.reduceat(differ, pairs.starts) + whole.sum()) / 2)


def ordered(classes: Classes, column: int, whole: Numbers) -> Numbers:
    """Earth mover's distance over values in their order, neighbours 1 / (m - 1) apart.

    It is the mean over the m - 1 gaps of the difference of cumulated shares. A class's own is constant between two of
    its values, and the whole's only grows, so each stretch is summed at once: it changes sign at most once.
    """
    pairs = classes.pairs[column]
    here = np.flatnonzero(whole > 0)  # values of the whole alone; a class has no others
    m = len(here)
    if m < 2 or not len(pairs.starts):
        return np.zeros(len(classes.sizes))
    place = np.searchsorted(here, pairs.values)
    cumulated = np.cumsum(whole[here])
    sums = np.concatenate(([0.0], np.cumsum(cumulated)))
    share = pairs.shares / classes.sizes[pairs.classes]
    running = np.cumsum(share)
    lengths = np.diff(np.append(pairs.starts, len(share)))
    own = running - np.repeat(running[pairs.starts] - share[pairs.starts], lengths)
    until = np.append(place[1:], m - 1)
    until[np.append(pairs.starts[1:], len(share)) - 1] = m - 1
    until = np.minimum(until, m - 1)
    start = np.minimum(place, m - 1)
    turn = np.clip(np.searchsorted(cumulated, own), start, until)
    below = own * (turn - start) - (sums[turn] - sums[start])
    above = (sums[until] - sums[turn]) - own * (until - turn)
    before = sums[place[pairs.starts]]  # gaps before a class's first value
    return _spread(classes, pairs, (np.add.reduceat(below + above, pairs.starts) + before) / (m - 1))


def hierarchical(classes: Classes, column: int, whole: Numbers, levels: tuple[NDArray[np.int32], ...]) -> Numbers:
    """Earth mover's distance where two values are as far apart as the height of their lowest common group.

    On a tree that is the mean over the levels below the top of the equal distance between groups of that level.
    """
    pairs = classes.pairs[column]
    found = np.zeros(len(classes.sizes))
    for groups in levels:
        size = int(groups.max()) + 1
        index = pairs.classes.astype(np.int32)
        if pairs.shared is None:
            lifted = pairs_of(index, groups[pairs.values], pairs.counts, len(classes.sizes), size)
        else:
            lifted = _lifted(pairs, groups, size)
        found += _varied(classes, lifted, np.bincount(groups, weights=whole, minlength=size).astype(np.float64))
    return found / max(len(levels), 1)


def _lifted(pairs: Pairs, groups: NDArray[np.int32], size: int) -> Pairs:
    """Shares of people, added up over the groups of their values."""
    keys, where = np.unique(pairs.classes * size + groups[pairs.values], return_inverse=True)
    shares = np.bincount(where, weights=pairs.shares, minlength=len(keys)).astype(np.float64)
    index, values = np.divmod(keys, size)
    starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1]))) if len(index) else index
    return Pairs(
        classes=index,
        values=values,
        counts=np.zeros(len(keys), dtype=np.int64),
        starts=starts,
        of=index[starts],
        fewest=None,
        shared=shares,
    )


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
    """Distinct l-diversity: at least l sensitive values in a class.

    More rows never take a value away, so it absorbs.
    """

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
    """Recursive (c, l)-diversity: the most frequent value occurs less than c times as often as the l-th and rarer
    together.

    Closed: the largest count of a merged class is at most the sum of both largest, its tail at least the sum of both
            tails.
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
    """(alpha, k)-anonymity beside k: no sensitive value has more than a share alpha of a class.

    Closed: shares are averaged.
    """

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
