"""A node of the lattice, a level for each quasi-identifier, judged on the smallest collapsed table below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from obverse.anonymize.classes import classes_of
from obverse.anonymize.grouping import Grouped, grouped
from obverse.anonymize.models import Model, all_hold, helped_by_suppression

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.hierarchy import Hierarchy
    from obverse.anonymize.table import Codes, Table

Node = tuple[int, ...]
KEPT_CELLS = 1 << 25  # of collapsed tables that are kept to start from
WORTH = 0.7  # a table is kept when it has at most this share of the rows that it was made from


@dataclass(frozen=True, slots=True)
class Loss:
    """`whole` is what a node loses. `base` is the part that no more general node can undercut, `fee` the part that no less
    general one can: what rows cost that are surely suppressed, beyond what they would cost if released."""

    whole: float
    base: float
    fee: float


@dataclass(frozen=True, slots=True)
class Judged:
    """What a node gives: rows to suppress, whether that is allowed, the classes released, and what is lost."""

    node: Node
    suppressed: int
    holds: bool
    hopeless: bool  # whatever is less general fails too
    classes: int
    loss: Loss


class Judge:
    """Judges nodes, and keeps collapsed tables: a node is judged on the smallest of those that are nowhere more general."""

    def __init__(
        self, table: Table, hierarchies: Sequence[Hierarchy], models: Sequence[Model], limit: int, by_columns: bool
    ) -> None:
        self._hierarchies, self._models, self._limit, self._by_columns = hierarchies, models, limit, by_columns
        self._rows = table.rows
        self._sensitive = tuple(column.size for column in table.sensitive)
        self._absorbing = [model for model in models if model.absorbs]
        self.monotone = limit == 0 or len(self._absorbing) == len(models)
        self._mends = helped_by_suppression(models)
        columns = [column.codes for column in (*table.quasi, *table.sensitive)]
        weights = (table.counts,) if table.population is None else (table.counts, table.population)
        bottom = (0,) * len(hierarchies)
        self._kept: list[tuple[Node, Grouped]] = [(bottom, grouped(columns, self._sizes(bottom), weights))]
        self._lifts: dict[tuple[int, int, int], Codes] = {}
        self._spreads = [[hierarchy.spread(level) for level in range(hierarchy.height)] for hierarchy in hierarchies]

    def _sizes(self, node: Node) -> list[int]:
        return [len(h.levels[level].labels) for h, level in zip(self._hierarchies, node)] + list(self._sensitive)

    def collapsed(self, node: Node) -> Grouped:
        """The table at this node: distinct rows of groups and sensitive values."""
        below, rows = min(
            ((at, kept) for at, kept in self._kept if all(a <= b for a, b in zip(at, node))),
            key=lambda found: len(found[1].weights[0]),
        )
        if below == node:
            return rows
        columns = list(rows.columns)
        for j, (low, high) in enumerate(zip(below, node)):
            if low != high:
                if (j, low, high) not in self._lifts:
                    self._lifts[j, low, high] = self._hierarchies[j].lift(low, high)
                columns[j] = self._lifts[j, low, high][columns[j]]
        found = grouped(columns, self._sizes(node), rows.weights)
        if len(found.weights[0]) <= WORTH * len(rows.weights[0]):
            self._keep(node, found)
        return found

    def _keep(self, node: Node, rows: Grouped) -> None:
        """Small tables help most nodes, so the largest but the first go when room is short."""
        self._kept.append((node, rows))
        while sum(len(kept.weights[0]) * len(kept.columns) for _, kept in self._kept[1:]) > KEPT_CELLS:
            largest = max(range(1, len(self._kept)), key=lambda i: len(self._kept[i][1].weights[0]))
            del self._kept[largest]

    def judge(self, node: Node) -> Judged:
        rows = self.collapsed(node)
        classes = classes_of(rows, len(node), self._sensitive)
        holds = all_hold(self._models, classes)
        surely = ~holds if len(self._absorbing) == len(self._models) else ~all_hold(self._absorbing, classes)
        suppressed = int(classes.sizes[~holds].sum())
        passes = suppressed <= self._limit and (self._mends or bool(holds.all()))
        hopeless = not passes if self.monotone else int(classes.sizes[surely].sum()) > self._limit
        released = int((holds & (classes.sizes > 0)).sum())
        cost = self._cost_by_columns(rows, node) if self._by_columns else classes.sizes.astype(np.float64)
        people = classes.sizes.astype(np.float64)
        most = 1.0 if self._by_columns else float(self._rows)
        scale = max(self._rows, 1) if self._by_columns else 1
        whole = float((people * np.where(holds, cost, most)).sum()) / scale
        base, fee = float((people * cost).sum()) / scale, float((people * (most - cost))[surely].sum()) / scale
        return Judged(node, suppressed, passes, hopeless, released, Loss(whole, base, fee))

    def _cost_by_columns(self, rows: Grouped, node: Node) -> NDArray[np.float64]:
        """What a released row of each class costs: the mean over its cells of what their labels cover."""
        starts = rows.starts(len(node))
        cost = np.zeros(len(starts))
        for column, level, spreads in zip(rows.columns, node, self._spreads):
            cost += spreads[level][column[starts]]
        return cost / len(node)
