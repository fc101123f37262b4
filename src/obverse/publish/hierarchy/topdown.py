"""From estimates that add up to whole numbers without negatives that add up: level by level, from the root down.

Claim:   every level's numbers are whole and not negative, and children add up to their parent in every cell; estimates
         that are so already come back as they are.
Proof:   siblings are projected on {x >= 0, sum = parent} (Michelot: shift all that are left by the same share of what
         is missing, drop the negative ones, until none is), then rounded: floors, and the parent's remainder to those
         whose fraction, with what rounding has so far taken from their node, is largest. A remainder is at least 0 and
         less than the number of siblings.
Assumes: post-processing alone: it reads estimates and public variances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.publish.hierarchy.bounds import Limits, Missed, kept, under
from obverse.publish.hierarchy.spine import Spine
from obverse.publish.rounding import on_simplex, whole

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Held = tuple[int, Integers]


SWEEPS_MAX = 200
TINY = 1e-9


def constrained(
    spine: Spine, estimates: list[Floats], held: Held | None, limits: Limits
) -> tuple[list[Integers], Missed]:
    """Whole numbers for every level within its bounds, and where these leave no room for sums.

    Arrays are cells by nodes.

    `held`: a level, and totals of its nodes that are kept exactly. Levels above it are its sums.
    """
    first, totals = held if held is not None else (0, np.array([max(0, round(float(estimates[0].sum())))]))
    found: dict[int, Integers] = {first: filled(estimates[first], totals)}
    missed: Missed = {}
    if limits:
        found[first], without = kept(found[first], limits[first], None if held is None else totals)
        invariant(not without, "totals that are held leave room for bounds")
    for level in range(first - 1, -1, -1):
        found[level] = np.add.reduceat(found[level + 1], spine.starts(level + 1), axis=-1)
    for level in range(first + 1, len(estimates)):
        found[level] = lowered(spine, level, estimates[level], found[level - 1])
        if limits:
            found[level], more = under(spine, level, found[level], found[level - 1], limits[level])
            missed |= more
    return [found[level] for level in range(len(estimates))], missed


def filled(estimates: Floats, totals: Integers) -> Integers:
    """Each node's cells, near its estimates, with the given total."""
    found = np.empty(estimates.shape, dtype=np.int64)
    for node, total in enumerate(totals.tolist()):
        found[:, node] = whole(on_simplex(np.ascontiguousarray(estimates[:, node]), float(total)), total)
    return found


def lowered(spine: Spine, level: int, estimates: Floats, above: Integers) -> Integers:
    """One level: each cell by itself, so that a cell's numbers stay in cache; node totals are kept near in rounding."""
    parent = spine.parents[level - 1]
    starts = spine.starts(level)
    found = np.empty(estimates.shape, dtype=np.int64)
    owed = np.zeros(len(parent))
    for cell in range(len(estimates)):
        near = projected(estimates[cell], above[cell].astype(np.float64), parent, starts)
        found[cell] = rounded(near, above[cell], parent, starts, owed)
        owed += near - found[cell]
    return found


def projected(values: Floats, sums: Floats, parent: Integers, starts: Integers) -> Floats:
    """The nearest numbers without negatives that add up to each parent's sum."""
    many = np.diff(starts, append=len(values)).astype(np.float64)
    shift = (sums - np.add.reduceat(values, starts)) / many
    found = values + shift[parent]
    kept = found > 0
    if kept.all():
        return found
    open_ = np.arange(len(sums))  # parents that still have a negative child
    member = parent
    chosen = np.arange(len(values))
    out = np.empty_like(values)
    for _ in range(SWEEPS_MAX):
        bad = np.bincount(member, weights=(found < 0).astype(np.float64), minlength=len(open_)) > 0
        done = ~bad[member]
        out[chosen[done]] = found[done]
        if not bad.any():
            break
        left = ~done & (found > 0)
        out[chosen[~done & ~left]] = 0.0
        number = np.cumsum(bad) - 1
        member = number[member[left]]
        chosen = chosen[left]
        found = found[left]
        open_ = open_[bad]
        count = np.bincount(member, minlength=len(open_))
        missing = sums[open_] - np.bincount(member, weights=found, minlength=len(open_))
        found = found + (missing / np.maximum(count, 1))[member]
    else:  # what is left after so many sweeps is rounding error
        out[chosen] = np.maximum(found, 0)
    return _exact(out, sums, starts, parent)


def _exact(values: Floats, sums: Floats, starts: Integers, parent: Integers) -> Floats:
    """Sums made right to the last bit that matters: a parent of nothing has children of nothing."""
    have = np.add.reduceat(values, starts)
    factor = np.where(have > 0, sums / np.where(have > 0, have, 1.0), 0.0)
    lost = (have <= 0) & (sums > 0)
    found: Floats = values * factor[parent]
    if lost.any():  # all of the sum to the first child
        found[starts[lost]] = sums[lost]
    return found


def rounded(values: Floats, sums: Integers, parent: Integers, starts: Integers, owed: Floats) -> Integers:
    """Floors, and the rest to the largest fractions; `owed` is what rounding has taken from each node before."""
    floors = np.floor(values + TINY)
    rest = sums - np.add.reduceat(floors.astype(np.int64), starts)
    fraction = values - floors
    fraction[fraction < TINY * 10] = -1.0  # a whole number stays
    eager = np.where(fraction < 0, -1.0, fraction + np.clip(owed, -0.5, 0.5) + 0.5)
    order = np.argsort(parent * 4.0 - eager, kind="stable")
    place = np.arange(len(values)) - starts[parent]  # the order keeps siblings together
    up = np.zeros(len(values), dtype=np.int64)
    up[order] = place < rest[parent]
    return floors.astype(np.int64) + up
