"""A line measured in each of several groups, and over all of them: least squares, and exact variances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.core.errors import Refused
from obverse.publish.quantiles.branches import Branches
from obverse.publish.quantiles.line import Line, Sums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.publish.base import Measured

    Floats = NDArray[np.float64]

WITHIN, OVER = "groups", "all"


@dataclass(frozen=True, slots=True)
class Spread:
    """Variances of prefixes and their covariances with something, over all groups and within one."""

    over: Floats
    over_with: Floats
    within: Floats
    within_with: Floats


@dataclass(frozen=True, slots=True)
class Split:
    """Variances of entries, one for each part of the line, infinite where a part is not measured.

    Claim:   estimates are least squares from everything measured; groups add up to what is told over all of them.
    Proof:   entries of a part are alike in all groups, so that their mean over groups and the rest are independent. Of the
             mean, the part over all groups tells too: the two are averaged by precision. Each is then least squares along
             the line. A group is its own estimate, less the groups' mean, and the mean's best one.
    Assumes: noise is independent, and of one variance in a part.
    """

    line: Line
    groups: int
    within: tuple[float, ...]
    over: tuple[float, ...]

    def against(self, weights: Floats) -> Spread:
        over = self.line.against(self.over, weights)
        if self.groups == 1:
            return Spread(*over, *over)
        own = self.line.against(self.within, weights)
        rest, share = 1 - 1 / self.groups, self.groups**-2
        return Spread(*over, own[0] * rest + over[0] * share, own[1] * rest + over[1] * share)

    def single(self) -> tuple[Floats, Floats]:
        """The variance of each leaf by itself, over all groups and within one."""
        over = self.line.single(self.over)
        if self.groups == 1:
            return over, over
        return over, self.line.single(self.within) * (1 - 1 / self.groups) + over * self.groups**-2

    def prefixes(self, measured: Measured) -> tuple[Floats, Floats]:
        """Over all groups, and of each group."""
        import numpy as np

        own: list[Any] = [np.zeros((self.groups, one.out)) for one in self.line.maps()]
        whole: list[Any] = [None] * len(own)
        for entries in measured:
            kind, _, place = part_named(entries.block.name, self.line.leaves)
            if kind == WITHIN:
                own[place] = entries.counts().reshape(-1, self.groups).T
            else:
                whole[place] = entries.counts().reshape(-1), entries.variance
        for place, (values, variance) in enumerate(zip(own, self.within)):
            added = values.sum(axis=0)
            if whole[place] is not None:
                told, theirs = whole[place]
                added = (added / (self.groups * variance) + told / theirs) * self.over[place]
            whole[place] = added
        over = self.line.prefixes(whole, self.over)
        within = self.line.prefixes(own, self.within)
        return over, within + (over - within.sum(axis=0)) / self.groups


def split_of(measured: Measured, leaves: int, groups: int) -> Split:
    """From noise alone: what was measured tells the line."""
    line = line_named([entries.block.name for entries in measured], leaves)
    within, over = [math.inf] * len(line.parts), [math.inf] * len(line.parts)
    for entries in measured:
        kind, _, place = part_named(entries.block.name, leaves)
        (within if kind == WITHIN else over)[place] = entries.variance
    both = tuple(1 / (1 / (groups * v) + 1 / t) if v < math.inf else math.inf for v, t in zip(within, over))
    return Split(line, groups, tuple(within), both)


def part_named(name: str, leaves: int) -> tuple[str, Line, int]:
    """What a block of this name measures: within groups or over them, of which line, which part of it."""
    kind, _, part = name.partition(":")
    sort = part.partition(".")[0]
    line: Line | None = None
    if sort == "sums":
        line = Sums(leaves)
    elif sort.startswith("tree") and sort[4:].isdecimal() and 2 <= int(sort[4:]) <= leaves:
        line = Branches(leaves, int(sort[4:]))
    if line is None or kind not in (WITHIN, OVER) or part not in line.parts:
        raise Refused("bad_release", "metadata.json names measurements that are not known here.")
    return kind, line, line.parts.index(part)


def line_named(names: Sequence[str], leaves: int) -> Line:
    """The one line that blocks of these names measure. What is measured within groups holds the leaves."""
    lines = {part_named(name, leaves)[1] for name in names}
    line = lines.pop() if len(lines) == 1 else None
    if line is None or f"{WITHIN}:{line.parts[-1]}" not in names:
        raise Refused("bad_release", "the measurements do not tell every leaf.")
    return line
