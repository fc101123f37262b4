"""A place in a noisy tree: down along the child that holds a rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from obverse.plan.release.quantile_nodes import NoisyTree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]


def totals(tree: NoisyTree, cells: Integers) -> Integers:
    """The estimate of each cell's total weight, never negative."""
    import numpy as np

    return np.asarray(np.maximum(tree.children(cells, np.zeros_like(cells), 0).sum(axis=1), 0))


def leaf_of_rank(tree: NoisyTree, cells: Integers, rank: Integers) -> Integers:
    """The leaf that holds what has `rank` units of weight before it, by estimated counts; exactly so without noise.

    Children are estimated by the nearest counts that are not negative and add up to their parent's. A cell without any
    weight is left in its middle.
    """
    import numpy as np

    rows = np.arange(len(cells))
    node, rest, count = np.zeros_like(cells), rank.astype(np.float64), totals(tree, cells).astype(np.float64)
    for level in range(tree.height):
        counts = nearest(tree.children(cells, node, level).astype(np.float64), count)
        ends = np.cumsum(counts, axis=1)
        held = (ends > rest[:, None]) & (counts > 0)
        last = tree.branching - 1 - (counts > 0)[:, ::-1].argmax(axis=1)
        child = np.where(held.any(axis=1), held.argmax(axis=1), np.where(count > 0, last, tree.branching // 2))
        rest = np.maximum(rest - (ends[rows, child] - counts[rows, child]), 0)
        count, node = counts[rows, child], node * tree.branching + child
    return node


def nearest(noisy: Floats, total: Floats) -> Floats:
    """Row by row the point nearest to `noisy` with entries that are not negative and add up to `total` >= 0.

    Claim:   the projection onto the simplex of that size.
    Proof:   Held, Wolfe, Crowder 1974: it is max(noisy - tau, 0), and with entries falling, tau is
             (sum of the first k - total) / k for the largest k whose k-th entry exceeds that.
    Assumes: nothing.
    """
    import numpy as np

    falling = -np.sort(-noisy, axis=1)
    each = np.arange(1, noisy.shape[1] + 1)
    taus = (np.cumsum(falling, axis=1) - total[:, None]) / each
    k = np.maximum(np.count_nonzero(falling > taus, axis=1), 1)
    return np.maximum(noisy - np.take_along_axis(taus, k[:, None] - 1, axis=1), 0)
