"""Numbers of each class's sensitive values: counts, entropy, tails, and distance from the whole table's distribution.

Counts are of people: those of the least diverse choice for diversity, those of evenly shared people for distances.

Only values that occur in a class are looked at, so the work is that of one GROUP BY however many values there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.anonymize.classes import Pairs, pairs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.classes import Classes

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

    It is the mean over the m - 1 gaps of the difference of cumulated shares. A class's own is constant between two of its
    values, and the whole's only grows, so each stretch is summed at once: it changes sign at most once.
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
    pairs, found = classes.pairs[column], np.zeros(len(classes.sizes))
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
    return Pairs(index, values, np.zeros(len(keys), dtype=np.int64), starts, index[starts], None, shares)
