"""How many connections people have: sorted degrees under the unit `edge`, cumulative counts under the unit `node`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from obverse.plan.strategy.graph.graph_base import Blocks, Graph, GraphFacts, GraphKernel, Norms
from obverse.plan.strategy.graph.graph_projection import projected

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

WHAT = "degrees"


@dataclass(frozen=True, slots=True)
class Degrees(GraphKernel):
    """Degrees, of all or within each value of a public attribute.

    edge: everybody's degree, sorted within each block. node: C[b, k], how many people of block b have at most k connections
    under the cap t; for k = 0 .. t where people are listed (the last is their number), else for k = 0 .. t - 1.

    Claim:   one edge moves sorted degrees by at most 2 in L1 and in squared L2. One node that is listed moves C by at most
             t + 1 in L1, and by its square; one that is not, by at most 2 t, and t^2 + 3 t in squared L2.
    Proof:   edge: two degrees move by one each; sorting within blocks brings no two vectors further apart, in L1 nor in L2
             (rearrangement). node: let v keep d <= t pairs. Others' degrees differ by at most d in sum (`projected`), and a
             step of one degree moves one entry by one: o, |o|_1 <= d. Listed: v adds one to its entries k >= d: t + 1 - d
             of them. In all at most t + 1; squares at most the L1 norm's. Not listed: v, who was counted with degree 0, leaves
             its entries k < d: at most 2 d; squares at most d + 2 d + d^2.
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
        import numpy as np

        return facts.blocks[self.attribute] if self.attribute else Blocks(("",), np.zeros(facts.people, dtype=np.int64))

    def steps(self, facts: GraphFacts) -> int:
        """Entries of one block, under the unit `node`."""
        return facts.capped(WHAT) + facts.listed

    def entries(self, facts: GraphFacts) -> int:
        return facts.people if facts.unit == "edge" else self.steps(facts) * len(self.blocks(facts).labels)

    def exact(self, graph: Graph, facts: GraphFacts) -> Integers:
        import numpy as np

        blocks = self.blocks(facts)
        if facts.unit == "edge":
            degrees = graph.degrees
            return degrees[np.lexsort((degrees, blocks.code))]
        cap, many, steps = facts.capped(WHAT), len(blocks.labels), self.steps(facts)
        degrees = projected(graph, cap).degrees
        cell = blocks.code * (cap + 1) + degrees
        counted = cell if graph.here is None else cell[graph.here]
        table = np.bincount(counted, minlength=many * (cap + 1)).reshape(many, cap + 1)
        return np.ascontiguousarray(np.cumsum(table, axis=1)[:, :steps]).reshape(-1).astype(np.int64)
