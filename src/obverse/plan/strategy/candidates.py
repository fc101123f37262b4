"""How far tables of exact counts lie from tables that are public: scores by which one of them is chosen.

What a kernel is: a pure function of exact values, with a theorem of how far one unit moves it. It adds no noise.

The registry of kernels: what SQL cannot say of exact values. One file each, one line here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.core.units import Neighbours
from obverse.plan.relation import Cells
from obverse.plan.strategy.matrix import RESULT_MAX, Block, Strategy

Integers = NDArray[np.int64]


class Kernel(Protocol):
    """Frozen, named, with Claim, Proof and Assumes."""

    name: ClassVar[str]


class Scores(Kernel, Protocol):
    """A kernel whose integers are scores of public candidates, from counts of public cells."""

    def moved(self, neighbours: Neighbours) -> int:
        """How far one unit that weighs one moves any score, at most."""
        ...

    def scores(self, cells: Cells, counts: Integers) -> Integers:
        """One exact integer for each candidate."""
        ...

    def fits(self, cells: Cells) -> None:
        """Raise unless the kernel reads cells that there are."""
        ...


TIMES_MAX = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Far:
    """One candidate: a table of the counts, what it is compared with, and what is taken off its distance."""

    block: Block
    near: Integers  # public, in released integers, as many as the block's entries
    less: int = 0  # public
    times: int = 1

    def __post_init__(self) -> None:
        invariant(len(self.near) == self.block.entries, "something to compare each entry with")
        invariant(1 <= self.times <= TIMES_MAX and abs(self.less) <= RESULT_MAX, "a score that fits 64 bits")

    @property
    def entry_max(self) -> int:
        """Larger entries are cut to this, so that no score passes RESULT_MAX."""
        return RESULT_MAX // (2 * self.block.entries * self.times)


@dataclass(frozen=True, slots=True)
class Distances:
    """For each candidate `times` (|its table of the counts - its public table|_1 - less), and nought for choosing none.

    Claim:   one unit that weighs W moves each score by at most W times `moved`: under add-remove the largest `times`
             times a column's L1 norm (1 for tables of cells), under replace that of a column less another (2).
    Proof:   |.|_1 is no step longer than its argument, and neither is cutting entries; a constant taken off moves
             nothing. What the unit adds to the table is W columns' mean (Strategy.worst), or one such less another; its
             L1 norm is the block's (Block.norms), times W. The public tables may follow from anything that was released
             before: given it, they are constants. The last score is nought, whatever the counts.
    Assumes: the counts are sums over rows, each unit's weighing at most W in every grouping set (Limit).
    """

    name: ClassVar[str] = "distances"
    candidates: tuple[Far, ...]

    def moved(self, neighbours: Neighbours) -> int:
        return max((one.times * one.block.norms(neighbours).l1 for one in self.candidates), default=1)

    def fits(self, cells: Cells) -> None:
        if self.candidates:
            Strategy(tuple(one.block for one in self.candidates)).fits(cells)

    def scores(self, cells: Cells, counts: Integers) -> Integers:
        found = []
        offsets = cells.offsets
        for one in self.candidates:
            start = offsets[one.block.of]
            own = counts[start : start + cells.size(cells.sets[one.block.of])]
            table = np.minimum(one.block.apply(own), one.entry_max)
            near = np.clip(one.near, 0, one.entry_max)
            found.append(one.times * (int(np.abs(table - near).sum()) - one.less))
        return np.array([*found, 0], dtype=np.int64)


KERNELS: tuple[type[Kernel], ...] = (Distances,)

__all__ = ["KERNELS", "Distances", "Kernel"]
