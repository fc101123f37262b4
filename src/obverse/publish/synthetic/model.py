"""A model of rows over a tree of cliques: the table of any two columns, and the chances of rows on a condition.

A model of rows: columns that hang together in a forest of pairs, and are independent given their neighbours in it.

Measured tables that close circles: cliques of columns in a tree, each with its table, that agree where they meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


Edge = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """One column: which group each value belongs to, and how the values of a group share it."""

    groups: Integers
    within: Floats  # of each value, in its group: they add up to one in each
    margin: Floats  # of each group: they add up to one

    @property
    def values(self) -> Floats:
        """The probability of each value."""
        found: Floats = self.margin[self.groups] * self.within
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Columns in an order in which each comes after its parent, if it has one; and each one's table with its parent."""

    columns: tuple[Grouped, ...]
    order: tuple[int, ...]
    parents: Mapping[int, int]
    tables: Mapping[int, Floats]  # of a child: P[parent's group, own group], whose margins are the columns'
    total: float

    def given(self, place: int) -> Floats:
        """P[own group | parent's group], rows for the parent's."""
        table = self.tables[place]
        rows = table.sum(axis=1, keepdims=True)
        plain = np.broadcast_to(self.columns[place].margin, table.shape)
        return np.where(rows > 0, table / np.where(rows > 0, rows, 1), plain)

    def pair(self, a: int, b: int) -> Floats:
        """The table of any two columns' values, measured or not: P[a, b], along the path between them."""
        one = self.columns[a]
        other = self.columns[b]
        joint = self.group_pair(a, b)
        found: Floats = joint[one.groups][:, other.groups] * one.within[:, None] * other.within
        return found

    def group_pair(self, a: int, b: int) -> Floats:
        """The same of groups."""
        path = self._path(a, b)
        if path is None:
            return np.outer(self.columns[a].margin, self.columns[b].margin)
        joint = np.diag(self.columns[a].margin)
        for here, there in pairwise(path):
            joint = joint @ self._step(here, there)
        return joint

    def _step(self, here: int, there: int) -> Floats:
        """P[there | here] of neighbours."""
        if self.parents.get(there) == here:
            return self.given(there)
        table = self.tables[here].T
        rows = table.sum(axis=1, keepdims=True)
        return np.where(rows > 0, table / np.where(rows > 0, rows, 1), self.columns[there].margin)

    def _path(self, a: int, b: int) -> list[int] | None:
        up_a = self._ancestors(a)
        up_b = self._ancestors(b)
        shared = next((one for one in up_a if one in up_b), None)
        if shared is None:
            return None
        return [*up_a[: up_a.index(shared)], *reversed(up_b[: up_b.index(shared) + 1])]

    def _ancestors(self, place: int) -> list[int]:
        found = [place]
        while found[-1] in self.parents:
            found.append(self.parents[found[-1]])
        return found


def rooted(columns: int, edges: tuple[Edge, ...]) -> tuple[tuple[int, ...], dict[int, int]]:
    """Columns from roots to leaves, and each one's parent; the root of each tree is the one with most neighbours."""
    beside: dict[int, list[int]] = {i: [] for i in range(columns)}
    for a, b in edges:
        beside[a].append(b)
        beside[b].append(a)
    order: list[int] = []
    parents: dict[int, int] = {}
    for root in sorted(range(columns), key=lambda i: (-len(beside[i]), i)):
        if root in order:
            continue
        level = [root]
        while level:
            order += level
            below = []
            for one in level:
                for other in beside[one]:
                    if other not in order:
                        parents[other] = one
                        below.append(other)
            level = below
    return tuple(order), parents


Clique = tuple[int, ...]
# walks over the tree; raking of one clique before the next
SWEEPS = 12
LOCAL = 2


@dataclass(frozen=True, slots=True)
class Junction:
    """Cliques, each after its parent, with which it shares all that it has in common with those before it."""

    cliques: tuple[Clique, ...]
    parents: tuple[int | None, ...]

    def shared(self, place: int) -> Clique:
        """What a clique has in common with its parent."""
        above = self.parents[place]
        return () if above is None else tuple(i for i in self.cliques[place] if i in self.cliques[above])


@lru_cache(maxsize=4096)
def junction(sizes: tuple[int, ...], parts: tuple[Clique, ...]) -> Junction:
    """Cliques that hold all parts: those that grew part by part, or those of all of them at once, whichever have fewer
    cells.

    Claim:   never more cells than `grown` told of the last part.
    Proof:   what grew is one of the two.
    Assumes: parts name columns in rising order.
    """
    if not parts:
        return _tree([(i,) for i in range(len(sizes))])
    one = _tree(grown(sizes, junction(sizes, parts[:-1]), parts[-1]))
    other = _tree(_filled(sizes, range(len(sizes)), parts))
    return other if cells(other.cliques, sizes) < cells(one.cliques, sizes) else one


