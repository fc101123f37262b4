"""Who is connected with whom: connections by a public attribute of both ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from obverse.plan.strategy.graph.graph_base import Graph, GraphFacts, GraphKernel, Norms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


def pairs(many: int) -> tuple[Integers, Integers]:
    """Unordered pairs of values, with themselves, in the order of the entries."""
    import numpy as np

    first, second = np.triu_indices(many)
    return first.astype(np.int64), second.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Mixing(GraphKernel):
    """For each unordered pair of an attribute's values, how many connections have such ends.

    Claim:   one edge moves one entry by 1. One node moves the entries by at most the promised degree D in L1, and D^2.
    Proof:   an edge is in one entry. A node's edges, at most D, are in one entry each; L2 is at most L1.
    Assumes: the attribute is public, and was not derived from the network. Node: nobody has more than D connections, with
             or without that node. Cutting edges away first would not do: one more node may change which edges are kept
             everywhere (`projected`).
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
        import numpy as np

        blocks = facts.blocks[self.attribute]
        many = len(blocks.labels)
        a, b = blocks.code[graph.low], blocks.code[graph.high]
        table = np.bincount(np.minimum(a, b) * many + np.maximum(a, b), minlength=many * many)
        first, second = pairs(many)
        found: Integers = table[first * many + second].astype(np.int64)
        return found
