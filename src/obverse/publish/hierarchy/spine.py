"""A spine of levels, from one root to the leaves, and least squares along it: up, then down.

Claim:   `fitted` is generalised least squares under the sums that the tree demands, and `variances` are those of what
         it gives.
Proof:   up: a node's own measurement and the sum of its children's best estimates are independent and unbiased, so that
         their average by precision is the best from below. Down: what the parent's final value and the sum of its
         children differ by is shared among them by their variances, which is the projection on the constraint in the
         metric of their precisions; a child's part that is left is independent of the sum: var - var^2/vs + (var/vs)^2
         times the parent's final variance. A level whose numbers are known is one that was measured without noise: the
         same at the limit.
Assumes: noise is independent between nodes and levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Spine:
    """Levels from the root down. Nodes are numbered in the order of their parents, so that siblings stand together."""

    names: tuple[str, ...]
    parents: tuple[Integers, ...]  # of each level but the root's, for each node the number of its parent

    def __post_init__(self) -> None:
        invariant(len(self.names) == len(self.parents) + 1, "a name for each level")
        above = 1
        for parent in self.parents:
            steps = np.diff(parent)
            whole = (
                len(parent) > 0
                and parent[0] == 0
                and parent[-1] == above - 1
                and bool(((steps == 0) | (steps == 1)).all())
            )
            invariant(whole, "siblings stand together, and every node above the leaves has children")
            above = len(parent)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (1, *(len(parent) for parent in self.parents))

    @property
    def nodes(self) -> int:
        return sum(self.sizes)

    def starts(self, level: int) -> Integers:
        """Where the children of each node above a level begin."""
        return np.searchsorted(self.parents[level - 1], np.arange(self.sizes[level - 1])).astype(np.int64)

    def groups(self, level: int) -> Integers:
        """For each leaf the node of a level that it is in."""
        found = np.arange(self.sizes[-1])
        for parent in reversed(self.parents[level:]):
            found = parent[found]
        return found

    def summed(self, leaves: Integers, level: int) -> Integers:
        """Numbers of leaves, in the spine's order, added up to the nodes of a level."""
        return np.bincount(self.groups(level), weights=leaves, minlength=self.sizes[level]).astype(np.int64)

    def added(self, values: Floats, level: int) -> Floats:
        """Sums over children: from a level to the one above. The last axis runs over nodes."""
        found: Floats = np.add.reduceat(values, self.starts(level), axis=-1)
        return found


def below(spine: Spine, own: Sequence[float]) -> list[Floats]:
    """The variance of each node's best estimate from itself and below; `own` is that of its level's measurements.

    A level above the leaves that is not measured has `own` infinite; one whose numbers are known has 0.
    """
    found: list[Floats] = [np.empty(0)] * len(own)
    found[-1] = np.full(spine.sizes[-1], own[-1])
    for level in range(len(own) - 2, -1, -1):
        under = spine.added(found[level + 1], level + 1)
        found[level] = under / (1 + under / own[level]) if own[level] else np.zeros_like(under)
    return found


def _shares(spine: Spine, up: Sequence[Floats], level: int) -> Floats:
    """Each node's part of what its siblings have to move; none where all of them are known."""
    added = spine.added(up[level], level)[spine.parents[level - 1]]
    found: Floats = np.divide(up[level], added, out=np.zeros_like(added), where=added > 0)
    return found


def variances(spine: Spine, own: Sequence[float]) -> list[Floats]:
    """Of each node's final estimate."""
    up = below(spine, own)
    found = [up[0]]
    for level in range(1, len(own)):
        share = _shares(spine, up, level)
        found.append(up[level] * (1 - share) + share**2 * found[-1][spine.parents[level - 1]])
    return found


def fitted(spine: Spine, measured: Sequence[Floats], own: Sequence[float]) -> list[Floats]:
    """Estimates of every level that add up; measurements have nodes on their last axis."""
    up = below(spine, own)
    best: list[Floats] = list(measured)
    for level in range(len(own) - 2, -1, -1):
        under = spine.added(up[level + 1], level + 1)
        own_share = under / (own[level] + under)
        best[level] = own_share * measured[level] + (1 - own_share) * spine.added(best[level + 1], level + 1)
    found = [best[0]]
    for level in range(1, len(own)):
        parent = spine.parents[level - 1]
        share = _shares(spine, up, level)
        missing = found[-1] - spine.added(best[level], level)
        found.append(best[level] + share * missing[..., parent])
    return found
