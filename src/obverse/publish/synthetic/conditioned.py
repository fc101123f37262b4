"""Rows from a model, each on a condition of its own: some columns are given, the others are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from obverse.publish.synthetic.junction import Clique
from obverse.publish.synthetic.network import Network
from obverse.publish.synthetic.sampling import Shuffle, balanced, values_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

AT_ONCE = 1 << 22  # cells of one clique, over all conditions that are worked out together


def conditioned(model: Network, given: Mapping[int, Integers], shuffle: Shuffle) -> dict[int, Integers]:
    """For each row the columns that are not given, as places of their values. `given`: of each row, the groups of its values.

    Claim:   a row's columns have the model's chances given what is given of it, but where the model holds no such row: there
             a clique's columns have their own chances. Rows that are given the same are balanced.
    Proof:   cliques are cut down to what is given, messages go from the leaves up as in Network.chances, and rows are drawn
             clique by clique from the root on. A value's chance within its group does not depend on anything else.
    Assumes: uniform words.
    """
    import numpy as np

    columns = sorted(given)
    free = [i for i in range(len(model.columns)) if i not in given]
    kinds, of = np.unique(np.stack([given[i] for i in columns], axis=1), axis=0, return_inverse=True)
    of = of.reshape(-1)
    order = np.argsort(of, kind="stable")
    widest = max(math.prod(len(model.columns[i].margin) for i in clique if i not in given) for clique in model.tree.cliques)
    many = max(1, AT_ONCE // widest)
    found = {i: np.zeros(len(of), dtype=np.int64) for i in free}
    for start in range(0, len(kinds), many):
        first, end = np.searchsorted(of[order], [start, start + many])
        own = order[first:end]
        for i, groups in _drawn(model, dict(zip(columns, kinds[start : start + many].T)), of[own] - start, shuffle).items():
            found[i][own] = groups
    return {i: values_in(model.columns[i], found[i], None, shuffle) for i in free}


def _drawn(model: Network, kinds: Mapping[int, Integers], of: Integers, shuffle: Shuffle) -> dict[int, Integers]:
    """Groups of the columns that are not given, for rows of these kinds."""
    import numpy as np

    weights, many = _weights(model, kinds), len(next(iter(kinds.values())))
    groups: dict[int, Integers] = {}
    for n, clique in enumerate(model.tree.cliques):
        left = _left(clique, kinds)
        shared = _left(model.tree.shared(n), kinds)
        added = tuple(i for i in left if i not in shared)
        if not added:
            continue
        sizes = {i: len(model.columns[i].margin) for i in left}
        above = of
        for i in shared:
            above = above * sizes[i] + groups[i]
        whole = np.broadcast_to(weights[n], (many, *(sizes[i] for i in left)))
        chances = whole.transpose([0, *(1 + left.index(i) for i in (*shared, *added))])
        chances = chances.reshape(many * math.prod(sizes[i] for i in shared), -1)
        alone = np.ones(1)
        for i in added:
            alone = np.outer(alone, model.columns[i].margin).reshape(-1)
        chances = np.where(chances.sum(axis=1, keepdims=True) > 0, chances, alone)
        groups.update(zip(added, np.unravel_index(balanced(above, chances, shuffle), [sizes[i] for i in added])))
    return groups


def _weights(model: Network, kinds: Mapping[int, Integers]) -> list[Floats]:
    """For each kind, of each clique: the weights of what is not given, with what the cliques below it tell."""
    found = [_cut(model.given(n), clique, kinds) for n, clique in enumerate(model.tree.cliques)]
    for n in reversed(range(len(found))):
        above = model.tree.parents[n]
        if above is None:
            continue
        left, shared = _left(model.tree.cliques[n], kinds), _left(model.tree.shared(n), kinds)
        told = _told(found[n].sum(axis=tuple(1 + axis for axis, i in enumerate(left) if i not in shared)))
        axes = [len(model.columns[i].margin) if i in shared else 1 for i in _left(model.tree.cliques[above], kinds)]
        found[above] = found[above] * told.reshape(len(told), *axes)
    return found


def _cut(table: Floats, clique: Clique, kinds: Mapping[int, Integers]) -> Floats:
    """The clique's table at what each kind is given; the first axis is that of kinds."""
    held = [i for i in clique if i in kinds]
    if not held:
        return table[None]
    turned = table.transpose([clique.index(i) for i in (*held, *_left(clique, kinds))])
    found: Floats = turned[tuple(kinds[i] for i in held)]
    return found


def _told(message: Floats) -> Floats:
    """At most one; nothing is told where nothing is possible."""
    import numpy as np

    most = message.reshape(len(message), -1).max(axis=1).reshape(-1, *(1,) * (message.ndim - 1))
    found: Floats = np.where(most > 0, message / np.where(most > 0, most, 1), 1.0)
    return found


def _left(clique: Clique, kinds: Mapping[int, Integers]) -> Clique:
    return tuple(i for i in clique if i not in kinds)
