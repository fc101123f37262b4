"""Connections beyond a cap are cut: pairs are taken in a fixed order, each while both of its people have room."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from obverse.core.errors import invariant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.plan.strategy.graph.graph_base import Graph

    Integers = NDArray[np.int64]
    Bits = NDArray[np.bool_]

MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of splitmix64


def projected(graph: Graph, cap: int) -> Graph:
    """The pairs that are kept when all are taken one after the other, each while both ends have fewer than `cap` kept ones.

    Claim:   let v be one person, and compare the network with v to that without. With d <= cap the pairs that v keeps, the
             kept degrees of all others differ by at most d in sum.
    Proof:   take the same order in both. Let D be the sum of |difference| over the others, so far; D <= v's kept pairs, so far.
             A pair of v and x, kept: both grow by at most one. A pair of x and y that is kept in both or in neither: nothing.
             Kept without v only: with v, say, x is full, and without v it is not; so x has more with v, and its difference
             falls by one; that of y grows by at most one: D does not grow. Kept with v only: likewise, the other way round.
             (Day, Li, Lyu 2016, for any fixed order.)
    Assumes: the order of two pairs hangs on nothing but these two (`_order`). It bounds degrees, and not which pairs are
             kept: those may all differ, so nothing else may be counted of them at this bound (tests show 198 of 199).
    """
    import numpy as np

    invariant(cap >= 1, "a cap is at least one")
    first = np.argsort(_order(graph), kind="stable")
    kept = np.zeros(len(first), dtype=bool)
    kept[first] = _taken(graph.low[first], graph.high[first], graph.people, cap)
    return replace(graph, low=graph.low[kept], high=graph.high[kept])


def _order(graph: Graph) -> NDArray[np.uint64]:
    """A fixed scrambling of each pair's number, one to one: chains of pairs that wait for each other stay short."""
    import numpy as np

    x = (graph.low * graph.people + graph.high).astype(np.uint64)
    for shift, factor in zip((30, 27), MIX):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def _taken(u: Integers, v: Integers, people: int, cap: int) -> Bits:
    """For pairs in order, whether each is kept; in rounds, each of which decides all that are certain.

    Claim:   what taking one after the other gives.
    Proof:   a pair is surely kept when, at both ends, those kept so far and all undecided ones before it leave room; it is
             surely not kept when an end is full of kept ones. The first undecided pair is always one of these.
    """
    import numpy as np

    kept = np.zeros(len(u), dtype=bool)
    used = np.zeros(people, dtype=np.int64)
    open_ = np.arange(len(u))
    while len(open_):
        a, b = u[open_], v[open_]
        before = _before(np.concatenate([a, b]), np.concatenate([open_, open_]))
        room = (used[a] + before[: len(a)] < cap) & (used[b] + before[len(a) :] < cap)
        kept[open_[room]] = True
        used += np.bincount(a[room], minlength=people) + np.bincount(b[room], minlength=people)
        full = (used[a] >= cap) | (used[b] >= cap)
        open_ = open_[~room & ~full]
    return kept


def _before(node: Integers, when: Integers) -> Integers:
    """For each entry how many entries of the same node come before it."""
    import numpy as np

    order = np.lexsort((when, node))
    found = np.empty(len(node), dtype=np.int64)
    start = np.flatnonzero(np.diff(node[order], prepend=-1))
    found[order] = np.arange(len(node)) - np.repeat(start, np.diff(np.append(start, len(node))))
    return found