def grown(sizes: Sequence[int], tree: Junction, part: Clique) -> list[Clique]:
    """Cliques with one part more: only those between its columns change."""
    if any({*part} <= {*clique} for clique in tree.cliques):
        return list(tree.cliques)
    beside: dict[int, set[int]] = {n: set() for n in range(len(tree.cliques))}
    for n, above in enumerate(tree.parents):
        if above is not None:
            beside[n].add(above)
            beside[above].add(n)
    apart: list[Clique] = []
    leaves = [n for n in beside if len(beside[n]) <= 1]
    while leaves:
        n = leaves.pop()
        met = {i for m in beside.get(n, ()) for i in tree.cliques[m]}
        if n not in beside or ({*tree.cliques[n]} - met) & {*part}:
            continue
        apart.append(tree.cliques[n])
        for m in beside.pop(n):
            beside[m].discard(n)
            if len(beside[m]) <= 1:
                leaves.append(m)
    between = [tree.cliques[n] for n in beside]
    return apart + _filled(sizes, sorted({i for clique in between for i in clique}), [*between, part])


def _filled(sizes: Sequence[int], columns: Iterable[int], parts: Sequence[Clique]) -> list[Clique]:
    """Cliques of the parts' graph with chords, put in one by one where least is added."""
    beside: dict[int, set[int]] = {i: set() for i in columns}
    for part in parts:
        for i in part:
            beside[i].update(part)
    for i, near in beside.items():
        near.discard(i)
    found: list[set[int]] = []
    while beside:
        place = _least(sizes, beside)
        clique = {place, *beside[place]}
        for a, b in combinations(sorted(beside[place]), 2):
            beside[a].add(b)
            beside[b].add(a)
        for other in beside.pop(place):
            beside[other].discard(place)
        if not any(clique <= have for have in found):
            found.append(clique)
    return [tuple(sorted(one)) for one in found]


def _least(sizes: Sequence[int], beside: Mapping[int, set[int]]) -> int:
    """The column that adds fewest chords, and of those the one with fewest cells beside it; the first that adds
    none.
    """
    found: dict[int, int] = {}
    for i in beside:
        found[i] = _missing(beside, i)
        if not found[i]:
            return i
    least = min(found.values())
    return min((math.prod(sizes[j] for j in beside[i]), i) for i, many in found.items() if many == least)[1]


def _missing(beside: Mapping[int, set[int]], place: int) -> int:
    near = beside[place]
    return len(near) * (len(near) - 1) - sum(len(beside[i] & near) for i in near)


def _tree(cliques: list[Clique]) -> Junction:
    """The spanning tree that shares most: what two cliques have in common is then in all between them."""
    order = [0]
    parents: list[int | None] = [None]
    left = set(range(1, len(cliques)))
    while left:
        best = max((len({*cliques[a]} & {*cliques[b]}), -b, -a) for a in order for b in left)
        share = best[0]
        b = -best[1]
        a = -best[2]
        parents.append(order.index(a) if share else None)
        order.append(b)
        left.discard(b)
    return Junction(tuple(cliques[i] for i in order), tuple(parents))


def cells(cliques: Iterable[Clique], sizes: Sequence[int]) -> int:
    """Of all cliques' tables together: what the model takes."""
    return sum(math.prod(sizes[i] for i in one) for one in cliques)


def independent(tree: Junction, margins: Sequence[Floats]) -> list[Floats]:
    """A table for each clique, of columns that tell nothing of each other."""
    tables = []
    for clique in tree.cliques:
        table = np.ones(())
        for i in clique:
            table = np.multiply.outer(table, margins[i])
        tables.append(table)
    return tables


