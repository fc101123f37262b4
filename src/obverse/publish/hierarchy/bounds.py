"""Public bounds on places: at least and at most so many units in some of their cells; by linear programs where they
bind.

Claim:   whole numbers that keep the bounds come back as they are. Where a parent's children break one, they become
         whole numbers that keep all of them and add up to their parent, as near in L1 as there are; where there are
         none, children keep the bounds and miss their parent's sums by the least that they can, which is told.
Proof:   the program's own: distances to whole numbers are sums of steps up and down, and variables are whole (for
         bounds on sets of cells that are nested or apart it is a flow, whose vertices are whole anyway).
Assumes: post-processing alone: it reads whole numbers that were made of noisy ones, and public bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import Refused, invariant
from obverse.publish.hierarchy.spine import Spine

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


DEAR = 1e4  # a unit that is missing from a parent's sum, in units of distance


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """For each node of a level, how many units are in these cells of it, at least or at most; from a public table."""

    words: str
    level: int
    cells: Booleans
    numbers: Integers
    least: bool  # else at most

    def as_json(self) -> dict[str, Any]:
        told = {"words": self.words, "level": self.level, "least": self.least}
        return told | {"cells": self.cells.tolist(), "numbers": self.numbers.tolist()}


def bound_of(fields: dict[str, Any]) -> Bound:
    cells = np.array(fields["cells"], dtype=bool)
    numbers = np.array(fields["numbers"], dtype=np.int64)
    return Bound(fields["words"], int(fields["level"]), cells, numbers, bool(fields["least"]))


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """What bounds say of one set of cells at one level: of each node, between which its sum lies."""

    cells: Booleans
    low: Floats
    high: Floats

    def broken(self, numbers: Integers) -> Booleans:
        sums = numbers[self.cells].sum(axis=0)
        found: Booleans = (sums < self.low) | (sums > self.high)
        return found


Limits = tuple[tuple[Limit, ...], ...]  # of each level
Missed = dict[tuple[int, int], int]  # level and node whose children do not add up to it: by how much


def limits_of(spine: Spine, bounds: Sequence[Bound]) -> Limits:
    """Bounds of every level, with what those below say of it: a county holds at least what its tracts do together."""
    kinds = {bound.cells.tobytes(): bound.cells for bound in bounds}
    found: list[tuple[Limit, ...]] = []
    below: dict[bytes, Limit] = {}
    for level in range(len(spine.sizes) - 1, -1, -1):
        here = {}
        for kind, cells in kinds.items():
            low = np.zeros(spine.sizes[level])
            high = np.full(spine.sizes[level], np.inf)
            if kind in below:
                low = spine.added(below[kind].low, level + 1)
                high = spine.added(below[kind].high, level + 1)
            for bound in (b for b in bounds if b.level == level and b.cells.tobytes() == kind):
                low = np.maximum(low, bound.numbers) if bound.least else low
                high = high if bound.least else np.minimum(high, bound.numbers)
            if (low > high).any():
                raise Refused(
                    "bad_bounds",
                    f"in {int((low > high).sum())} of the {spine.names[level]} places the lower bound is above the "
                    "upper one.",
                    why="bounds of places within it count too.",
                )
            here[kind] = Limit(cells, low, high)
        below = here
        found.insert(0, tuple(here.values()))
    return tuple(found)


def kept(numbers: Integers, limits: Sequence[Limit], totals: Integers | None = None) -> tuple[Integers, list[int]]:
    """Nodes by themselves, such as the root: near their numbers, within their bounds, with their totals where given;
    and the
    nodes whose totals leave no room for their bounds."""
    found = numbers.copy()
    missed = []
    broken = np.zeros(numbers.shape[1], dtype=bool)
    for limit in limits:
        broken |= limit.broken(numbers)
    for node in np.flatnonzero(broken).tolist():
        own = [(one.cells, one.low[node : node + 1], one.high[node : node + 1]) for one in limits]
        total = None if totals is None else totals[node : node + 1]
        solved, apart = nearest(numbers[:, node : node + 1], own, total, by_cell=False)
        found[:, node] = solved[:, 0]
        missed += [node] if apart else []
    return found, missed


def under(
    spine: Spine, level: int, numbers: Integers, above: Integers, limits: Sequence[Limit]
) -> tuple[Integers, Missed]:
    """One level below its parents: a program for each parent whose children break a bound."""
    found = numbers.copy()
    missed = {}
    broken = np.zeros(numbers.shape[1], dtype=bool)
    for limit in limits:
        broken |= limit.broken(numbers)
    starts = np.append(spine.starts(level), numbers.shape[1])
    for parent in np.unique(spine.parents[level - 1][broken]).tolist():
        here = slice(int(starts[parent]), int(starts[parent + 1]))
        own = [(one.cells, one.low[here], one.high[here]) for one in limits]
        solved, apart = nearest(numbers[:, here], own, above[:, parent], by_cell=True)
        found[:, here] = solved
        if apart:
            missed[level - 1, parent] = apart
    return found, missed


def without_room(spine: Spine, counts: Sequence[Integers], limits: Limits) -> dict[tuple[int, int], bool]:
    """Nodes whose children do not add up to them, and whether bounds leave room to."""
    found = {}
    for level in range(1, len(spine.sizes)):
        apart = (np.add.reduceat(counts[level], spine.starts(level), axis=-1) != counts[level - 1]).any(axis=0)
        for node in np.flatnonzero(apart).tolist():
            here = spine.parents[level - 1] == node
            own = [(one.cells, one.low[here], one.high[here]) for one in limits[level]] if limits else []
            room = not own or nearest(counts[level][:, here], own, counts[level - 1][:, node], by_cell=True)[1] == 0
            found[level - 1, node] = room
    return found


def nearest(target: Integers, limits: Sequence[Any], sums: Integers | None, *, by_cell: bool) -> tuple[Integers, int]:
    """The nearest whole numbers (cells by nodes) within limits, and by how much they miss `sums`: of each cell over all
    nodes,
    or of all cells of the one node."""
    optimize, sparse = programs()
    cells, nodes = target.shape
    many = cells * nodes
    flat = target.reshape(-1).astype(np.float64)
    each = [sparse.kron(chosen[None, :].astype(float), sparse.eye_array(nodes)) for chosen, _, _ in limits]
    step = sparse.csr_array(sparse.vstack(each))
    there = step @ flat
    low, high = (np.concatenate(ends) - there for ends in ([one[1] for one in limits], [one[2] for one in limits]))
    parts = [[step, -step]]
    slack = 0
    if sums is not None:
        of = sparse.kron(sparse.eye_array(cells), np.ones((1, nodes))) if by_cell else np.ones((1, many))
        adding = sparse.csr_array(of)
        slack = adding.shape[0]
        one = sparse.eye_array(slack)
        rest = sums - adding @ flat
        parts = [[step, -step, None], [adding, -adding, sparse.hstack([one, -one])]]
        low = np.concatenate([low, rest])
        high = np.concatenate([high, rest])
    cost = np.concatenate([np.ones(2 * many), np.full(2 * slack, DEAR)])
    most_down = np.concatenate([np.full(many, np.inf), flat, np.full(2 * slack, np.inf)])
    answer = optimize.milp(
        cost,
        integrality=np.ones(len(cost)),
        bounds=optimize.Bounds(0, most_down),
        constraints=optimize.LinearConstraint(sparse.csr_array(sparse.block_array(parts)), low, high),
    )
    invariant(answer.x is not None, "bounds of one place leave room")
    moved = np.rint(answer.x).astype(np.int64)
    found = target + (moved[:many] - moved[many : 2 * many]).reshape(cells, nodes)
    return found, int(moved[2 * many :].sum())


def programs() -> tuple[Any, Any]:
    try:
        from scipy import optimize, sparse
    except ModuleNotFoundError:
        raise Refused("extra_missing", "bounds on places need scipy.", fix="pip install 'obverse[publish]'") from None
    return optimize, sparse
