"""Measured tables that close circles: cliques of columns in a tree, each with its table, that agree where they meet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Clique = tuple[int, ...]
SWEEPS, LOCAL = 12, 2  # walks over the tree; raking of one clique before the next


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
    """Cliques that hold all parts: those that grew part by part, or those of all of them at once, whichever have fewer cells.

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
    """The column that adds fewest chords, and of those the one with fewest cells beside it; the first that adds none."""
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
        share, b, a = best[0], -best[1], -best[2]
        parents.append(order.index(a) if share else None)
        order.append(b)
        left.discard(b)
    return Junction(tuple(cliques[i] for i in order), tuple(parents))


def cells(cliques: Iterable[Clique], sizes: Sequence[int]) -> int:
    """Of all cliques' tables together: what the model takes."""
    return sum(math.prod(sizes[i] for i in one) for one in cliques)


def independent(tree: Junction, margins: Sequence[Floats]) -> list[Floats]:
    """A table for each clique, of columns that tell nothing of each other."""
    import numpy as np

    tables = []
    for clique in tree.cliques:
        table = np.ones(())
        for i in clique:
            table = np.multiply.outer(table, margins[i])
        tables.append(table)
    return tables


def fitted(tree: Junction, start: Sequence[Floats], parts: Mapping[Clique, Floats], sweeps: int = SWEEPS) -> list[Floats]:
    """A table for each clique: as near to those at the start as the parts' tables allow (iterative proportional fitting).

    Claim:   each step scales the joint distribution so that one part's table is as wanted; tables agree where cliques meet.
    Proof:   with one clique's table P(C), and of all others what they are given what they share in its direction, the joint is
             their product; scaling P(C) scales the joint. Going over to a neighbour D: P(D) becomes P(D | shared) P(C)(shared),
             which is the same joint (Jirousek and Preucil 1995).
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
    import numpy as np

    have = margin(table, clique, part)
    ratio = np.divide(wanted, have, out=np.zeros_like(have), where=have > 0)
    found: Floats = table * ratio.reshape([table.shape[axis] if i in part else 1 for axis, i in enumerate(clique)])
    return found
