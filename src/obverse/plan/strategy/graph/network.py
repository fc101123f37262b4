"""A social network as kernels see it: what is public of it, its exact edges, and what a kernel is.

Connections beyond a cap are cut: pairs are taken in a fixed order, each while both of its people have room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from obverse.core.engine import Columns
from obverse.core.errors import Refused, invariant

Integers = NDArray[np.int64]
Bits = NDArray[np.bool_]


MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of splitmix64


def projected(graph: Graph, cap: int) -> Graph:
    """The pairs that are kept when all are taken one after the other, each while both ends have fewer than `cap` kept
    ones.

    Claim:   let v be one person, and compare the network with v to that without. With d <= cap the pairs that v keeps,
             the kept degrees of all others differ by at most d in sum.
    Proof:   take the same order in both. Let D be the sum of |difference| over the others, so far; D <= v's kept pairs,
             so far. A pair of v and x, kept: both grow by at most one. A pair of x and y that is kept in both or in
             neither: nothing. Kept without v only: with v, say, x is full, and without v it is not; so x has more with
             v, and its difference falls by one; that of y grows by at most one: D does not grow. Kept with v only:
             likewise, the other way round. (Day, Li, Lyu 2016, for any fixed order.)
    Assumes: the order of two pairs hangs on nothing but these two (`_order`). It bounds degrees, and not which pairs
             are kept: those may all differ, so nothing else may be counted of them at this bound (tests show 198 of
             199).
    """
    invariant(cap >= 1, "a cap is at least one")
    first = np.argsort(_order(graph), kind="stable")
    kept = np.zeros(len(first), dtype=bool)
    kept[first] = _taken(graph.low[first], graph.high[first], graph.people, cap)
    return replace(graph, low=graph.low[kept], high=graph.high[kept])


def _order(graph: Graph) -> NDArray[np.uint64]:
    """A fixed scrambling of each pair's number, one to one: chains of pairs that wait for each other stay short."""
    x = (graph.low * graph.people + graph.high).astype(np.uint64)
    for shift, factor in zip((30, 27), MIX):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def _taken(u: Integers, v: Integers, people: int, cap: int) -> Bits:
    """For pairs in order, whether each is kept; in rounds, each of which decides all that are certain.

    Claim:   what taking one after the other gives.
    Proof:   a pair is surely kept when, at both ends, those kept so far and all undecided ones before it leave room; it
             is surely not kept when an end is full of kept ones. The first undecided pair is always one of these.
    """
    kept = np.zeros(len(u), dtype=bool)
    used = np.zeros(people, dtype=np.int64)
    open_ = np.arange(len(u))
    while len(open_):
        a = u[open_]
        b = v[open_]
        before = _before(np.concatenate([a, b]), np.concatenate([open_, open_]))
        room = (used[a] + before[: len(a)] < cap) & (used[b] + before[len(a) :] < cap)
        kept[open_[room]] = True
        used += np.bincount(a[room], minlength=people) + np.bincount(b[room], minlength=people)
        full = (used[a] >= cap) | (used[b] >= cap)
        open_ = open_[~room & ~full]
    return kept


def _before(node: Integers, when: Integers) -> Integers:
    """For each entry how many entries of the same node come before it."""
    order = np.lexsort((when, node))
    found = np.empty(len(node), dtype=np.int64)
    start = np.flatnonzero(np.diff(node[order], prepend=-1))
    found[order] = np.arange(len(node)) - np.repeat(start, np.diff(np.append(start, len(node))))
    return found


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
                why="one person or one edge could move them by as much as the whole network otherwise; cutting edges "
                "away "
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
        both = np.bincount(self.low, minlength=self.people) + np.bincount(self.high, minlength=self.people)
        return both.astype(np.int64)


def graph_of(columns: Columns, facts: GraphFacts) -> Graph:
    """The network that rows say: direction, repetition and loops are nothing.

    Claim:   a simple graph. Without a pair, it is what rows without that pair say; without a person, what rows that do
             not name them say (`listed`: and their own row).
    Proof:   a set of unordered pairs, each there when some row names it; `listed`: pairs of people who both have their
             row.
    Assumes: numbers of people lie in 0 .. people - 1; -1 at the second end marks a row of one's own (checked).
    """
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
    u = u[pair]
    v = v[pair]
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
    """How far a ladder's first rung reaches: one number that an edge moves by at most one.

    Each states its own theorem.
    """

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
