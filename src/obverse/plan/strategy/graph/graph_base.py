"""A social network as kernels see it: what is public of it, its exact edges, and what a kernel is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from obverse.core.errors import Refused, invariant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.core.engine import Columns

    Integers = NDArray[np.int64]
    Bits = NDArray[np.bool_]

Unit = Literal["edge", "node"]
PEOPLE_MAX = 2**30  # so that a pair of them is one integer of 62 bits
RESULT_MAX = 2**60


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """A public attribute: a label for each value, and the value of each of the people."""

    labels: tuple[str, ...]
    code: Integers

    @property
    def sizes(self) -> Integers:
        import numpy as np

        return np.bincount(self.code, minlength=len(self.labels)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class GraphFacts:
    """All that is public of a network: who may be in it, what is protected, and what was promised or is cut."""

    unit: Unit
    people: int  # of the public list, whether they are in the network or not
    degree: int | None = None  # promised: nobody has more connections. Not checked: that would tell.
    cap: int | None = None  # under the unit `node`: connections of one person beyond it are cut before counting
    listed: bool = False  # who is in the network has a row of their own; else whoever has a connection is in it
    blocks: Mapping[str, Blocks] = field(default_factory=dict)

    def __post_init__(self) -> None:
        invariant(2 <= self.people < PEOPLE_MAX, "a network is of two people or more")
        invariant(self.unit == "node" or (self.cap is None and not self.listed), "only nodes are cut or listed")
        for one in self.blocks.values():
            invariant(len(one.code) == self.people, "an attribute of each of the people")

    def promised(self, what: str) -> int:
        """The degree promise, or the refusal of what takes one."""
        if self.degree is None:
            raise Refused(
                "no_degree_promise",
                f"{what} of a network whose unit is {self.unit!r} are released under a promise of the largest degree.",
                why="one person or one edge could move them by as much as the whole network otherwise; cutting edges away "
                "first does not bound it.",
                fix="declare degree = 200 under [graphs.NAME], if nobody can have more connections; the claim says so.",
            )
        return min(self.degree, self.people - 1)

    def capped(self, what: str) -> int:
        """Where connections are cut, or the refusal of what needs it."""
        if self.cap is None:
            raise Refused(
                "no_degree_cap",
                f"{what} of a network whose unit is 'node' need a cap on the connections that count of one person.",
                why="the best cap depends on the network, so it is chosen without looking at it.",
                fix="Give --cap 50, or declare a degree promise, which then is the cap.",
            )
        return min(self.cap, self.people - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Exact: different pairs of different people, the smaller number first, in rising order; and who is in it."""

    people: int
    low: Integers
    high: Integers
    here: Bits | None = None  # None: whether somebody is in it is not told apart from having no connection

    @property
    def degrees(self) -> Integers:
        import numpy as np

        both = np.bincount(self.low, minlength=self.people) + np.bincount(self.high, minlength=self.people)
        return both.astype(np.int64)


def graph_of(columns: Columns, facts: GraphFacts) -> Graph:
    """The network that rows say: direction, repetition and loops are nothing.

    Claim:   a simple graph. Without a pair, it is what rows without that pair say; without a person, what rows that do not
             name them say (`listed`: and their own row).
    Proof:   a set of unordered pairs, each there when some row names it; `listed`: pairs of people who both have their row.
    Assumes: numbers of people lie in 0 .. people - 1; -1 at the second end marks a row of one's own (checked).
    """
    import numpy as np

    u, v = (np.asarray(columns[name], dtype=np.int64) for name in ("u", "v"))
    if len(u):
        invariant(int(u.min()) >= 0 and int(v.min()) >= -1, "a person's number")
        invariant(max(int(u.max()), int(v.max())) < facts.people, "a person's number")
    here = None
    if facts.listed:
        here = np.zeros(facts.people, dtype=bool)
        here[u[v < 0]] = True
    pair = (v >= 0) & (u != v)
    if here is not None:
        pair &= here[u] & here[v]  # v = -1 is no pair already
    u, v = u[pair], v[pair]
    key = np.sort(np.minimum(u, v) * facts.people + np.maximum(u, v))
    key = key[np.diff(key, prepend=-1) > 0]
    return Graph(facts.people, key // facts.people, key % facts.people, here)


@dataclass(frozen=True, slots=True)
class Norms:
    """How far one unit moves a kernel's vector at most: in L1, and in squared L2."""

    l1: int
    squares: int


class GraphKernel(Protocol):
    """One statistic: a vector of integers, and how far one unit moves it."""

    __slots__ = ()

    name: ClassVar[str]

    @property
    def text(self) -> str:
        """As it is asked for, such as stars:2."""
        ...

    def norms(self, facts: GraphFacts) -> Norms | None:
        """None: it has no fixed bound, and goes up a ladder of its own."""
        ...

    def promised(self, facts: GraphFacts) -> bool:
        """Whether the norms hold under the degree promise only."""
        ...

    def entries(self, facts: GraphFacts) -> int: ...

    def exact(self, graph: Graph, facts: GraphFacts) -> Integers:
        """Of a graph as it is; what has to be cut is cut here."""
        ...


class Reach(GraphKernel, Protocol):
    """How far a ladder's first rung reaches: one number that an edge moves by at most one. Each states its own theorem."""

    __slots__ = ()

    @property
    def text(self) -> str:
        return self.name

    def norms(self, facts: GraphFacts) -> Norms:
        invariant(facts.unit == "edge", "a ladder is for edges")
        return Norms(1, 1)

    def promised(self, facts: GraphFacts) -> bool:
        return False

    def entries(self, facts: GraphFacts) -> int:
        return 1