def fitted(
    tree: Junction, start: Sequence[Floats], parts: Mapping[Clique, Floats], sweeps: int = SWEEPS
) -> list[Floats]:
    """A table for each clique: as near to those at the start as the parts' tables allow (iterative proportional
    fitting).

    Claim:   each step scales the joint distribution so that one part's table is as wanted; tables agree where cliques
             meet.
    Proof:   with one clique's table P(C), and of all others what they are given what they share in its direction, the
             joint is their product; scaling P(C) scales the joint. Going over to a neighbour D: P(D) becomes P(D |
             shared) P(C)(shared), which is the same joint (Jirousek and Preucil 1995).
    Assumes: each part is within a clique; tables agree where cliques meet at the start.
    """
    tables = list(start)
    own: dict[int, list[Clique]] = {n: [] for n in range(len(tables))}
    for part in parts:
        own[next(n for n, clique in enumerate(tree.cliques) if {*part} <= {*clique})].append(part)
    below: dict[int, list[int]] = {n: [] for n in range(len(tables))}
    for n, above in enumerate(tree.parents):
        if above is not None:
            below[above].append(n)

    def visit(n: int) -> None:
        rake(n)
        for child in below[n]:
            tables[child] = moved(tree, tables, n, child)
            visit(child)
            tables[n] = moved(tree, tables, child, n)
            rake(n)

    def rake(n: int) -> None:
        for _ in range(LOCAL if len(own[n]) > 1 else 1):
            for part in own[n]:
                tables[n] = scaled(tables[n], tree.cliques[n], part, parts[part])

    for _ in range(sweeps):
        for root in (n for n, above in enumerate(tree.parents) if above is None):
            visit(root)
    for n, above in enumerate(tree.parents):
        if above is not None:
            tables[n] = moved(tree, tables, above, n)
    return tables


def moved(tree: Junction, tables: Sequence[Floats], here: int, there: int) -> Floats:
    """The neighbour's table, with what it shares as it is here."""
    shared = tuple(i for i in tree.cliques[there] if i in tree.cliques[here])
    return scaled(tables[there], tree.cliques[there], shared, margin(tables[here], tree.cliques[here], shared))


def margin(table: Floats, clique: Clique, part: Clique) -> Floats:
    found: Floats = table.sum(axis=tuple(axis for axis, i in enumerate(clique) if i not in part))
    return found


