"""Estimates of every level of a spine, from noisy cells and totals and from totals that are known; with their deviations.

Claim:   `estimates` are unbiased and add up along the spine, in every cell; `spreads` are the standard deviations of a cell. A
         level whose totals are known has them without error, and so have the levels above it.
Proof:   noise of a node's cells splits into their mean and the rest, which are independent. The rest is fitted by itself. A
         node's total is its own measurement averaged with the sum of its cells by precision; a known total is a measurement
         of variance 0. Both trees: generalised least squares (publish/hierarchy/spine). A cell is its part of the rest plus
         its share
         of the total: var (1 - 1/cells) + var of the total / cells^2.
Assumes: noise is independent between entries; known totals are those of the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from obverse.core.errors import invariant
from obverse.publish.hierarchy.spine import Spine, fitted, variances

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.publish.base import Measured

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Known = tuple[int, Integers] | None  # a level, and totals of its nodes


def spreads(spine: Spine, cells: int, measured: Measured, known: Known) -> list[Floats]:
    """The standard deviation of a cell's estimate, for each node of each level."""
    import numpy as np

    detail, totals = variances_of(spine, cells, measured, known)
    apart = zip(variances(spine, detail), variances(spine, totals))
    return [np.sqrt(one * (1 - 1 / cells) + total / cells**2) for one, total in apart]


def estimates(spine: Spine, cells: int, measured: Measured, known: Known) -> list[Floats]:
    """Of every level, cells by nodes."""
    import numpy as np

    levels = range(len(spine.sizes))
    detail: list[Any] = [None] * len(levels)
    totals: list[Any] = [None] * len(levels)
    given: dict[int, tuple[Any, float]] = {}
    own, joined = variances_of(spine, cells, measured, known)
    for entries in measured:
        kind, level = parsed(entries.block.name)
        if kind == "cells":
            detail[level] = entries.counts().reshape(spine.sizes[level], cells).T
        else:
            given[level] = entries.counts().reshape(-1), entries.variance
    for level in levels:
        totals[level] = detail[level].sum(axis=0) / (cells * own[level])
        if level in given:
            totals[level] = totals[level] + given[level][0] / given[level][1]
        totals[level] = totals[level] * joined[level]
    if known is not None:
        totals[known[0]] = known[1].astype(np.float64)
    sums = fitted(spine, totals, joined)
    found = fitted(spine, detail, own)
    return [one + (total - one.sum(axis=0)) / cells for one, total in zip(found, sums)]


def variances_of(spine: Spine, cells: int, measured: Measured, known: Known) -> tuple[list[float], list[float]]:
    """The variances of each level's cells, and of its nodes' totals with the sums of their cells."""
    own, totals = [0.0] * len(spine.sizes), [0.0] * len(spine.sizes)
    for entries in measured:
        kind, level = parsed(entries.block.name)
        (own if kind == "cells" else totals)[level] = entries.variance
    joined = [1 / (1 / (cells * variance) + (1 / total if total else 0.0)) for variance, total in zip(own, totals)]
    if known is not None:
        joined[known[0]] = 0.0
    return own, joined


def parsed(name: str) -> tuple[str, int]:
    """What a block measures, and of which level."""
    kind, _, level = name.partition(" ")
    invariant(kind in ("cells", "totals"), "a block of a hierarchy")
    return kind, int(level)
