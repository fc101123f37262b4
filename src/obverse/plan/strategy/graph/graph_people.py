"""How many people are in the network: their number is not public, so it has noise too."""

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
class People(GraphKernel):
    """Those who are listed; where nobody is, those with a connection (that is kept under a cap, where nodes are protected).

    Claim:   one edge moves it by at most 2. One node that is listed moves it by 1; else by at most the cap + 1.
    Proof:   an edge has two ends. A listed node is one of them. Else: with d <= cap the node's kept edges, the others' kept
             degrees differ by at most d in sum (`projected`), so at most d of them begin or cease to have one.
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
        import numpy as np

        if graph.here is not None:
            return np.array([int(graph.here.sum())], dtype=np.int64)
        kept = graph if facts.unit == "edge" else projected(graph, facts.capped("people with a connection"))
        return np.array([int(np.count_nonzero(kept.degrees))], dtype=np.int64)
