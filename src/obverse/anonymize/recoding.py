"""The table as it is released: a label for each cell of a quasi-identifier, and which rows are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from obverse.anonymize.grouping import Classes, classes_by, numbered
from obverse.anonymize.hierarchies import ANYTHING, Hierarchy
from obverse.anonymize.models import Model, all_hold
from obverse.anonymize.mondrian import Boxes
from obverse.anonymize.table import Column, Counts, Table

if TYPE_CHECKING:
    from obverse.anonymize.lattice import Node


@dataclass(frozen=True, slots=True)
class Labelled:
    """A quasi-identifier: the place of each row's label, and how much of the column each label covers, from 0 to 1."""

    name: str
    labels: tuple[str | None, ...]
    places: NDArray[np.int64]
    spread: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Recoded:
    """What is released of a table; `index` is the class of each entry, and entries that are not `kept` are
    suppressed.
    """

    table: Table
    columns: tuple[Labelled, ...]
    index: NDArray[np.int64]
    count: int
    kept: NDArray[np.bool_]

    @property
    def rows(self) -> Counts:
        """Rows of each entry that are released."""
        return np.where(self.kept, self.table.counts, 0)

    @property
    def suppressed(self) -> int:
        """How many rows are left out."""
        return int(self.table.counts[~self.kept].sum())

    @property
    def people(self) -> int:
        """How many people have a released row."""
        return self.table.people_of(self.kept)

    @property
    def people_suppressed(self) -> int:
        """Of how many people a row is left out."""
        return self.table.people_of(~self.kept)

    def classes(self) -> Classes:
        """The classes of what is released."""
        return classes_by(self.index, self.count, self.table, self.rows)


def unchanged(table: Table) -> Recoded:
    """The table as it is."""
    columns = tuple(
        Labelled(c.name, (*c.values, None), c.codes.astype(np.int64), np.zeros(c.size)) for c in table.quasi
    )
    return _assembled(table, columns, ())


def at_node(table: Table, hierarchies: Sequence[Hierarchy], node: Node, models: Sequence[Model]) -> Recoded:
    """Every column at its level; classes that do not satisfy the models are suppressed."""
    columns = []
    for column, hierarchy, level in zip(table.quasi, hierarchies, node):
        at = hierarchy.levels[level]
        columns.append(
            Labelled(column.name, at.labels, at.groups[column.codes].astype(np.int64), hierarchy.spread(level))
        )
    return _assembled(table, tuple(columns), models)


def _assembled(table: Table, columns: tuple[Labelled, ...], models: Sequence[Model]) -> Recoded:
    index, count = numbered([c.places.astype(np.int32) for c in columns], [len(c.labels) for c in columns])
    holds = all_hold(models, classes_by(index, count, table, table.counts))
    return Recoded(table, columns, index, count, holds[index])


def in_boxes(table: Table, hierarchies: Sequence[Hierarchy], boxes: Boxes) -> Recoded:
    """Every class under the range of its values."""
    columns = []
    for j, (column, hierarchy) in enumerate(zip(table.quasi, hierarchies)):
        ranges, place = np.unique(boxes.low[:, j] * np.int64(column.size) + boxes.high[:, j], return_inverse=True)
        low, high = np.divmod(ranges, column.size)
        labels = tuple(labels_of(column, hierarchy, low.tolist(), high.tolist()))
        spread = np.where(high == column.missing, 1.0, (high - low) / max(column.size - 2, 1))
        spread[(low == column.missing)] = 0.0
        columns.append(Labelled(column.name, labels, place[boxes.classes], spread))
    kept = np.ones(len(table.counts), dtype=bool)
    return Recoded(table, tuple(columns), boxes.classes, len(boxes.low), kept)


def labels_of(column: Column, hierarchy: Hierarchy, low: list[int], high: list[int]) -> list[str | None]:
    """Of each range of ranks: one value; `least-greatest` where values have an order; else the groups that make it
    up.
    """
    values = np.array([*column.values, ""], dtype=object)[np.argsort(hierarchy.ranks)].tolist()
    missing = column.missing
    last = column.missing - 1
    tiles = [] if hierarchy.ordered else _tiles(hierarchy)
    found: list[str | None] = []
    for a, b in zip(low, high):
        if a == missing:
            found.append(None)
        elif a == b:
            found.append(values[a])
        elif b == missing or (a, b) == (0, last):
            found.append(ANYTHING)
        elif hierarchy.ordered:
            found.append(f"{values[a]}-{values[b]}")
        else:
            found.append(_tiled(tiles, a, b))
    return found


def _tiles(hierarchy: Hierarchy) -> list[dict[int, tuple[int, str]]]:
    """For each level, the highest first: where a group starts, the rank at which it ends and its label."""
    order = np.argsort(hierarchy.ranks)[:-1]
    found = []
    for level in reversed(hierarchy.levels[:-1]):
        groups = level.groups[order].tolist()
        starts = [i for i, group in enumerate(groups) if i == 0 or group != groups[i - 1]]
        ends = [*(start - 1 for start in starts[1:]), len(groups) - 1]
        found.append({start: (end, str(level.labels[groups[start]])) for start, end in zip(starts, ends)})
    return found


def _tiled(tiles: list[dict[int, tuple[int, str]]], low: int, high: int) -> str:
    """The fewest groups that make up the range: at each place the largest that fits."""
    said = []
    while low <= high:
        end, label = next(level[low] for level in tiles if low in level and level[low][0] <= high)
        said.append(label)
        low = end + 1
    return " | ".join(said)
