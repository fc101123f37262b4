"""Non-negative whole numbers near unbiased estimates. Post-processing: it costs nothing, and it is biased upwards near
zero.

The nearest vector that never falls: noise that breaks a known order is averaged away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from obverse.publish.workload import Table, Workload

Floats = NDArray[np.float64]


def isotonic(values: Floats) -> Floats:
    """Least squares among vectors that do not fall.

    Claim:   the projection. Proof: two neighbours of which the first is above the second have one value in it; so runs
             of such blocks are pooled into their mean until none are left (Ayer et al. 1955, in any order). Assumes:
             nothing.
    """
    means = values.astype(np.float64)
    sizes = np.ones(len(values), dtype=np.int64)
    while len(means) > 1:
        starts = np.flatnonzero(np.concatenate([[True], means[1:] >= means[:-1]]))
        if len(starts) == len(means):
            break
        total = np.add.reduceat(means * sizes, starts)
        sizes = np.add.reduceat(sizes, starts)
        means = total / sizes
    return np.repeat(means, sizes)


Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Empty = Callable[[Table], Booleans]


JOINT_MAX = 1 << 20  # cells over which all tables are fitted together
SWEEPS = 60


def on_simplex(values: Floats, total: float) -> Floats:
    """The nearest vector without negative entries that adds up to the total: sort, then one threshold for all."""
    flat = values.reshape(-1)
    if total <= 0:
        return np.zeros(values.shape)
    falling = np.sort(flat)[::-1]
    above = np.cumsum(falling) - total
    count = np.nonzero(falling * np.arange(1, len(flat) + 1) > above)[0][-1] + 1
    found: Floats = np.maximum(values - above[count - 1] / count, 0)
    return found


def whole(values: Floats, total: int) -> Integers:
    """Whole numbers that add up to the total, each less than one away: running sums are rounded, so that no part
    drifts.

    Claim:   the entries differ by less than one from `values`, and so does the sum of any run of neighbours.
    Proof:   entry i is r(S_i) - r(S_{i-1}) for running sums S and rounding r, and |r(x) - x| <= 1/2.
    Assumes: the values are not negative and add up to the total.
    """
    running = np.rint(np.cumsum(values.reshape(-1)))
    if len(running):
        running[-1] = total
    running = np.minimum(np.maximum.accumulate(running), total)
    return np.diff(running, prepend=0.0).astype(np.int64).reshape(values.shape)


def near_simplex(values: Floats, total: float, empty: Booleans | None) -> Floats:
    """The same, with nothing in cells that are known to be empty."""
    if empty is None or not empty.any():
        return on_simplex(values, total)
    found = np.zeros(values.shape)
    found[~empty] = on_simplex(values[~empty], total)
    return found


def together(
    workload: Workload, tables: Mapping[Table, Floats], total: float, empty: Empty | None = None
) -> tuple[dict[Table, Integers], bool]:
    """Each table as whole numbers without negatives, and whether all of them agree on everything they share.

    Where the cells of all attributes together are few enough, one table over all of them is fitted to the others (by
    raking, so that what was not asked for is independent), rounded, and added up: then all agree. Else each is
    projected by itself, to the same total. `empty` tells of a table which of its cells are known to be.
    """
    count = max(0, round(total))
    near = {table: near_simplex(values, float(count), empty and empty(table)) for table, values in tables.items()}
    everything = tuple(sorted({i for table in tables for i in table}))
    if workload.cells(everything) > JOINT_MAX:
        return {table: whole(values, count) for table, values in near.items()}, len(tables) == 1
    shape = workload.shape(everything)
    start = np.ones(shape) if empty is None else (~empty(everything)).astype(np.float64)
    joint = start * (count / start.sum())
    for _ in range(SWEEPS if len(tables) > 1 else 1):
        for table, values in near.items():
            rest = tuple(axis for axis, i in enumerate(everything) if i not in table)
            have = joint.sum(axis=rest, keepdims=True) if rest else joint
            goal = values.reshape([workload.attributes[i].cells if i in table else 1 for i in everything])
            joint = joint * np.divide(goal, have, out=np.zeros_like(have), where=have > 0)
    joint = joint * (count / joint.sum()) if joint.sum() > 0 else joint
    if count > 0 and joint.sum() <= 0:
        joint = start * (count / start.sum())
    fitted = whole(joint, count)
    found = {}
    for table in tables:
        rest = tuple(axis for axis, i in enumerate(everything) if i not in table)
        found[table] = fitted.sum(axis=rest) if rest else fitted
    return found, True
