"""A tree of noisy counts over the leaves of each cell, where noise is drawn when a node is first looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from obverse.core.errors import invariant
from obverse.core.rng import Rng
from obverse.mechanisms.base import Additive

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

PLACES_MAX = 2**62
SPARSE = 8  # places for each that has some weight, from which on those are sorted instead


class NoisyTree:
    """For each of `cells` cells a tree of `height` levels below its root; a node has `branching` children.

    Leaves are 0 .. branching**height - 1; a node counts the weight of the leaves below it. Levels are numbered from the
    root, level 0, which has no noise of its own and is not told; every other node has its own.

    Claim:   whatever is computed from the answers of `children` is a function of one release: `mechanism.sample` of the
             vector of all nodes of levels 1 .. height of all cells. Its loss is that mechanism's.
    Proof:   entries of the release are independent given the exact vector, so an entry may be drawn when it is first
             read. It is drawn once and remembered, so a second look tells nothing new. Which entry is read next
             depends on those read before, and on nothing else: it is post-processing.
    Assumes: the mechanism's sensitivity is that of the stacked vector: a unit's total weight times the height (L1), or
             times its square root (L2). Runs inside `randomize`, which alone hands out exact weights.
    """

    __slots__ = ("_known", "_mechanism", "_places", "_rng", "_sums", "branching", "cells", "height")

    def __init__(
        self,
        cells: int,
        branching: int,
        height: int,
        cell: Integers,
        leaf: Integers,
        weight: Integers,
        mechanism: Additive,
        rng: Rng,
    ) -> None:
        """cell, leaf, weight: the non-empty leaves, in any order."""
        import numpy as np

        invariant(cells >= 1 and branching >= 2 and height >= 1, "a tree has cells, branches and levels")
        leaves = branching**height
        invariant(cells * leaves < PLACES_MAX, "places of all cells fit into 62 bits")
        invariant(len(cell) == len(leaf) == len(weight), "each leaf has a cell and a weight")
        invariant(all(array.dtype == np.int64 for array in (cell, leaf, weight)), "a tree has 64-bit integers")
        if len(cell):
            invariant(min(leaf.min(), cell.min()) >= 0 and leaf.max() < leaves and cell.max() < cells, "a leaf is in the tree")
            invariant(weight.min() >= 0 and float(weight.sum(dtype=float)) < 2.0**61, "weights fit into 61 bits")
        self.cells, self.branching, self.height = cells, branching, height
        self._places, self._sums = _summed(cell * leaves + leaf, weight, cells * leaves)
        self._mechanism, self._rng = mechanism, rng
        nothing = (np.empty(0, dtype=np.int64), np.empty((0, branching), dtype=np.int64))
        self._known = [nothing] * height

    @property
    def leaves(self) -> int:
        return int(self.branching**self.height)

    @property
    def mechanism(self) -> Additive:
        return self._mechanism

    def children(self, cells: Integers, nodes: Integers, level: int) -> Integers:
        """The noisy counts of the children of each (cell, node of that level), one row each."""
        import numpy as np

        invariant(0 <= level < self.height, "leaves have no children")
        keys = cells * self.branching**level + nodes
        known, counts = self._known[level]
        wanted = np.unique(keys)
        fresh = wanted[~np.isin(wanted, known, assume_unique=True)]
        if len(fresh):
            merged = np.concatenate((known, fresh))
            order = np.argsort(merged)
            known, counts = merged[order], np.concatenate((counts, self._draw(fresh, level)))[order]
            self._known[level] = known, counts
        return np.asarray(counts[np.searchsorted(known, keys)])

    def _draw(self, keys: Integers, level: int) -> Integers:
        """Counts of the children of nodes that nobody looked at before, with noise; a key times its width is a place."""
        import numpy as np

        width = self.branching ** (self.height - level - 1)
        edges = (keys[:, None] * self.branching + np.arange(self.branching + 1)) * width
        below = edges if self._places is None else np.searchsorted(self._places, edges)
        exact = np.diff(self._sums[below], axis=1)
        return self._mechanism.sample(exact.ravel(), self._rng).reshape(exact.shape)


def _summed(places: Integers, weight: Integers, size: int) -> tuple[Integers | None, Integers]:
    """The weight below every place, where most have some; else below each that has some, and these places, rising."""
    import numpy as np

    if size <= SPARSE * len(places):
        sums = np.zeros(size + 1, dtype=np.int64)
        sums[1:][places] = weight
        np.cumsum(sums, out=sums)
        if sums[-1] == weight.sum():  # else a place stands twice
            return None, sums
    order = np.argsort(places, kind="stable")
    return places[order], np.concatenate(([0], np.cumsum(weight[order])))
