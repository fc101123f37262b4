"""A generalisation hierarchy: for each level the group that every value of a column belongs to, coarser from level to level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from obverse.core.errors import Refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.table import Codes

ANYTHING = "*"


@dataclass(frozen=True, slots=True)
class Level:
    """The group of each code, and the label of each group; None is the label of what is missing."""

    groups: Codes
    labels: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Levels from the values themselves up to `*`, which alone also covers what is missing.

    `ranks` orders the codes: numbers and dates by size, others so that every group is a stretch. `ordered` says which.
    """

    name: str
    levels: tuple[Level, ...]
    ranks: Codes
    ordered: bool

    @property
    def height(self) -> int:
        return len(self.levels)

    def lift(self, low: int, high: int) -> Codes:
        """The group at the higher level of each group at the lower one."""
        below, above = self.levels[low], self.levels[high]
        found = np.zeros(len(below.labels), dtype=np.int32)
        found[below.groups] = above.groups
        return found

    def spread(self, level: int) -> NDArray[np.float64]:
        """For each group of a level (values under it - 1) / (all values - 1): 0 for one value, 1 for `*`."""
        at = self.levels[level]
        under = np.bincount(at.groups[:-1], minlength=len(at.labels))  # missing is no value among others
        found = np.maximum(under - 1, 0) / max(len(at.groups) - 2, 1)
        if level:  # a star among the values themselves is a value
            found[[label == ANYTHING for label in at.labels]] = 1.0
        return found

    def losses(self, people: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each level the mean over people of their group's spread."""
        spreads = (self.spread(i)[level.groups] for i, level in enumerate(self.levels))
        return np.array([float((spread * people).sum() / max(people.sum(), 1)) for spread in spreads])


def from_paths(name: str, values: Sequence[str], paths: Sequence[Sequence[str]], order: Sequence[int] = ()) -> Hierarchy:
    """From each value's labels at levels 1, 2 ...; a level `*` is added where there is none. `order` tells places by size.

    Groups must be nested: what shares a label at one level shares it at all higher ones; and nothing is wider than `*`.
    """
    height = max((len(path) for path in paths), default=0)
    if any(len(path) != height for path in paths):
        raise Refused("not_a_hierarchy", f"the hierarchy of {name!r} has lines of different lengths.")
    tops = {path[-1] for path in paths} if height else set()
    rows = [list(path) if tops == {ANYTHING} else [*path, ANYTHING] for path in paths]
    levels = [Level(np.arange(len(values) + 1, dtype=np.int32), (*values, None))]
    for depth in range(len(rows[0]) if rows else 1):
        levels.append(_level([row[depth] for row in rows]))
    for low, high in pairwise(levels):
        _check_nested(name, low, high)
    others = [row for value, row in zip(values, rows) if value != ANYTHING]
    if any(label == ANYTHING and above != ANYTHING for row in others for label, above in pairwise(row)):
        what = f"the hierarchy of {name!r} has a label above `{ANYTHING}`, which stands for anything."
        raise Refused("not_a_hierarchy", what, fix="Let nothing follow after it on a line.")
    ranks = np.empty(len(values) + 1, dtype=np.int32)
    ranks[[*(order or _by_labels(rows)), len(values)]] = np.arange(len(values) + 1, dtype=np.int32)
    return Hierarchy(name, tuple(levels), ranks, bool(order))


def _level(labels: list[str]) -> Level:
    seen: dict[str, int] = {}
    groups = [seen.setdefault(label, len(seen)) for label in labels]
    if set(seen) <= {ANYTHING}:
        return Level(np.zeros(len(labels) + 1, dtype=np.int32), (ANYTHING,))
    return Level(np.array([*groups, len(seen)], dtype=np.int32), (*seen, None))


def _check_nested(name: str, low: Level, high: Level) -> None:
    lowest, highest = np.full(len(low.labels), len(high.labels)), np.full(len(low.labels), -1)
    np.minimum.at(lowest, low.groups, high.groups)
    np.maximum.at(highest, low.groups, high.groups)
    if np.any((highest >= 0) & (lowest != highest)):
        raise Refused(
            "not_a_hierarchy",
            f"the hierarchy of {name!r} is not nested: values share a label at one level and not at the next.",
            fix="Let each label of a level stand under one label of the level after it.",
        )


def _by_labels(rows: list[list[str]]) -> list[int]:
    """Values brought together by their labels, the highest level first."""
    first = [{label: place for place, label in reversed(list(enumerate(level)))} for level in zip(*rows)]
    return sorted(range(len(rows)), key=lambda i: ([first[d][rows[i][d]] for d in reversed(range(len(first)))], i))