def scaled(table: Floats, clique: Clique, part: Clique, wanted: Floats) -> Floats:
    """With this margin; both name columns in rising order."""
    have = margin(table, clique, part)
    ratio = np.divide(wanted, have, out=np.zeros_like(have), where=have > 0)
    found: Floats = table * ratio.reshape([table.shape[axis] if i in part else 1 for axis, i in enumerate(clique)])
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Columns, cliques of them in a tree, and each clique's table: chances that agree where cliques meet."""

    columns: tuple[Grouped, ...]
    tree: Junction
    tables: tuple[Floats, ...]
    total: float

    @classmethod
    def of(cls, forest: Forest) -> Network:
        """A forest, whose cliques are its pairs and its roots."""
        cliques: list[Clique] = []
        parents: list[int | None] = []
        tables: list[Floats] = []
        first: dict[int, int] = {}  # where a column comes in
        for place in forest.order:
            above = forest.parents.get(place)
            parents.append(None if above is None else first[above])
            first[place] = len(cliques)
            if above is None:
                cliques.append((place,))
                tables.append(forest.columns[place].margin)
            else:
                cliques.append((min(above, place), max(above, place)))
                tables.append(forest.tables[place] if above < place else np.ascontiguousarray(forest.tables[place].T))
        return cls(forest.columns, Junction(tuple(cliques), tuple(parents)), tuple(tables), forest.total)

    def given(self, place: int) -> Floats:
        """A clique's table, given what it shares with its parent, in the clique's own axes."""
        table = self.tables[place]
        clique = self.tree.cliques[place]
        shared = self.tree.shared(place)
        above = _spread(margin(table, clique, shared), clique, shared, table.shape)
        apart = table.sum() / table.size  # whatever stands where nothing is
        return np.where(above > 0, table / np.where(above > 0, above, 1), apart)

    def chances(self, held: Mapping[int, Integers]) -> tuple[list[Floats], float]:
        """For each clique the weights of what it adds to its parent, columns being held at some values; and how likely
        that is.

        Claim:   rows drawn clique by clique in proportion to them have the model's distribution given what is held.
        Proof:   messages from the leaves up: a clique's weights are its chances given its parent's columns, times what
                 is held of the columns that it adds, times what its children found below them.
        Assumes: cliques stand after their parents.
        """
        weights = [self.given(n) for n in range(len(self.tables))]
        likely = 1.0
        for n in reversed(range(len(self.tables))):
            clique = self.tree.cliques[n]
            shared = self.tree.shared(n)
            for column in clique:
                if column in held and column not in shared:
                    weights[n] = weights[n] * _spread(
                        self.open(column, held[column]), clique, (column,), weights[n].shape
                    )
            told = margin(weights[n], clique, shared)
            above = self.tree.parents[n]
            if above is None:
                likely *= float(told)
            else:
                weights[above] = weights[above] * _spread(told, self.tree.cliques[above], shared, weights[above].shape)
        return weights, likely

    def open(self, column: int, held: Integers) -> Floats:
        """Of each group, the share of the values that are held."""
        one = self.columns[column]
        there = np.zeros(len(one.groups))
        there[held] = 1
        return np.bincount(one.groups, weights=one.within * there, minlength=len(one.margin)).astype(np.float64)

    def pair(self, a: int, b: int) -> Floats:
        """The table of any two columns' values, measured or not: P[a, b], along the cliques between them."""
        one = self.columns[a]
        other = self.columns[b]
        joint = self.group_pair(a, b)
        found: Floats = joint[one.groups][:, other.groups] * one.within[:, None] * other.within
        return found

    def group_pair(self, a: int, b: int) -> Floats:
        path = self._path(a, b)
        if path is None:
            return np.outer(self.columns[a].margin, self.columns[b].margin)
        cliques = [self.tree.cliques[n] for n in path]
        if len(path) == 1:
            found = margin(self.tables[path[0]], cliques[0], (a, b))
            return found if a < b else found.T
        meet = _meet(cliques[0], cliques[1])
        told = _added((a, *meet), (self.tables[path[0]], cliques[0]))
        for n, (place, clique) in enumerate(zip(path[1:], cliques[1:])):
            rest = margin(self.tables[place], clique, meet)
            given = self.tables[place] / np.where(rest > 0, rest, 1).reshape(
                _axes(clique, meet, self.tables[place].shape)
            )
            following = (b,) if n == len(path) - 2 else _meet(clique, cliques[n + 2])
            told = _added((a, *following), (told, (a, *meet)), (given, clique))
            meet = following
        return told

    def group_table(self, part: Clique) -> Floats:
        """The table of any columns' groups, in rising order: added up from the leaves to where all of them have met.

        Claim:   the model's own.
        Proof:   what a clique sends up is the chance of the columns below it given what it shares, of which all that is
                 neither named nor shared further is added up; where all are there, the clique's own table stands for
                 what is above.
        Assumes: cliques stand after their parents, and agree where they meet.
        """
        inbox: dict[int | None, list[tuple[Floats, Clique]]] = {}
        for n in reversed(range(len(self.tables))):
            clique = self.tree.cliques[n]
            shared = self.tree.shared(n)
            below = inbox.pop(n, [])
            named = {i for i in part if i in clique} | {i for _, axes in below for i in axes if i in part}
            if not below and not named - {*shared}:
                continue
            needed = {*shared, *named, *(i for _, axes in below for i in axes)}
            kept = tuple(i for i in clique if i in needed)
            own = margin(self.tables[n], clique, kept)
            if named == {*part}:
                return _added(part, (own, kept), *below)
            above = _spread(margin(own, kept, shared), kept, shared, own.shape)
            given = np.divide(own, above, out=np.zeros_like(own), where=above > 0)
            axes = tuple(sorted(named | {*shared}))
            inbox.setdefault(self.tree.parents[n], []).append((_added(axes, (given, kept), *below), axes))
        return _added(part, *inbox[None])

    def _path(self, a: int, b: int) -> list[int] | None:
        """Places of cliques, of which only the first has a, and only the last b."""
        start = next(n for n, clique in enumerate(self.tree.cliques) if a in clique)
        end = next(n for n, clique in enumerate(self.tree.cliques) if b in clique)
        up = self._ancestors(start)
        down = self._ancestors(end)
        shared = next((n for n in up if n in down), None)
        if shared is None:
            return None
        path = [*up[: up.index(shared)], *reversed(down[: down.index(shared) + 1])]
        while len(path) > 1 and a in self.tree.cliques[path[1]]:
            path = path[1:]
        while len(path) > 1 and b in self.tree.cliques[path[-2]]:
            path = path[:-1]
        return path

    def _ancestors(self, place: int) -> list[int]:
        found = [place]
        while (above := self.tree.parents[found[-1]]) is not None:
            found.append(above)
        return found


def _added(kept: Clique, *tables: tuple[Floats, Clique]) -> Floats:
    """The product of tables, added up over all columns but these."""
    names = {column: n for n, column in enumerate(sorted({i for _, clique in tables for i in clique}))}
    operands: list[Any] = []
    for table, clique in tables:
        operands += [table, [names[i] for i in clique]]
    found: Floats = np.einsum(*operands, [names[i] for i in kept])
    return found


def _meet(one: Clique, other: Clique) -> Clique:
    return tuple(i for i in one if i in other)


def _axes(clique: Clique, part: Clique, shape: tuple[int, ...]) -> list[int]:
    return [size if i in part else 1 for i, size in zip(clique, shape)]


def _spread(told: Floats, clique: Clique, part: Clique, shape: tuple[int, ...]) -> Floats:
    """In the clique's axes."""
    return told.reshape(_axes(clique, part, shape))
