"""How many connections people have: sorted degrees under the unit `edge`, cumulative counts under the unit `node`.

Stars: one person with k of their connections. Two-stars are the pairs of friends that may be friends themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import Refused
from obverse.plan.strategy.graph.network import (
    RESULT_MAX,
    Blocks,
    Graph,
    GraphFacts,
    GraphKernel,
    Norms,
    Reach,
    projected,
)

Integers = NDArray[np.int64]


TEETH_MAX = 8


@dataclass(frozen=True, slots=True)
class Stars(GraphKernel):
    """The number of k-stars: of each person the ways to choose k of their connections, added up.

    Claim:   under the promise that nobody has more than D connections, one edge moves it by at most 2 C(D - 1, k - 1),
             and one node by at most (k + 1) C(D, k). Without it, two-stars have a ladder under the unit `edge`
             (MostConnected).
    Proof:   an edge more at somebody with d < D others gives C(d + 1, k) - C(d, k) = C(d, k - 1) more, at both of its
             ends. A node with d <= D edges has C(d, k) of its own, and each neighbour C(d' - 1, k - 1) of those with
             the node, d' <= D: in all C(D, k) + D C(D - 1, k - 1), and D C(D - 1, k - 1) = k C(D, k).
    Assumes: the promise holds of the network with that edge or node, and without it.
    """

    name: ClassVar[str] = "stars"
    k: int = 2

    def __post_init__(self) -> None:
        if not 2 <= self.k <= TEETH_MAX:
            raise Refused("bad_statistic", f"a star has 2 to {TEETH_MAX} ends.", fix="Write stars:2.")

    @property
    def text(self) -> str:
        return f"{self.name}:{self.k}"

    def norms(self, facts: GraphFacts) -> Norms | None:
        if facts.unit == "edge" and facts.degree is None and self.k == 2:
            return None
        most = facts.promised(f"{self.k}-stars")
        moved = 2 * math.comb(most - 1, self.k - 1) if facts.unit == "edge" else (self.k + 1) * math.comb(most, self.k)
        return Norms(max(moved, 1), max(moved, 1) ** 2)

    def promised(self, facts: GraphFacts) -> bool:
        return self.norms(facts) is not None

    def entries(self, facts: GraphFacts) -> int:
        return 1

    def exact(self, graph: Graph, facts: GraphFacts) -> Integers:
        """In whole numbers of any size, by how often each degree occurs."""
        often = np.bincount(graph.degrees)
        total = sum(int(often[d]) * math.comb(int(d), self.k) for d in np.flatnonzero(often))
        return np.array([min(total, RESULT_MAX)], dtype=np.int64)  # a cut brings no two counts further apart


@dataclass(frozen=True, slots=True)
class MostConnected(Reach):
    """The largest degree: how far the first rung of the ladder of two-stars reaches; released so that its error is
    known.

    Claim:   one edge moves it by at most 1, and moves two-stars by at most twice of it.
    Proof:   a degree moves by at most one, so their maximum does. An edge between people of d and d' others adds d + d'
             stars, and takes (d - 1) + (d' - 1) away.
    Assumes: nothing.
    """

    name: ClassVar[str] = "most_connected"

    def exact(self, graph: Graph, facts: GraphFacts) -> Integers:
        return np.array([int(graph.degrees.max())], dtype=np.int64)


WHAT = "degrees"


@dataclass(frozen=True, slots=True)
class Degrees(GraphKernel):
    """Degrees, of all or within each value of a public attribute.

    edge: everybody's degree, sorted within each block. node: C[b, k], how many people of block b have at most k
    connections under the cap t; for k = 0 .. t where people are listed (the last is their number), else for k = 0 .. t
    - 1.

    Claim:   one edge moves sorted degrees by at most 2 in L1 and in squared L2. One node that is listed moves C by at
             most t + 1 in L1, and by its square; one that is not, by at most 2 t, and t^2 + 3 t in squared L2.
    Proof:   edge: two degrees move by one each; sorting within blocks brings no two vectors further apart, in L1 nor in
             L2 (rearrangement). node: let v keep d <= t pairs. Others' degrees differ by at most d in sum
             (`projected`), and a step of one degree moves one entry by one: o, |o|_1 <= d. Listed: v adds one to its
             entries k >= d: t + 1 - d of them. In all at most t + 1; squares at most the L1 norm's. Not listed: v, who
             was counted with degree 0, leaves its entries k < d: at most 2 d; squares at most d + 2 d + d^2.
    Assumes: blocks are public, of a list of people that does not hang on the network.
    """

    name: ClassVar[str] = WHAT
    attribute: str = ""

    @property
    def text(self) -> str:
        return f"{self.name}:{self.attribute}" if self.attribute else self.name

    def norms(self, facts: GraphFacts) -> Norms:
        if facts.unit == "edge":
            return Norms(2, 2)
        cap = facts.capped(WHAT)
        return Norms(cap + 1, (cap + 1) ** 2) if facts.listed else Norms(2 * cap, cap**2 + 3 * cap)

    def promised(self, facts: GraphFacts) -> bool:
        return False

    def blocks(self, facts: GraphFacts) -> Blocks:
        return facts.blocks[self.attribute] if self.attribute else Blocks(("",), np.zeros(facts.people, dtype=np.int64))

    def steps(self, facts: GraphFacts) -> int:
        """Entries of one block, under the unit `node`."""
        return facts.capped(WHAT) + facts.listed

    def entries(self, facts: GraphFacts) -> int:
        return facts.people if facts.unit == "edge" else self.steps(facts) * len(self.blocks(facts).labels)

    def exact(self, graph: Graph, facts: GraphFacts) -> Integers:
        blocks = self.blocks(facts)
        if facts.unit == "edge":
            degrees = graph.degrees
            return degrees[np.lexsort((degrees, blocks.code))]
        cap = facts.capped(WHAT)
        many = len(blocks.labels)
        steps = self.steps(facts)
        degrees = projected(graph, cap).degrees
        cell = blocks.code * (cap + 1) + degrees
        counted = cell if graph.here is None else cell[graph.here]
        table = np.bincount(counted, minlength=many * (cap + 1)).reshape(many, cap + 1)
        return np.ascontiguousarray(np.cumsum(table, axis=1)[:, :steps]).reshape(-1).astype(np.int64)
