"""Quantiles and extremes of each cell from one tree of noisy counts: places, and intervals that hold the true ones.

Leaves stand for the points of a public grid. Whoever calls turns leaf numbers into values. Everything here reads the
tree only through `NoisyTree.children`, so what it returns is post-processing of one release.

A tree of noisy counts over the leaves of each cell, where noise is drawn when a node is first looked at.

A place in a noisy tree: down along the child that holds a rank.

How far a weighted sum of many independent noises may stray to one side: bounds that hold, from a few figures of it.

The ends of a quantile's interval: down a noisy tree along the first or the last block that may hold the quantile.

For a place x (a border between leaves) let S(x) = Left(x) - q N, where Left counts what lies before x and N is the
total. It is estimated by sharing out each parent's estimate: a child gets its noisy count plus an equal part of what
the parent's estimate exceeds the sum of its children; N is the sum of the children of the root. Then
 - the estimate at x is the same from whichever node x is a border of;
 - its noise is a sum over the levels down to x of coefficient times noise: with g the position of x within the parent,
   as a share of its width (q at the first level), f that within the child that holds x: 1 - g for children before that
   one, f - g for it, -g for those after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.core.numbers import exact
from obverse.core.rng import Rng
from obverse.mechanisms.base import Additive, outside
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace

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
        invariant(cells >= 1 and branching >= 2 and height >= 1, "a tree has cells, branches and levels")
        leaves = branching**height
        invariant(cells * leaves < PLACES_MAX, "places of all cells fit into 62 bits")
        invariant(len(cell) == len(leaf) == len(weight), "each leaf has a cell and a weight")
        invariant(all(array.dtype == np.int64 for array in (cell, leaf, weight)), "a tree has 64-bit integers")
        if len(cell):
            invariant(
                min(leaf.min(), cell.min()) >= 0 and leaf.max() < leaves and cell.max() < cells, "a leaf is in the tree"
            )
            invariant(weight.min() >= 0 and float(weight.sum(dtype=float)) < 2.0**61, "weights fit into 61 bits")
        self.cells = cells
        self.branching = branching
        self.height = height
        self._places, self._sums = _summed(cell * leaves + leaf, weight, cells * leaves)
        self._mechanism = mechanism
        self._rng = rng
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
        invariant(0 <= level < self.height, "leaves have no children")
        keys = cells * self.branching**level + nodes
        known, counts = self._known[level]
        wanted = np.unique(keys)
        fresh = wanted[~np.isin(wanted, known, assume_unique=True)]
        if len(fresh):
            merged = np.concatenate((known, fresh))
            order = np.argsort(merged)
            known = merged[order]
            counts = np.concatenate((counts, self._draw(fresh, level)))[order]
            self._known[level] = known, counts
        return np.asarray(counts[np.searchsorted(known, keys)])

    def _draw(self, keys: Integers, level: int) -> Integers:
        """Counts of the children of nodes that nobody looked at before, with noise; a key times its width is a
        place.
        """
        width = self.branching ** (self.height - level - 1)
        edges = (keys[:, None] * self.branching + np.arange(self.branching + 1)) * width
        below = edges if self._places is None else np.searchsorted(self._places, edges)
        exact = np.diff(self._sums[below], axis=1)
        return self._mechanism.sample(exact.ravel(), self._rng).reshape(exact.shape)


def _summed(places: Integers, weight: Integers, size: int) -> tuple[Integers | None, Integers]:
    """The weight below every place, where most have some; else below each that has some, and these places, rising."""
    if size <= SPARSE * len(places):
        sums = np.zeros(size + 1, dtype=np.int64)
        sums[1:][places] = weight
        np.cumsum(sums, out=sums)
        if sums[-1] == weight.sum():  # else a place stands twice
            return None, sums
    order = np.argsort(places, kind="stable")
    return places[order], np.concatenate(([0], np.cumsum(weight[order])))


Floats = NDArray[np.float64]


def totals(tree: NoisyTree, cells: Integers) -> Integers:
    """The estimate of each cell's total weight, never negative."""
    return np.asarray(np.maximum(tree.children(cells, np.zeros_like(cells), 0).sum(axis=1), 0))


