"""Optimal full-domain recoding: the node of least loss among all that satisfy the models within the suppression limit.

Models and the limit of suppression count people: a node may leave out rows of at most `limit` people. Losses count
rows. `discernibility`: the sum over released classes of size squared, and each suppressed row costs the whole table's
size. `columns`: the mean over cells of the share of a column's other values that the cell's label covers; a suppressed
row's cells cost 1 each.

Exact: a node is left out only when it surely fails or surely loses more than the best found.
  Fails:  with models that absorb, or without suppression, a node that fails makes every less general one fail
          (models.py). Otherwise, and where somebody's rows are in several classes, only the absorbing models may
          condemn nodes below.
  Loses:  a loss is a sum of two parts (nodes.Loss). What rows cost if all are released never falls on the way up:
          classes merge, labels widen. What suppressed rows cost beyond that never falls on the way down, as long as
          models absorb: all parts of a class that fails fail. So the largest base seen below a node and the largest fee
          seen above it bound its loss.
Nodes are tried along paths upwards by bisection, as in Flash; ties go to the node that comes first in order of its
levels.

A node of the lattice, a level for each quasi-identifier, judged on the smallest collapsed table below it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from obverse.anonymize.grouping import BITS, Classes, Grouped, classes_of, grouped, grouped_keys
from obverse.anonymize.hierarchies import Hierarchy
from obverse.anonymize.models import Large, Model, Present, absorbing, all_hold, helped_by_suppression
from obverse.anonymize.persons import Entries, classes_of_people, settled
from obverse.anonymize.table import Codes, Column, Counts, Table
from obverse.core.errors import Refused

Node = tuple[int, ...]
WIDEST = 2  # columns that are raised alone
WORTH = 0.85  # a table is kept when it has at most this share of the rows that it was made from
LATELY = 32  # tables of nodes looked at that are kept


@dataclass(frozen=True, slots=True)
class Loss:
    """`whole` is what a node loses. `base` is the part that no more general node can undercut, `fee` the part that no
    less
    general one can: what rows cost that are surely suppressed, beyond what they would cost if released."""

    whole: float
    base: float
    fee: float


@dataclass(frozen=True, slots=True)
class Judged:
    """What a node gives: of how many people rows are suppressed, whether that is allowed, the classes released, the
    loss.
    """

    node: Node
    suppressed: int
    holds: bool
    hopeless: bool  # whatever is less general fails too
    classes: int
    loss: Loss


class Judge:
    """Judges nodes, and keeps collapsed tables: a node is judged on the smallest of those that are nowhere more
    general.
    """

    def __init__(
        self, table: Table, hierarchies: Sequence[Hierarchy], models: Sequence[Model], limit: int, by_columns: bool
    ) -> None:
        self._hierarchies = hierarchies
        self._models = models
        self._limit = limit
        self._by_columns = by_columns
        self._rows = table.rows
        self._personal = table.persons is not None
        sensitive = table.sensitive if any(not isinstance(model, (Large, Present)) for model in models) else ()
        self._complete = [not np.any(column.codes == column.missing) for column in table.quasi]
        self._sensitive = tuple(column.size for column in sensitive)
        self._mends = helped_by_suppression(models)
        columns, weights, beside = _collapsible(table, sensitive)
        bottom = (0,) * len(hierarchies)
        self._widest = sorted(range(len(hierarchies)), key=lambda j: -len(hierarchies[j].levels[0].labels))[:WIDEST]
        lowest = grouped(columns, [*self._sizes(bottom), *beside], weights)
        lowest = settled(lowest, len(bottom), least=0.0) if self._personal else lowest
        spread = self._personal and bool(lowest.column(len(bottom)).any())
        self._absorbing = absorbing(models, table, spread=spread)
        self.monotone = (limit == 0 and not spread) or len(self._absorbing) == len(models)
        self._seen = {bottom}
        self._shared: list[tuple[Node, Grouped]] = [(bottom, lowest)]
        self._lately: deque[tuple[Node, Grouped]] = deque(maxlen=LATELY)
        self._lifts: dict[tuple[int, int, int], Codes] = {}
        self._spreads = [[hierarchy.spread(level) for level in range(hierarchy.height)] for hierarchy in hierarchies]

    def _sizes(self, node: Node) -> list[int]:
        """How many groups each column has at its level; that of missing values, which is last, only where some are
        missing.
        """
        labels = [h.levels[level].labels for h, level in zip(self._hierarchies, node)]
        found = [len(some) - (whole and some[-1] is None) for some, whole in zip(labels, self._complete)]
        return [max(size, 1) for size in found]

    def _settled(self, rows: Grouped) -> Grouped:
        return settled(rows, len(self._hierarchies)) if self._personal else rows

    def collapsed(self, node: Node) -> Grouped:
        """The table at this node: distinct rows of groups and sensitive values.

        On the way the columns with most values are raised alone: many nodes lie above such a table.
        """
        for floor in self._floors(node):
            if floor not in self._seen:
                self._seen.add(floor)
                below, rows = self._nearest(floor)
                found = self._raised(rows, below, floor)
                if len(found) <= WORTH * len(rows):
                    self._shared.append((floor, found))
        below, rows = self._nearest(node)
        if below == node:
            return rows
        found = self._raised(rows, below, node)
        if len(found) <= WORTH * len(rows):
            self._lately.append((node, found))
        return found

    def _floors(self, node: Node) -> list[Node]:
        return [
            tuple(level if j in self._widest[: n + 1] else 0 for j, level in enumerate(node))
            for n in range(len(self._widest))
        ]

    def _nearest(self, node: Node) -> tuple[Node, Grouped]:
        """The smallest table at hand that is nowhere more general."""
        below = (found for found in (*self._shared, *self._lately) if all(a <= b for a, b in zip(found[0], node)))
        return min(below, key=lambda found: len(found[1]))

    def _raised(self, rows: Grouped, low: Node, high: Node) -> Grouped:
        beside = rows.sizes[len(high) :]
        sizes = [*self._sizes(high), *beside]
        lifts = [self._lift(j, a, b) for j, (a, b) in enumerate(zip(low, high))]
        lifts += [np.arange(size, dtype=np.int32) for size in beside]
        if prod(sizes).bit_length() > BITS:
            return self._settled(
                grouped([lift[column] for lift, column in zip(lifts, rows.columns)], sizes, rows.weights)
            )
        keys = np.zeros(len(rows), dtype=np.int64)
        stride = 1
        for lift, column, size in zip(reversed(lifts), reversed(rows.columns), reversed(sizes)):
            if size > 1:
                keys += (lift * np.int64(stride))[column]  # lifted and put into its place at once
            stride *= size
        return self._settled(grouped_keys(keys, sizes, rows.weights))

    def _lift(self, column: int, low: int, high: int) -> Codes:
        if (column, low, high) not in self._lifts:
            self._lifts[column, low, high] = self._hierarchies[column].lift(low, high)
        return self._lifts[column, low, high]

    def judge(self, node: Node) -> Judged:
        rows = self.collapsed(node)
        classes, entries = self._classes(rows, len(node))
        holds = all_hold(self._models, classes)
        surely = ~holds if len(self._absorbing) == len(self._models) else ~all_hold(self._absorbing, classes)
        suppressed = int(classes.sizes[~holds].sum()) if entries is None else entries.among(~holds)
        passes = suppressed <= self._limit and (self._mends or bool(holds.all()))
        lost = int(classes.sizes[surely].sum()) if entries is None else entries.among(surely)
        hopeless = not passes if self.monotone else lost > self._limit
        released = int((holds & (classes.sizes > 0)).sum())
        if hopeless and self._by_columns:  # it closes all below it, and what its columns cost is known beforehand
            return Judged(node, suppressed, passes, hopeless, released, Loss(math.inf, 0.0, 0.0))
        alike = classes.rows.astype(np.float64)
        cost = self._cost_by_columns(rows, node) if self._by_columns else alike
        most = 1.0 if self._by_columns else float(self._rows)
        scale = max(self._rows, 1) if self._by_columns else 1
        whole = float((alike * np.where(holds, cost, most)).sum()) / scale
        base = float((alike * cost).sum()) / scale
        fee = float((alike * (most - cost))[surely].sum()) / scale
        return Judged(node, suppressed, passes, hopeless, released, Loss(whole, base, fee))

    def _classes(self, rows: Grouped, quasi: int) -> tuple[Classes, Entries | None]:
        if not self._personal:
            return classes_of(rows, quasi, self._sensitive), None
        starts = rows.starts(quasi)
        index = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(rows))))
        known, number, *population = rows.weights
        others = population[0] if population else None
        entries = Entries(index, rows.column(quasi), rows.sizes[quasi], number, known, others, ordered=True)
        values = [(rows.column(quasi + 1 + j), size) for j, size in enumerate(self._sensitive)]
        return classes_of_people(entries, len(starts), values), entries

    def _cost_by_columns(self, rows: Grouped, node: Node) -> NDArray[np.float64]:
        """What a released row of each class costs: the mean over its cells of what their labels cover."""
        starts = rows.starts(len(node))
        cost = np.zeros(len(starts))
        for column, level, spreads in zip(rows.columns, node, self._spreads):
            cost += spreads[level][column[starts]]
        return cost / len(node)


def _collapsible(table: Table, sensitive: tuple[Column, ...]) -> tuple[list[Codes], tuple[Counts, ...], list[int]]:
    """Columns and weights of the table, and the sizes of the columns beside the quasi-identifiers: who, where several
    rows
    may be of one person, then the sensitive values."""
    who = [] if table.persons is None else [(table.persons.codes, table.persons.size)]
    beside = [*who, *((column.codes, column.size) for column in sensitive)]
    weights = [table.counts] if table.persons is None else [table.counts, table.persons.number]
    weights += [] if table.population is None else [table.population]
    columns = [*(column.codes for column in table.quasi), *(codes for codes, _ in beside)]
    return columns, tuple(weights), [size for _, size in beside]


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
        self._told = told
        self._shape = shape
        self._judge = Judge(table, hierarchies, models, limit, loss == "columns")
        self._guess = expected_squares(table, hierarchies)
        self._base = np.zeros(shape)
        self._fee = np.zeros(shape)
        if loss == "columns":
            self._base = _over_lattice(column_losses(table, hierarchies)) / len(shape)
        self._open = np.ones(shape, dtype=bool)
        self._hopeless = np.zeros(shape, dtype=bool)
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
        low = 0
        high = len(path) - 1
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
        above = tuple(slice(level, None) for level in node)
        below = tuple(slice(0, level + 1) for level in node)
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
