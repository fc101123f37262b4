"""Optimal full-domain recoding: the node of least loss among all that satisfy the models within the suppression limit.

Models and the limit of suppression count people: a node may leave out rows of at most `limit` people. Losses count rows.
`discernibility`: the sum over released classes of size squared, and each suppressed row costs the whole table's size.
`columns`: the mean over cells of the share of a column's other values that the cell's label covers; a suppressed row's cells
cost 1 each.

Exact: a node is left out only when it surely fails or surely loses more than the best found.
  Fails:  with models that absorb, or without suppression, a node that fails makes every less general one fail (models.py).
          Otherwise, and where somebody's rows are in several classes, only the absorbing models may condemn nodes below.
  Loses:  a loss is a sum of two parts (nodes.Loss). What rows cost if all are released never falls on the way up: classes
          merge, labels widen. What suppressed rows cost beyond that never falls on the way down, as long as models absorb:
          all parts of a class that fails fail. So the largest base seen below a node and the largest fee seen above it
          bound its loss.
Nodes are tried along paths upwards by bisection, as in Flash; ties go to the node that comes first in order of its levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from obverse.anonymize.nodes import Judge, Judged, Node
from obverse.core.errors import Refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.hierarchy import Hierarchy
    from obverse.anonymize.models import Model
    from obverse.anonymize.table import Table

NODES_MAX = 5_000_000
ROUNDING = 1e-12
LOSSES = ("columns", "discernibility")


@dataclass(frozen=True, slots=True)
class Found:
    """The optimum, its loss, and how much of the lattice was looked at."""

    judged: Judged
    loss: float
    nodes: int
    looked_at: int


def column_losses(table: Table, hierarchies: Sequence[Hierarchy]) -> list[NDArray[np.float64]]:
    """For each quasi-identifier the loss at each level."""
    found = []
    for column, hierarchy in zip(table.quasi, hierarchies):
        people = np.bincount(column.codes, weights=table.counts, minlength=column.size)
        found.append(hierarchy.losses(people.astype(np.float64)))
    return found


def expected_squares(table: Table, hierarchies: Sequence[Hierarchy]) -> NDArray[np.float64]:
    """For every node the log of the sum of squares if columns were independent: the order in which nodes are tried."""
    parts = []
    for column, hierarchy in zip(table.quasi, hierarchies):
        people = np.bincount(column.codes, weights=table.counts, minlength=column.size) / max(table.rows, 1)
        parts.append([np.log((np.bincount(level.groups, weights=people) ** 2).sum()) for level in hierarchy.levels])
    return _over_lattice([np.array(part) for part in parts])


def _over_lattice(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The sum of the columns' numbers at every node."""
    total = np.zeros(())
    for part in parts:
        total = np.add.outer(total, part)
    return total


class Search:
    """One search; `told` is called with the share of nodes that are decided."""

    def __init__(
        self,
        table: Table,
        hierarchies: Sequence[Hierarchy],
        models: Sequence[Model],
        limit: int,
        loss: str = "discernibility",
        told: Callable[[float], None] = lambda share: None,
    ) -> None:
        shape = tuple(h.height for h in hierarchies)
        if prod(shape) > NODES_MAX:
            raise Refused(
                "too_many_nodes",
                f"the lattice has more than {NODES_MAX:,} nodes.",
                fix="Use --search mondrian, fewer quasi-identifiers, or hierarchies with fewer levels.",
            )
        self._told, self._shape = told, shape
        self._judge = Judge(table, hierarchies, models, limit, loss == "columns")
        self._guess = expected_squares(table, hierarchies)
        self._base, self._fee = np.zeros(shape), np.zeros(shape)
        if loss == "columns":
            self._base = _over_lattice(column_losses(table, hierarchies)) / len(shape)
        self._open, self._hopeless = np.ones(shape, dtype=bool), np.zeros(shape, dtype=bool)
        self._best: tuple[float, Node, Judged] | None = None
        self._looked_at = 0

    def run(self) -> Found:
        while self._open.any():
            self._climb(self._first())
            self._told(1 - float(self._open.mean()))
        if self._best is None:
            raise Refused(
                "not_reachable",
                "no generalisation satisfies the models, even with every quasi-identifier at its highest level.",
                fix="Ask for less, allow more suppression with --suppress, or leave out sensitive columns.",
            )
        loss, _, judged = self._best
        return Found(judged, loss, prod(self._shape), self._looked_at)

    def _first(self) -> Node:
        """The open node that seems to lose least."""
        flat = np.where(self._open, self._guess, np.inf).argmin()
        return tuple(int(level) for level in np.unravel_index(flat, self._shape))

    def _climb(self, start: Node) -> None:
        """Bisect a path upwards for its lowest node that holds, then close what follows from each look."""
        path = [start]
        while (above := self._above(path[-1])) is not None:
            path.append(above)
        low, high = 0, len(path) - 1
        while low <= high:
            middle = (low + high) // 2
            if self._open[path[middle]]:
                self._look(path[middle])
            if self._too_low(path[middle]):
                low = middle + 1
            else:
                high = middle - 1

    def _too_low(self, node: Node) -> bool:
        """Whether to go on above: it fails, or suppression costs more than generalisation."""
        return bool(self._hopeless[node] or self._fee[node] > self._base[node])

    def _above(self, node: Node) -> Node | None:
        steps = [(*node[:j], level + 1, *node[j + 1 :]) for j, level in enumerate(node) if level + 1 < self._shape[j]]
        steps = [step for step in steps if self._open[step]]
        return min(steps, key=lambda step: (self._guess[step], step), default=None)

    def _look(self, node: Node) -> None:
        judged = self._judge.judge(node)
        self._looked_at += 1
        self._open[node] = False
        above, below = (tuple(slice(level, None) for level in node), tuple(slice(0, level + 1) for level in node))
        np.maximum(self._base[above], judged.loss.base, out=self._base[above])
        np.maximum(self._fee[below], judged.loss.fee, out=self._fee[below])
        if judged.hopeless:
            self._open[below] = False
            self._hopeless[below] = True
        found = (judged.loss.whole, node)
        if judged.holds and (self._best is None or found < self._best[:2]):
            self._best = (*found, judged)
        if self._best is not None:
            self._open &= self._base + self._fee <= self._best[0] * (1 + ROUNDING)