def leaf_of_rank(tree: NoisyTree, cells: Integers, rank: Integers) -> Integers:
    """The leaf that holds what has `rank` units of weight before it, by estimated counts; exactly so without noise.

    Children are estimated by the nearest counts that are not negative and add up to their parent's. A cell without any
    weight is left in its middle.
    """
    rows = np.arange(len(cells))
    node = np.zeros_like(cells)
    rest = rank.astype(np.float64)
    count = totals(tree, cells).astype(np.float64)
    for level in range(tree.height):
        counts = nearest(tree.children(cells, node, level).astype(np.float64), count)
        ends = np.cumsum(counts, axis=1)
        held = (ends > rest[:, None]) & (counts > 0)
        last = tree.branching - 1 - (counts > 0)[:, ::-1].argmax(axis=1)
        child = np.where(held.any(axis=1), held.argmax(axis=1), np.where(count > 0, last, tree.branching // 2))
        rest = np.maximum(rest - (ends[rows, child] - counts[rows, child]), 0)
        count = counts[rows, child]
        node = node * tree.branching + child
    return node


def nearest(noisy: Floats, total: Floats) -> Floats:
    """Row by row the point nearest to `noisy` with entries that are not negative and add up to `total` >= 0.

    Claim:   the projection onto the simplex of that size.
    Proof:   Held, Wolfe, Crowder 1974: it is max(noisy - tau, 0), and with entries falling, tau is
             (sum of the first k - total) / k for the largest k whose k-th entry exceeds that.
    Assumes: nothing.
    """
    falling = -np.sort(-noisy, axis=1)
    each = np.arange(1, noisy.shape[1] + 1)
    taus = (np.cumsum(falling, axis=1) - total[:, None]) / each
    k = np.maximum(np.count_nonzero(falling > taus, axis=1), 1)
    return np.maximum(noisy - np.take_along_axis(taus, k[:, None] - 1, axis=1), 0)


SHIFT_RISK = 0.05


@dataclass(frozen=True, slots=True)
class Spread:
    """Of the coefficients of a sum, entry by entry: the sum of squares, the largest square, the sum of magnitudes."""

    squares: Floats
    largest: Floats
    magnitudes: Floats


def one_sided(spread: Spread, mechanism: Additive, risk: float) -> Floats:
    """t >= 0 with P[sum of coefficient times noise > t] <= risk, for independent noises of one mechanism; likewise
    below -t.

    `intervals.half_width` is exact for two or three noises; dozens of like ones are what this is for.
    """
    invariant(0 < risk < 1, "a risk lies between zero and one")
    match mechanism:
        case DiscreteLaplace():
            return np.maximum(_laplace(spread, float(mechanism.scale), risk), 0)
        case DiscreteGaussian():
            return np.maximum(_gaussian(spread, math.sqrt(mechanism.sigma_squared), risk), 0)
        case _:
            invariant(mechanism.stddev() == 0, "error bars are known for Laplace and Gaussian noise")
            return np.zeros_like(spread.squares)


def _gaussian(spread: Spread, sigma: float, risk: float) -> Floats:
    """The lesser of two bounds.

    Claim:   P[sum c_i Z_i > t] <= risk for discrete Gaussian Z_i.
    Proof:   one: Z_i can be drawn together with a Gaussian of the same sigma at most one step away
             (intervals.half_width). The other: E exp(s Z) <= exp(s**2 sigma**2 / 2) (Canonne, Kamath, Steinke 2020), so
             Chernoff's bound is that of the Gaussian sum.
    Assumes: nothing.
    """
    sigmas = sigma * np.sqrt(spread.squares)
    coupled = sigmas * NormalDist().inv_cdf(1 - risk) + spread.magnitudes
    return np.minimum(coupled, sigmas * math.sqrt(-2 * math.log(risk)))


def _laplace(spread: Spread, scale: float, risk: float) -> Floats:
    """From the continuous sum to the integer one.

    Claim:   P[S > t] <= risk for S the sum of c_i Z_i, Z_i discrete Laplace.
    Proof:   Z is floor(E) - floor(F) of two exponentials of mean `scale`, and E - F is Laplace. Floors are independent
             of the fractions, so the Laplace sum L is S + D with D independent of S, symmetric, and each term of D
             within its coefficient: P[S > t] P[D >= -d] <= P[L > t - d]. With d = 0 the factor is at least a half;
             with d = sqrt(2 sum c_i**2 ln(1 / r)) it is at least 1 - r (Hoeffding 1963). The lesser of both is taken.
    Assumes: nothing.
    """
    unit = scale * np.sqrt(spread.largest)
    number = np.maximum(spread.squares / spread.largest, 1.0)
    shift = np.sqrt(-2 * math.log(SHIFT_RISK) * spread.squares)
    return np.minimum(unit * _tail(number, risk / 2), unit * _tail(number, risk * (1 - SHIFT_RISK)) + shift)


def _tail(number: Floats, risk: float) -> Floats:
    """t with P[L > t] <= risk for L a sum of Laplaces of scales c_i <= 1 with sum c_i**2 = number >= 1.

    Claim:   for every s in (0, 1), P[L > t] <= exp(-s t) (1 - s**2)**-m min(1, D / s), m = number, where
             D = 1 / (2 sqrt(pi (m - 3/4))); the returned t makes this the risk for a well chosen s.
    Proof:   E exp(s L) is the product of 1 / (1 - c_i**2 s**2), at most (1 - s**2)**-m, as -ln(1 - x s**2) is convex in
             x and zero at zero. That is Chernoff's bound. Moreover P[L > t] = E exp(s L) times the integral of
             exp(-s y) f(y) beyond t, f the density tilted by exp(s y), at most exp(-s t) max f / s. Its characteristic
             function is at most the product of 1 / (1 + c_i**2 u**2) in magnitude, hence at most (1 + u**2)**-m
             (ln(1 + x u**2) is concave in x), and max f is at most its integral over 2 pi, which is
             gamma(m - 1/2) / (2 sqrt(pi) gamma(m)) <= D (Kershaw 1983).
    Assumes: nothing; s may be chosen as roughly as one likes.
    """
    density = 1 / (2 * np.sqrt(math.pi * (number - 0.75)))
    need = np.full_like(number, -math.log(risk))
    for _ in range(3):
        s = _slope(need / number)
        need = np.log(np.minimum(1.0, density / s)) - math.log(risk)
    return np.asarray((need - number * np.log1p(-(s**2))) / s)


@cache
def _slopes() -> tuple[Floats, Floats]:
    """Where 2 y / (1 - y) + ln(1 - y), with y = s**2, takes which value: there Chernoff's bound is best."""
    s = 1 - np.geomspace(1.0, 1e-9, 4001)[1:]
    return 2 * s**2 / (1 - s**2) + np.log1p(-(s**2)), s


def _slope(need: Floats) -> Floats:
    values, slopes = _slopes()
    return np.clip(np.interp(need, values, slopes), 1e-6, 1 - 1e-9)


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
             S <= lenience at the start of each (side "last"). With chance at least 1 - height * risk the returned leaf
             is not beyond t: at most t for "first", at least t for "last". With one q, and leniences that are not
             negative, the first leaf is never after the last.
    Proof:   side "first"; the other is its mirror image. The blocks that hold t have ends fixed by the exact counts,
             one per level. At each the noise is below what it falls below with chance `risk`; otherwise, in all of them
             at once, no block that holds t is excluded. Going down, the first child that is not excluded is entered, so
             to leave the blocks of t towards later leaves the path would have to pass over one of them. Both sides
             together: where their paths part, were the last side's child j before the first side's, the border after j
             would exclude both j for being before and j + 1 for being after the quantile.
    Assumes: lenience is never negative.
    """
    branching = tree.branching
    node = np.zeros_like(cells)
    before = np.zeros(len(cells))
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
        before = borders[rows, child] - shared[rows, child]
        count = shared[rows, child]
        node = node * branching + child
    return node


def _strays(tree: NoisyTree, node: Integers, q: Floats, level: int, risk: float) -> Floats:
    """What the noise of the estimate exceeds with chance `risk`, at the borders between the children of each node."""
    return one_sided(spread(tree.branching, node, q, level), tree.mechanism, risk)


def spread(branching: int, node: Integers, q: Floats, level: int) -> Spread:
    """The coefficients of the noise at the borders between the children of each node: one row each, branching - 1
    borders.
    """
    inner = np.arange(1, branching, dtype=np.float64)[None, :]
    here = np.broadcast_to(inner / branching, (len(node), branching - 1))
    g = here if level else q[:, None]
    squares, largest, magnitudes = _figures(before=inner, after=branching - inner, g=g, own=np.zeros_like(here))
    for above in range(level, 0, -1):
        digit = (node // branching ** (level - above) % branching)[:, None].astype(np.float64)
        inside = here
        here = (digit + here) / branching
        g = here if above > 1 else q[:, None]
        more = _figures(before=digit, after=branching - 1 - digit, g=g, own=np.abs(inside - g))
        squares = squares + more[0]
        magnitudes = magnitudes + more[2]
        largest = np.maximum(largest, more[1])
    return Spread(squares, largest, magnitudes)


def _figures(before: Floats, after: Floats, g: Floats, own: Floats) -> tuple[Floats, Floats, Floats]:
    """Sum of squares, largest square and sum of magnitudes of `before` times 1 - g, `after` times g, and `own`."""
    squares = before * (1 - g) ** 2 + after * g**2 + own**2
    magnitudes = before * (1 - g) + after * g + own
    largest = np.maximum(np.where(before > 0, 1 - g, 0), np.where(after > 0, g, 0))
    return squares, np.maximum(largest, own) ** 2, magnitudes


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
    Proof:   the place lies in [a, b]. Units are whole, so blocks that hold a end where Left >= k * one + 1, that is
             where S > q (N - one) - one + 1 - q N. Blocks that hold b start where Left <= q (N - one) + (1 - r) one, r
             the fraction of the index, less if it is whole: where S <= (1 - q) one. With these leniences
             quantile_edges.edge is beyond a, or before b, with chance at most half the risk each. Cells of less than a
             row have index zero, a = b, and keep both.
    Assumes: nothing.
    """
    invariant(one >= 1, "a row has weight")
    cells, q = _grid(tree, qs)
    rank = np.empty_like(cells)
    fraction = np.empty_like(q)
    for i, (over, under) in enumerate(_fractions(qs)):
        rows = np.maximum(totals(tree, cells[i :: len(qs)]) - one, 0)
        whole, part = _times(rows, over, under * one)
        rank[i :: len(qs)] = whole * one
        fraction[i :: len(qs)] = part / (under * one)
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
    cells, q = _grid(tree, [1.0 if side == "max" else 0.0])
    nothing = np.zeros_like(q)
    risk = float(outside(level)) / tree.height
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
    risk = float(outside(level)) / (2 * tree.height)
    low = edge(tree, cells, q, "first", Exclusion(leniences[0], risk)).astype(np.float64)
    high = edge(tree, cells, q, "last", Exclusion(leniences[1], risk)).astype(np.float64)
    shape = (tree.cells, -1)
    return Quantiles(np.clip(value, low, high).reshape(shape), low.reshape(shape), high.reshape(shape))


def _grid(tree: NoisyTree, qs: Sequence[float]) -> tuple[Integers, Floats]:
    """Every cell with every q, cell by cell."""
    invariant(len(qs) >= 1 and all(0 <= q <= 1 for q in qs), "a quantile lies between zero and one")
    each = np.array([float(Fraction(*pair)) for pair in _fractions(qs)])
    return np.repeat(np.arange(tree.cells), len(qs)), np.tile(each, tree.cells)


def _fractions(qs: Sequence[float]) -> list[tuple[int, int]]:
    return [exact(q).limit_denominator(DENOMINATOR_MAX).as_integer_ratio() for q in qs]


def _times(number: Integers, over: int, under: int) -> tuple[Integers, Integers]:
    """number * over / under: the whole part, and the remainder in parts of `under`; over <= under."""
    invariant(over * under < 2**62, "q has few digits and a row few parts")
    whole = number // under
    rest = number % under
    return whole * over + rest * over // under, rest * over % under
