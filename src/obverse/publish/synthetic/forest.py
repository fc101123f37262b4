"""A model of rows: columns that hang together in a forest of pairs, and are independent given their neighbours in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        import numpy as np

        table = self.tables[place]
        rows = table.sum(axis=1, keepdims=True)
        plain = np.broadcast_to(self.columns[place].margin, table.shape)
        return np.where(rows > 0, table / np.where(rows > 0, rows, 1), plain)

    def pair(self, a: int, b: int) -> Floats:
        """The table of any two columns' values, measured or not: P[a, b], along the path between them."""
        one, other = self.columns[a], self.columns[b]
        joint = self.group_pair(a, b)
        found: Floats = joint[one.groups][:, other.groups] * one.within[:, None] * other.within
        return found

    def group_pair(self, a: int, b: int) -> Floats:
        """The same of groups."""
        import numpy as np

        path = self._path(a, b)
        if path is None:
            return np.outer(self.columns[a].margin, self.columns[b].margin)
        joint = np.diag(self.columns[a].margin)
        for here, there in pairwise(path):
            joint = joint @ self._step(here, there)
        return joint

    def _step(self, here: int, there: int) -> Floats:
        """P[there | here] of neighbours."""
        import numpy as np

        if self.parents.get(there) == here:
            return self.given(there)
        table = self.tables[here].T
        rows = table.sum(axis=1, keepdims=True)
        return np.where(rows > 0, table / np.where(rows > 0, rows, 1), self.columns[there].margin)

    def _path(self, a: int, b: int) -> list[int] | None:
        up_a, up_b = self._ancestors(a), self._ancestors(b)
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
