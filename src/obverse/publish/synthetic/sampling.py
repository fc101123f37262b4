"""Rows from a model: as many of each kind as it says, in an order that ties nothing together which it does not."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from obverse.core.errors import Refused
from obverse.publish.synthetic.forest import Grouped
from obverse.publish.synthetic.network import Network

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

EDGE = 1e-12  # chances that add up to less are none


@dataclass(slots=True)
class Shuffle:
    """Public numbers that follow from what was released, so that whoever has that can make the same rows again.

    Not noise, and no secret: nobody is protected by it. Uniform words are SHAKE-256 of the seed and of how many were drawn.
    """

    seed: bytes
    drawn: int = field(default=0)

    def words(self, n: int) -> NDArray[np.uint64]:
        import numpy as np

        self.drawn += 1
        raw = hashlib.shake_256(self.seed + self.drawn.to_bytes(8, "little")).digest(8 * n)
        return np.frombuffer(raw, dtype="<u8")

    def uniform(self, n: int) -> Floats:
        """In [0, 1)."""
        import numpy as np

        found: Floats = (self.words(n) >> np.uint64(11)).astype(np.float64) / 2**53
        return found


def sampled(
    model: Network, rows: int, shuffle: Shuffle, held: Mapping[int, Integers] | None = None
) -> tuple[tuple[Integers, ...], float]:
    """Rows, as places of each column's values, and the probability of what is held: columns at some of their values only.

    Claim:   given what a clique shares with its parent, a row's other columns of it have the model's chances, independently of
             everything else; counts of each kind are less than one away from what is expected there.
    Proof:   counts are steps of running sums moved by one uniform number, whose means are exact; rows of a kind get them in an
             order drawn anew for each clique. What is held weighs by messages from the leaves up (Network.chances).
    Assumes: uniform words.
    """
    import numpy as np

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
    import numpy as np

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
    import numpy as np

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
