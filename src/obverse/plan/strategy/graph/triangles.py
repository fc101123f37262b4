"""Triangles: three people who all know each other; and the most friends that two people share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.plan.strategy.graph.network import Graph, GraphFacts, GraphKernel, Norms, Reach

Integers = NDArray[np.int64]


AT_ONCE = 1 << 22  # pairs of friends that are looked at together
SIEVE_BITS = 24
DENSE = 1 << 11  # people whose pairs have a counter each
FIRST = 64  # people whose shared friends are counted first: those with the most


@dataclass(frozen=True, slots=True)
class Triangles(GraphKernel):
    """The number of triangles.

    Claim:   under the promise that nobody has more than D connections, one edge moves it by at most D - 1, and one node
             by at most C(D, 2). Without it, it has a ladder under the unit `edge` (MostShared).
    Proof:   an edge is in as many triangles as its ends share friends, who are among the other D - 1 of each. A node is
             in as many as there are edges among its at most D friends.
    Assumes: the promise holds of the network with that edge or node, and without it. Cutting edges away until all have
             at most D does not do: one edge more may then move 2, 4, 6 triangles at D = 2, 3, 4 (tests).
    """

    name: ClassVar[str] = "triangles"

    @property
    def text(self) -> str:
        return self.name

    def norms(self, facts: GraphFacts) -> Norms | None:
        if facts.unit == "edge" and facts.degree is None:
            return None
        most = facts.promised("triangles")
        moved = max(most - 1 if facts.unit == "edge" else math.comb(most, 2), 1)
        return Norms(moved, moved**2)

    def promised(self, facts: GraphFacts) -> bool:
        return self.norms(facts) is not None

    def entries(self, facts: GraphFacts) -> int:
        return 1

    def exact(self, graph: Graph, facts: GraphFacts) -> Integers:
        return np.array([triangles(graph)], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class MostShared(Reach):
    """The most friends that any two people share: how far the first rung of the triangles' ladder reaches.

    Claim:   one edge moves it by at most 1, and moves triangles by at most it.
    Proof:   an edge at x is or is not what makes its other end a friend that x shares with some y: each pair's number
             moves by at most one, so their maximum does. An edge that comes or goes is in as many triangles as its ends
             share friends.
    Assumes: nothing.
    """

    name: ClassVar[str] = "most_shared"

    def exact(self, graph: Graph, facts: GraphFacts) -> Integers:
        return np.array([most_shared(graph)], dtype=np.int64)


def triangles(graph: Graph) -> int:
    """Each edge points from its end of lower degree; two that point away from one person are closed or not."""
    people = graph.people
    degrees = graph.degrees
    rank = np.empty(people, dtype=np.int64)
    rank[np.argsort(degrees, kind="stable")] = np.arange(people)
    a = rank[graph.low]
    b = rank[graph.high]
    keys = np.sort(np.minimum(a, b) * people + np.maximum(a, b))
    tail = keys // people
    head = keys % people
    ends = np.cumsum(np.bincount(tail, minlength=people))[tail]
    later = ends - np.arange(len(keys)) - 1  # edges of the same tail that come after this one
    sieve = np.zeros(1 << SIEVE_BITS, dtype=bool)
    sieve[_slot(keys)] = True
    found = 0
    for first, last in _chunks(later):
        one = np.repeat(np.arange(first, last), later[first:last])
        other = one + 1 + _within(later[first:last])
        asked = head[one] * people + head[other]
        asked = asked[sieve[_slot(asked)]]
        place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        found += int(np.count_nonzero(keys[place] == asked))
    return found


def most_shared(graph: Graph) -> int:
    """Of the people with the most friends first: once as many are shared as anybody else has friends, it is the
    most.
    """
    degrees = graph.degrees
    order = np.argsort(-degrees, kind="stable")
    rank = np.empty(graph.people, dtype=np.int64)
    rank[order] = np.arange(graph.people)
    best = 0
    top = FIRST
    while True:
        best = _shared_among(graph, rank, min(top, graph.people))
        if top >= graph.people or int(degrees[order[top]]) <= best:
            return best
        top *= 4


def _shared_among(graph: Graph, rank: Integers, top: int) -> int:
    """The most friends that two of the first `top` people share: each friend names all pairs of such people they
    know.
    """
    friend = np.concatenate([graph.low, graph.high])
    known = rank[np.concatenate([graph.high, graph.low])]
    friend = friend[known < top]
    known = known[known < top]
    order = np.lexsort((known, friend))
    friend = friend[order]
    known = known[order]
    later = np.cumsum(np.bincount(friend, minlength=graph.people))[friend] - np.arange(len(friend)) - 1
    counts = np.zeros(top * top if top <= DENSE else 0, dtype=np.int64)
    often = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for first, last in _chunks(later):
        one = np.repeat(np.arange(first, last), later[first:last])
        key = known[one] * top + known[one + 1 + _within(later[first:last])]
        if len(counts):
            counts += np.bincount(key, minlength=len(counts))
        else:
            often = _added(often, key)
    return int((counts if len(counts) else often[1]).max(initial=0))


def _added(often: tuple[Integers, Integers], key: Integers) -> tuple[Integers, Integers]:
    """Pairs and how often they were named, with more of them."""
    order = np.argsort(np.concatenate([often[0], key]), kind="stable")
    pairs = np.concatenate([often[0], key])[order]
    count = np.concatenate([often[1], np.ones(len(key), dtype=np.int64)])[order]
    start = np.flatnonzero(np.diff(pairs, prepend=-1))
    return pairs[start], np.add.reduceat(count, start)


def _chunks(sizes: Integers) -> list[tuple[int, int]]:
    """Ranges of places whose sizes add up to about AT_ONCE, or of one place; none that are empty."""
    total = np.cumsum(sizes)
    if not len(total) or total[-1] == 0:
        return []
    marks = np.arange(AT_ONCE, int(total[-1]) + AT_ONCE, AT_ONCE)
    ends = np.unique(np.minimum(np.searchsorted(total, marks) + 1, len(sizes)))
    starts = np.concatenate([[0], ends[:-1]])
    return [(int(a), int(b)) for a, b in zip(starts, ends)]


def _within(sizes: Integers) -> Integers:
    """0 .. size - 1 for each size, one after the other."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _slot(keys: Integers) -> NDArray[np.uint64]:
    """A place in the sieve for each key."""
    return (keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - SIEVE_BITS)
