"""Leaves in a row, measured by every level of a tree above them: what Laplace noise on ranges and quantiles wants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from obverse.core.errors import invariant
from obverse.plan.strategy.linear import Linear, Merged
from obverse.publish.hierarchy.spine import Spine, below, fitted, variances

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Branches:
    """Every node of a tree with so many branches at a node; its last level is the leaves.

    Claim:   prefix sums are those of least squares, with the variances and covariances told.
    Proof:   publish/hierarchy/spine for the leaves. Of a node's children with best estimates z_c from below, of variances v_c
    that add up
             to V, the final x_c is v_c/V times the parent's x, and d_c, which is independent of it and of everything above:
             cov(d_b, d_c) = v_c [b = c] - v_b v_c / V. So a sum of leaves under a node is a times the node's x and a rest that
             is independent of x; going up, a becomes the sum of a_c v_c / V over children, and the rest gets the sum of
             a_c d_c. A prefix has a = 1 in children left of its path, 0 right of it.
    Assumes: noise is independent between nodes and levels, and of one variance in a level.
    """

    leaves: int
    branching: int
    spine: Spine = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        import numpy as np

        invariant(self.leaves >= 2 and self.branching >= 2, "a tree branches")
        parents: list[NDArray[np.int64]] = []
        size = self.leaves
        while size > 1:
            parents.insert(0, np.arange(size, dtype=np.int64) // self.branching)
            size = -(-size // self.branching)
        object.__setattr__(self, "spine", Spine(tuple(str(n) for n in range(len(parents) + 1)), tuple(parents)))

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(f"tree{self.branching}.{level}" for level in range(len(self.spine.sizes)))

    def maps(self) -> tuple[Linear, ...]:
        return tuple(Merged(self.spine.groups(level), size) for level, size in enumerate(self.spine.sizes))

    def words(self, place: int) -> str:
        return f"level {place} of a tree with {self.branching} branches"

    def covers(self, place: int) -> list[tuple[int, int]]:
        import numpy as np

        groups, many = self.spine.groups(place), np.arange(self.spine.sizes[place])
        first, last = np.searchsorted(groups, many), np.searchsorted(groups, many, side="right") - 1
        return list(zip(first.tolist(), last.tolist()))

    def prefixes(self, measured: Sequence[Floats], own: Sequence[float]) -> Floats:
        import numpy as np

        found: Floats = np.cumsum(fitted(self.spine, measured, own)[-1], axis=-1)
        return found

    def single(self, own: Sequence[float]) -> Floats:
        return variances(self.spine, own)[-1]

    def against(self, own: Sequence[float], weights: Floats) -> tuple[Floats, Floats]:
        import numpy as np

        spine, up = self.spine, below(self.spine, own)
        at = np.arange(self.leaves)  # the node above each leaf, level by level
        part, rest, shared = np.ones(self.leaves), np.zeros(self.leaves), np.zeros(self.leaves)
        other = weights.astype(np.float64)  # `part` of the weighted sum, for every node
        for level in range(len(own) - 1, 0, -1):
            parent = spine.parents[level - 1]
            whole = spine.added(up[level], level)[parent]
            both = spine.added(other * up[level], level)
            left, left_other = _left(up[level], spine, level), _left(other * up[level], spine, level)
            here = left[at] + part * up[level][at]
            rest += left[at] + part**2 * up[level][at] - here**2 / whole[at]
            shared += left_other[at] + part * (other * up[level])[at] - here * both[parent][at] / whole[at]
            part = here / whole[at]
            other = both / spine.added(up[level], level)
            at = parent[at]
        root = up[0][0]
        return rest + part**2 * root, shared + part * other[0] * root


def _left(values: Floats, spine: Spine, level: int) -> Floats:
    """The sum over siblings to the left of each node."""
    import numpy as np

    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    found: Floats = before - before[spine.starts(level)][spine.parents[level - 1]]
    return found
