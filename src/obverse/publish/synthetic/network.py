"""A model of rows over a tree of cliques: the table of any two columns, and the chances of rows on a condition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.publish.synthetic.forest import Forest, Grouped
from obverse.publish.synthetic.junction import Clique, Junction, margin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


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
        import numpy as np

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
        import numpy as np

        table, clique, shared = self.tables[place], self.tree.cliques[place], self.tree.shared(place)
        above = _spread(margin(table, clique, shared), clique, shared, table.shape)
        apart = table.sum() / table.size  # whatever stands where nothing is
        return np.where(above > 0, table / np.where(above > 0, above, 1), apart)

    def chances(self, held: Mapping[int, Integers]) -> tuple[list[Floats], float]:
        """For each clique the weights of what it adds to its parent, columns being held at some values; and how likely that is.

        Claim:   rows drawn clique by clique in proportion to them have the model's distribution given what is held.
        Proof:   messages from the leaves up: a clique's weights are its chances given its parent's columns, times what is held
                 of the columns that it adds, times what its children found below them.
        Assumes: cliques stand after their parents.
        """
        weights = [self.given(n) for n in range(len(self.tables))]
        likely = 1.0
        for n in reversed(range(len(self.tables))):
            clique, shared = self.tree.cliques[n], self.tree.shared(n)
            for column in clique:
                if column in held and column not in shared:
                    weights[n] = weights[n] * _spread(self.open(column, held[column]), clique, (column,), weights[n].shape)
            told = margin(weights[n], clique, shared)
            above = self.tree.parents[n]
            if above is None:
                likely *= float(told)
            else:
                weights[above] = weights[above] * _spread(told, self.tree.cliques[above], shared, weights[above].shape)
        return weights, likely

    def open(self, column: int, held: Integers) -> Floats:
        """Of each group, the share of the values that are held."""
        import numpy as np

        one = self.columns[column]
        there = np.zeros(len(one.groups))
        there[held] = 1
        return np.bincount(one.groups, weights=one.within * there, minlength=len(one.margin)).astype(np.float64)

    def pair(self, a: int, b: int) -> Floats:
        """The table of any two columns' values, measured or not: P[a, b], along the cliques between them."""
        one, other = self.columns[a], self.columns[b]
        joint = self.group_pair(a, b)
        found: Floats = joint[one.groups][:, other.groups] * one.within[:, None] * other.within
        return found

    def group_pair(self, a: int, b: int) -> Floats:
        import numpy as np

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
            given = self.tables[place] / np.where(rest > 0, rest, 1).reshape(_axes(clique, meet, self.tables[place].shape))
            following = (b,) if n == len(path) - 2 else _meet(clique, cliques[n + 2])
            told = _added((a, *following), (told, (a, *meet)), (given, clique))
            meet = following
        return told

    def group_table(self, part: Clique) -> Floats:
        """The table of any columns' groups, in rising order: added up from the leaves to where all of them have met.

        Claim:   the model's own.
        Proof:   what a clique sends up is the chance of the columns below it given what it shares, of which all that is neither
                 named nor shared further is added up; where all are there, the clique's own table stands for what is above.
        Assumes: cliques stand after their parents, and agree where they meet.
        """
        import numpy as np

        inbox: dict[int | None, list[tuple[Floats, Clique]]] = {}
        for n in reversed(range(len(self.tables))):
            clique, shared, below = self.tree.cliques[n], self.tree.shared(n), inbox.pop(n, [])
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
        up, down = self._ancestors(start), self._ancestors(end)
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
    import numpy as np

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
