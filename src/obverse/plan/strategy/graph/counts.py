"""Who is connected with whom: connections by a public attribute of both ends.

How many connections there are.

How many people are in the network: their number is not public, so it has noise too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.plan.strategy.graph.network import Graph, GraphFacts, GraphKernel, Norms, projected

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EdgeCount(GraphKernel):
    """The number of connections; of those that are kept under a cap where nodes are protected.

    Claim:   one edge moves it by 1. One node moves it by at most the cap.
    Proof:   edge: it is a count of edges. Node: twice the count is the sum of kept degrees; with d <= cap the node's
             own, the others' differ by at most d in sum (`projected`), so the count by at most (d + d) / 2.
    Assumes: the graph is simple (graph_of).
    """

    name: ClassVar[str] = "edges"

    @property
    def text(self) -> str:
        return self.name

    def norms(self, facts: GraphFacts) -> Norms:
        most = 1 if facts.unit == "edge" else facts.capped("connections")
        return Norms(most, most**2)

    def promised(self, facts: GraphFacts) -> bool:
        return False

    def entries(self, facts: GraphFacts) -> int:
        return 1

    def exact(self, graph: Graph, facts: GraphFacts) -> Integers:
        kept = graph if facts.unit == "edge" else projected(graph, facts.capped("connections"))
        return np.array([len(kept.low)], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class People(GraphKernel):
    """Those who are listed; where nobody is, those with a connection (that is kept under a cap, where nodes are
    protected).

    Claim:   one edge moves it by at most 2. One node that is listed moves it by 1; else by at most the cap + 1.
    Proof:   an edge has two ends. A listed node is one of them. Else: with d <= cap the node's kept edges, the others'
             kept degrees differ by at most d in sum (`projected`), so at most d of them begin or cease to have one.
    Assumes: nothing.
    """

    name: ClassVar[str] = "people"

    @property
    def text(self) -> str:
        return self.name

    def norms(self, facts: GraphFacts) -> Norms:
        if facts.unit == "edge":
            return Norms(2, 4)
        most = 1 if facts.listed else facts.capped("people with a connection") + 1
        return Norms(most, most**2)

    def promised(self, facts: GraphFacts) -> bool:
        return False

    def entries(self, facts: GraphFacts) -> int:
        return 1

    def exact(self, graph: Graph, facts: GraphFacts) -> Integers:
        if graph.here is not None:
            return np.array([int(graph.here.sum())], dtype=np.int64)
        kept = graph if facts.unit == "edge" else projected(graph, facts.capped("people with a connection"))
        return np.array([int(np.count_nonzero(kept.degrees))], dtype=np.int64)


def pairs(many: int) -> tuple[Integers, Integers]:
    """Unordered pairs of values, with themselves, in the order of the entries."""
    first, second = np.triu_indices(many)
    return first.astype(np.int64), second.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Mixing(GraphKernel):
    """For each unordered pair of an attribute's values, how many connections have such ends.

    Claim:   one edge moves one entry by 1. One node moves the entries by at most the promised degree D in L1, and D^2.
    Proof:   an edge is in one entry. A node's edges, at most D, are in one entry each; L2 is at most L1.
    Assumes: the attribute is public, and was not derived from the network. Node: nobody has more than D connections,
             with or without that node. Cutting edges away first would not do: one more node may change which edges are
             kept everywhere (`projected`).
    """

    name: ClassVar[str] = "mixing"
    attribute: str

    @property
    def text(self) -> str:
        return f"{self.name}:{self.attribute}"

    def norms(self, facts: GraphFacts) -> Norms:
        most = 1 if facts.unit == "edge" else facts.promised("connections by attributes")
        return Norms(most, most**2)

    def promised(self, facts: GraphFacts) -> bool:
        return facts.unit == "node"

    def entries(self, facts: GraphFacts) -> int:
        many = len(facts.blocks[self.attribute].labels)
        return many * (many + 1) // 2

    def exact(self, graph: Graph, facts: GraphFacts) -> Integers:
        blocks = facts.blocks[self.attribute]
        many = len(blocks.labels)
        a = blocks.code[graph.low]
        b = blocks.code[graph.high]
        table = np.bincount(np.minimum(a, b) * many + np.maximum(a, b), minlength=many * many)
        first, second = pairs(many)
        found: Integers = table[first * many + second].astype(np.int64)
        return found
