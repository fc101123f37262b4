"""The ends of a quantile's interval: down a noisy tree along the first or the last block that may hold the quantile.

For a place x (a border between leaves) let S(x) = Left(x) - q N, where Left counts what lies before x and N is the total.
It is estimated by sharing out each parent's estimate: a child gets its noisy count plus an equal part of what the
parent's estimate exceeds the sum of its children; N is the sum of the children of the root. Then
 - the estimate at x is the same from whichever node x is a border of;
 - its noise is a sum over the levels down to x of coefficient times noise: with g the position of x within the parent, as
   a share of its width (q at the first level), f that within the child that holds x: 1 - g for children before that
   one, f - g for it, -g for those after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from obverse.plan.release.quantile_nodes import NoisyTree
from obverse.plan.release.quantile_noise import Spread, one_sided

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

ROUNDING = 2.0**-50  # of doubles, relative to the total


@dataclass(frozen=True, slots=True)
class Exclusion:
    """When a border excludes a block: S is beyond `lenience` by more than noise exceeds with chance `risk`."""

    lenience: Floats
    risk: float


def edge(tree: NoisyTree, cells: Integers, q: Floats, side: Literal["first", "last"], rule: Exclusion) -> Integers:
    """The first (or last) leaf that no test excludes, one for each (cell, q).

    A block is excluded on the first side if the estimate of S at its end is below -lenience by more than its noise
    exceeds with chance `risk`; on the last side if at its start it is above lenience by as much. Borders of the domain
    never exclude, and the last child (or first) is not judged again by the end that it shares with its parent.

    Claim:   let t be a leaf such that S >= -lenience at the end of every block that holds it (side "first"), or
             S <= lenience at the start of each (side "last"). With chance at least 1 - height * risk the returned leaf is
             not beyond t: at most t for "first", at least t for "last". With one q, and leniences that are not negative,
             the first leaf is never after the last.
    Proof:   side "first"; the other is its mirror image. The blocks that hold t have ends fixed by the exact counts, one
             per level. At each the noise is below what it falls below with chance `risk`; otherwise, in all of them
             at once, no block that holds t is excluded. Going down, the first child that is not excluded is entered,
             so to leave the blocks of t towards later leaves the path would have to pass over one of them. Both sides
             together: where their paths part, were the last side's child j before the first side's, the border after
             j would exclude both j for being before and j + 1 for being after the quantile.
    Assumes: lenience is never negative.
    """
    import numpy as np

    branching = tree.branching
    node, before = np.zeros_like(cells), np.zeros(len(cells))
    count = total = before
    for level in range(tree.height):
        noisy = tree.children(cells, node, level).astype(np.float64)
        if level == 0:
            count = total = noisy.sum(axis=1)
        shared = noisy + ((count - noisy.sum(axis=1)) / branching)[:, None]
        borders = before[:, None] + np.cumsum(shared, axis=1)
        excess = borders[:, :-1] - (q * total)[:, None]
        margin = rule.lenience[:, None] + _strays(tree, node, q, level, rule.risk) + (ROUNDING * np.abs(total))[:, None]
        if side == "first":
            kept = np.concatenate((excess >= -margin, np.ones((len(cells), 1), dtype=bool)), axis=1)
            child = kept.argmax(axis=1)
        else:
            kept = np.concatenate((np.ones((len(cells), 1), dtype=bool), excess <= margin), axis=1)
            child = branching - 1 - kept[:, ::-1].argmax(axis=1)
        rows = np.arange(len(cells))
        before, count = borders[rows, child] - shared[rows, child], shared[rows, child]
        node = node * branching + child
    return node


def _strays(tree: NoisyTree, node: Integers, q: Floats, level: int, risk: float) -> Floats:
    """What the noise of the estimate exceeds with chance `risk`, at the borders between the children of each node."""
    return one_sided(spread(tree.branching, node, q, level), tree.mechanism, risk)


def spread(branching: int, node: Integers, q: Floats, level: int) -> Spread:
    """The coefficients of the noise at the borders between the children of each node: one row each, branching - 1 borders."""
    import numpy as np

    inner = np.arange(1, branching, dtype=np.float64)[None, :]
    here = np.broadcast_to(inner / branching, (len(node), branching - 1))
    g = here if level else q[:, None]
    squares, largest, magnitudes = _figures(inner, branching - inner, g, np.zeros_like(here))
    for above in range(level, 0, -1):
        digit = (node // branching ** (level - above) % branching)[:, None].astype(np.float64)
        inside, here = here, (digit + here) / branching
        g = here if above > 1 else q[:, None]
        more = _figures(digit, branching - 1 - digit, g, np.abs(inside - g))
        squares, magnitudes = squares + more[0], magnitudes + more[2]
        largest = np.maximum(largest, more[1])
    return Spread(squares, largest, magnitudes)


def _figures(before: Floats, after: Floats, g: Floats, own: Floats) -> tuple[Floats, Floats, Floats]:
    """Sum of squares, largest square and sum of magnitudes of `before` times 1 - g, `after` times g, and `own`."""
    import numpy as np

    squares = before * (1 - g) ** 2 + after * g**2 + own**2
    magnitudes = before * (1 - g) + after * g + own
    largest = np.maximum(np.where(before > 0, 1 - g, 0), np.where(after > 0, g, 0))
    return squares, np.maximum(largest, own) ** 2, magnitudes
