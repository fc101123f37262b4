"""Stars: one person with k of their connections. Two-stars are the pairs of friends that may be friends themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from obverse.core.errors import Refused
from obverse.plan.strategy.graph.graph_base import RESULT_MAX, Graph, GraphFacts, GraphKernel, Norms, Reach

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

TEETH_MAX = 8


@dataclass(frozen=True, slots=True)
class Stars(GraphKernel):
    """The number of k-stars: of each person the ways to choose k of their connections, added up.

    Claim:   under the promise that nobody has more than D connections, one edge moves it by at most 2 C(D - 1, k - 1), and one
             node by at most (k + 1) C(D, k). Without it, two-stars have a ladder under the unit `edge` (MostConnected).
    Proof:   an edge more at somebody with d < D others gives C(d + 1, k) - C(d, k) = C(d, k - 1) more, at both of its ends.
             A node with d <= D edges has C(d, k) of its own, and each neighbour C(d' - 1, k - 1) of those with the node,
             d' <= D: in all C(D, k) + D C(D - 1, k - 1), and D C(D - 1, k - 1) = k C(D, k).
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
        import numpy as np

        often = np.bincount(graph.degrees)
        total = sum(int(often[d]) * math.comb(int(d), self.k) for d in np.flatnonzero(often))
        return np.array([min(total, RESULT_MAX)], dtype=np.int64)  # a cut brings no two counts further apart


@dataclass(frozen=True, slots=True)
class MostConnected(Reach):
    """The largest degree: how far the first rung of the ladder of two-stars reaches; released so that its error is known.

    Claim:   one edge moves it by at most 1, and moves two-stars by at most twice of it.
    Proof:   a degree moves by at most one, so their maximum does. An edge between people of d and d' others adds d + d' stars,
             and takes (d - 1) + (d' - 1) away.
    Assumes: nothing.
    """

    name: ClassVar[str] = "most_connected"

    def exact(self, graph: Graph, facts: GraphFacts) -> Integers:
        import numpy as np

        return np.array([int(graph.degrees.max())], dtype=np.int64)
