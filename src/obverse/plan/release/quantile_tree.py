"""Quantiles and extremes of each cell from one tree of noisy counts: places, and intervals that hold the true ones.

Leaves stand for the points of a public grid. Whoever calls turns leaf numbers into values. Everything here reads the tree
only through `NoisyTree.children`, so what it returns is post-processing of one release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from obverse.core.errors import invariant
from obverse.core.numbers import exact
from obverse.mechanisms.base import outside
from obverse.plan.release.quantile_descent import leaf_of_rank, totals
from obverse.plan.release.quantile_edges import Exclusion, edge
from obverse.plan.release.quantile_nodes import NoisyTree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

DENOMINATOR_MAX = 2**20  # of q
POINT_RISK = 0.05  # per border, at which an extreme itself is placed

__all__ = ["NoisyTree", "Quantiles", "extreme", "percentile_cont", "percentile_disc"]


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Leaf numbers, one row per cell and one column per q: the estimate and an interval, low <= value <= high."""

    value: Floats
    low: Floats
    high: Floats


def percentile_disc(tree: NoisyTree, qs: Sequence[float], level: float) -> Quantiles:
    """The least leaf with weight that has at least the share q of the cell's weight at or before it.

    Claim:   each interval holds its true leaf t with chance `level` or more, if the cell has any weight.
    Proof:   blocks that hold t start where Left < q N (or at the domain's start) and end where Left >= q N.
             quantile_edges.edge with lenience zero misses t on either side with chance at most half the risk.
    Assumes: nothing.
    """
    import numpy as np

    cells, q = _grid(tree, qs)
    rank = np.empty_like(cells)
    for i, (over, under) in enumerate(_fractions(qs)):
        whole, part = _times(totals(tree, cells[i :: len(qs)]), over, under)
        rank[i :: len(qs)] = whole + (part > 0) - 1  # the least number of units that is not below q N, less one
    value = leaf_of_rank(tree, cells, np.maximum(rank, 0))
    return _bounded(tree, cells, q, value.astype(np.float64), (np.zeros_like(q), np.zeros_like(q)), level)


def percentile_cont(tree: NoisyTree, qs: Sequence[float], level: float, *, one: int = 1) -> Quantiles:
    """The leaf number at index q (rows - 1) of the sorted rows, interpolated; `one` is the weight of a whole row.

    With k the whole part of that index, it lies between the leaf a that holds unit k * one (from zero) and the leaf
    b that holds unit (k + 1) * one, or b = a where the index is whole.

    Claim:   each interval holds its true place with chance `level` or more, if the cell has any weight.
    Proof:   the place lies in [a, b]. Units are whole, so blocks that hold a end where Left >= k * one + 1, that is where
             S > q (N - one) - one + 1 - q N. Blocks that hold b start where Left <= q (N - one) + (1 - r) one, r the
             fraction of the index, less if it is whole: where S <= (1 - q) one. With these leniences
             quantile_edges.edge is beyond a, or before b, with chance at most half the risk each. Cells of less than a
             row have index zero, a = b, and keep both.
    Assumes: nothing.
    """
    import numpy as np

    invariant(one >= 1, "a row has weight")
    cells, q = _grid(tree, qs)
    rank, fraction = np.empty_like(cells), np.empty_like(q)
    for i, (over, under) in enumerate(_fractions(qs)):
        rows = np.maximum(totals(tree, cells[i :: len(qs)]) - one, 0)
        whole, part = _times(rows, over, under * one)
        rank[i :: len(qs)], fraction[i :: len(qs)] = whole * one, part / (under * one)
    first = leaf_of_rank(tree, cells, rank)
    second = leaf_of_rank(tree, cells, rank + np.where(fraction > 0, one, 0))
    value = first + np.maximum(second - first, 0) * fraction
    return _bounded(tree, cells, q, value, (q * one + one - 1, (1 - q) * one), level)


def extreme(tree: NoisyTree, side: Literal["min", "max"], level: float) -> Quantiles:
    """The first or last leaf with weight: one column. Errs inwards rather than outwards, by what noise could hide.

    The estimate is the end of the blocks beyond which the estimated weight does not exceed what noise alone exceeds
    with a chance of a twentieth; without noise it is exact. Nothing tells whether some weight lies further out, so the
    interval of a maximum ends with the domain.

    Claim:   the interval holds the true extreme with chance `level` or more, if the cell has any weight.
    Proof:   maximum: S with q = 1 is minus the weight from x on, zero where a block that holds the last leaf ends. So
             quantile_edges.edge is beyond it with chance at most the risk. Minimum: the mirror image, with q = 0.
             A larger chance per border only moves an edge outwards, so the estimate lies in the interval.
    Assumes: nothing.
    """
    import numpy as np

    cells, q = _grid(tree, [1.0 if side == "max" else 0.0])
    nothing, risk = np.zeros_like(q), float(outside(level)) / tree.height
    towards: Literal["first", "last"] = "first" if side == "max" else "last"
    value = edge(tree, cells, q, towards, Exclusion(nothing, max(POINT_RISK, risk)))[:, None].astype(np.float64)
    inner = edge(tree, cells, q, towards, Exclusion(nothing, risk))[:, None].astype(np.float64)
    if side == "max":
        return Quantiles(value, inner, np.full_like(value, tree.leaves - 1))
    return Quantiles(value, np.zeros_like(value), inner)


def _bounded(
    tree: NoisyTree, cells: Integers, q: Floats, value: Floats, leniences: tuple[Floats, Floats], level: float
) -> Quantiles:
    """The interval around an estimate, which is moved into it where it lies outside."""
    import numpy as np

    risk = float(outside(level)) / (2 * tree.height)
    low = edge(tree, cells, q, "first", Exclusion(leniences[0], risk)).astype(np.float64)
    high = edge(tree, cells, q, "last", Exclusion(leniences[1], risk)).astype(np.float64)
    shape = (tree.cells, -1)
    return Quantiles(np.clip(value, low, high).reshape(shape), low.reshape(shape), high.reshape(shape))


def _grid(tree: NoisyTree, qs: Sequence[float]) -> tuple[Integers, Floats]:
    """Every cell with every q, cell by cell."""
    import numpy as np

    invariant(len(qs) >= 1 and all(0 <= q <= 1 for q in qs), "a quantile lies between zero and one")
    each = np.array([float(Fraction(*pair)) for pair in _fractions(qs)])
    return np.repeat(np.arange(tree.cells), len(qs)), np.tile(each, tree.cells)


def _fractions(qs: Sequence[float]) -> list[tuple[int, int]]:
    return [exact(q).limit_denominator(DENOMINATOR_MAX).as_integer_ratio() for q in qs]


def _times(number: Integers, over: int, under: int) -> tuple[Integers, Integers]:
    """number * over / under: the whole part, and the remainder in parts of `under`; over <= under."""
    invariant(over * under < 2**62, "q has few digits and a row few parts")
    whole, rest = number // under, number % under
    return whole * over + rest * over // under, rest * over % under
