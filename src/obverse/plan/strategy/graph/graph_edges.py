"""How many connections there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from obverse.plan.strategy.graph.graph_base import Graph, GraphFacts, GraphKernel, Norms
from obverse.plan.strategy.graph.graph_projection import projected

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EdgeCount(GraphKernel):
    """The number of connections; of those that are kept under a cap where nodes are protected.

    Claim:   one edge moves it by 1. One node moves it by at most the cap.
    Proof:   edge: it is a count of edges. Node: twice the count is the sum of kept degrees; with d <= cap the node's own, the
             others' differ by at most d in sum (`projected`), so the count by at most (d + d) / 2.
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
        import numpy as np

        kept = graph if facts.unit == "edge" else projected(graph, facts.capped("connections"))
        return np.array([len(kept.low)], dtype=np.int64)
