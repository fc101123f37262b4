"""Rows from a model: as many of each kind as it says, in an order that ties nothing together which it does not.

Rows from a model, each on a condition of its own: some columns are given, the others are drawn.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import Refused
from obverse.publish.synthetic.model import Clique, Grouped, Network

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


EDGE = 1e-12  # chances that add up to less are none


@dataclass(slots=True)
class Shuffle:
    """Public numbers that follow from what was released, so that whoever has that can make the same rows again.

    Not noise, and no secret: nobody is protected by it. Uniform words are SHAKE-256 of the seed and of how many were
    drawn.
    """

    seed: bytes
    drawn: int = field(default=0)

    def words(self, n: int) -> NDArray[np.uint64]:
        self.drawn += 1
        raw = hashlib.shake_256(self.seed + self.drawn.to_bytes(8, "little")).digest(8 * n)
        return np.frombuffer(raw, dtype="<u8")

    def uniform(self, n: int) -> Floats:
        """In [0, 1)."""
        found: Floats = (self.words(n) >> np.uint64(11)).astype(np.float64) / 2**53
        return found


def sampled(
    model: Network, rows: int, shuffle: Shuffle, held: Mapping[int, Integers] | None = None
) -> tuple[tuple[Integers, ...], float]:
    """Rows, as places of each column's values, and the probability of what is held: columns at some of their values
    only.

    Claim:   given what a clique shares with its parent, a row's other columns of it have the model's chances,
             independently of everything else; counts of each kind are less than one away from what is expected there.
    Proof:   counts are steps of running sums moved by one uniform number, whose means are exact; rows of a kind get
             them in an order drawn anew for each clique. What is held weighs by messages from the leaves up
             (Network.chances).
    Assumes: uniform words.
    """
    held = held or {}
    weights, likely = model.chances(held)
    if likely <= 0:
        raise Refused("impossible_given", "the model holds no row for which this is so.", fix="leave a condition out.")
    groups: dict[int, Integers] = {}
    for n, clique in enumerate(model.tree.cliques):
        shared = model.tree.shared(n)
        added = tuple(i for i in clique if i not in shared)
        sizes = {i: len(model.columns[i].margin) for i in clique}
        above = np.zeros(rows, dtype=np.int64)
        for i in shared:
            above = above * sizes[i] + groups[i]
        table = weights[n].transpose([clique.index(i) for i in (*shared, *added)])
        codes = balanced(above, table.reshape(math.prod(sizes[i] for i in shared), -1), shuffle)
        found = np.unravel_index(codes, [sizes[i] for i in added])
        groups.update(zip(added, found))
    values = [values_in(column, groups[i], held.get(i), shuffle) for i, column in enumerate(model.columns)]
    return tuple(values), likely


def values_in(column: Grouped, groups: Integers, held: Integers | None, shuffle: Shuffle) -> Integers:
    """For each row's group one of its values."""
    members = np.argsort(column.groups, kind="stable")
    sizes = np.bincount(column.groups, minlength=len(column.margin))
    starts = np.cumsum(sizes) - sizes
    found: Integers = members[starts][groups]
    for group in np.flatnonzero(sizes > 1):
        own = members[starts[group] : starts[group] + sizes[group]]
        chances = column.within[own] * (np.isin(own, held) if held is not None else 1)
        rows = np.flatnonzero(groups == group)
        found[rows] = own[balanced(np.zeros(len(rows), dtype=np.int64), chances[None, :], shuffle)]
    return found


def balanced(above: Integers, chances: Floats, shuffle: Shuffle) -> Integers:
    """For each row one of the columns of `chances`, by the row of it that `above` names."""
    kinds, many = chances.shape
    counts = np.bincount(above, minlength=kinds)
    sums = chances.sum(axis=1, keepdims=True)
    shares = np.where(sums > 0, chances / np.where(sums > 0, sums, 1), 1 / many)
    reached = np.cumsum(shares, axis=1)
    running = np.where(reached > 1 - EDGE, 1.0, reached) * counts[:, None] + shuffle.uniform(kinds)[:, None]
    steps = np.minimum(np.floor(running).astype(np.int64), counts[:, None])
    steps[:, -1] = counts
    times = np.diff(steps, axis=1, prepend=0)
    values = np.repeat(np.tile(np.arange(many), kinds), times.reshape(-1))
    order = np.lexsort((shuffle.words(len(above)), above))
    found = np.empty(len(above), dtype=np.int64)
    found[order] = values
    return found


AT_ONCE = 1 << 22  # cells of one clique, over all conditions that are worked out together


def conditioned(model: Network, given: Mapping[int, Integers], shuffle: Shuffle) -> dict[int, Integers]:
    """For each row the columns that are not given, as places of their values. `given`: of each row, the groups of its
    values.

    Claim:   a row's columns have the model's chances given what is given of it, but where the model holds no such row:
             there a clique's columns have their own chances. Rows that are given the same are balanced.
    Proof:   cliques are cut down to what is given, messages go from the leaves up as in Network.chances, and rows are
             drawn clique by clique from the root on. A value's chance within its group does not depend on anything
             else.
    Assumes: uniform words.
    """
    columns = sorted(given)
    free = [i for i in range(len(model.columns)) if i not in given]
    kinds, of = np.unique(np.stack([given[i] for i in columns], axis=1), axis=0, return_inverse=True)
    of = of.reshape(-1)
    order = np.argsort(of, kind="stable")
    widest = max(
        math.prod(len(model.columns[i].margin) for i in clique if i not in given) for clique in model.tree.cliques
    )
    many = max(1, AT_ONCE // widest)
    found = {i: np.zeros(len(of), dtype=np.int64) for i in free}
    for start in range(0, len(kinds), many):
        first, end = np.searchsorted(of[order], [start, start + many])
        own = order[first:end]
        for i, groups in _drawn(
            model, dict(zip(columns, kinds[start : start + many].T)), of[own] - start, shuffle
        ).items():
            found[i][own] = groups
    return {i: values_in(model.columns[i], found[i], None, shuffle) for i in free}


def _drawn(model: Network, kinds: Mapping[int, Integers], of: Integers, shuffle: Shuffle) -> dict[int, Integers]:
    """Groups of the columns that are not given, for rows of these kinds."""
    weights = _weights(model, kinds)
    many = len(next(iter(kinds.values())))
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
        left = _left(model.tree.cliques[n], kinds)
        shared = _left(model.tree.shared(n), kinds)
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
    most = message.reshape(len(message), -1).max(axis=1).reshape(-1, *(1,) * (message.ndim - 1))
    found: Floats = np.where(most > 0, message / np.where(most > 0, most, 1), 1.0)
    return found


def _left(clique: Clique, kinds: Mapping[int, Integers]) -> Clique:
    return tuple(i for i in clique if i not in kinds)
