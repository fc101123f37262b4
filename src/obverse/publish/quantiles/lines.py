"""Which line is measured, and with which shares of the price: the one whose exact errors are least for what is asked.

Leaves in a row, measured by every level of a tree above them: what Laplace noise on ranges and quantiles wants.

Leaves in a row, measured by weighted running sums: unbiased prefix sums, and the variances of all that follows from
them.

A line measured in each of several groups, and over all of them: least squares, and exact variances.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import Refused, invariant
from obverse.plan.strategy.matrix import Linear, Merged, Running
from obverse.publish.hierarchy.spine import Spine, below, fitted, variances
from obverse.publish.method import Measured

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Branches:
    """Every node of a tree with so many branches at a node; its last level is the leaves.

    Claim:   prefix sums are those of least squares, with the variances and covariances told.
    Proof:   publish/hierarchy/spine for the leaves. Of a node's children with best estimates z_c from below, of
             variances v_c
    that add up
             to V, the final x_c is v_c/V times the parent's x, and d_c, which is independent of it and of everything
             above: cov(d_b, d_c) = v_c [b = c] - v_b v_c / V. So a sum of leaves under a node is a times the node's x
             and a rest that is independent of x; going up, a becomes the sum of a_c v_c / V over children, and the rest
             gets the sum of a_c d_c. A prefix has a = 1 in children left of its path, 0 right of it.
    Assumes: noise is independent between nodes and levels, and of one variance in a level.
    """

    leaves: int
    branching: int
    spine: Spine = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
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
        groups = self.spine.groups(place)
        many = np.arange(self.spine.sizes[place])
        first = np.searchsorted(groups, many)
        last = np.searchsorted(groups, many, side="right") - 1
        return list(zip(first.tolist(), last.tolist()))

    def prefixes(self, measured: Sequence[Floats], own: Sequence[float]) -> Floats:
        found: Floats = np.cumsum(fitted(self.spine, measured, own)[-1], axis=-1)
        return found

    def single(self, own: Sequence[float]) -> Floats:
        return variances(self.spine, own)[-1]

    def against(self, own: Sequence[float], weights: Floats) -> tuple[Floats, Floats]:
        spine = self.spine
        up = below(self.spine, own)
        at = np.arange(self.leaves)  # the node above each leaf, level by level
        part = np.ones(self.leaves)
        rest = np.zeros(self.leaves)
        shared = np.zeros(self.leaves)
        other = weights.astype(np.float64)  # `part` of the weighted sum, for every node
        for level in range(len(own) - 1, 0, -1):
            parent = spine.parents[level - 1]
            whole = spine.added(up[level], level)[parent]
            both = spine.added(other * up[level], level)
            left = _left(up[level], spine, level)
            left_other = _left(other * up[level], spine, level)
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
    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    found: Floats = before - before[spine.starts(level)][spine.parents[level - 1]]
    return found


SCALE = 1 << 12  # of the weights of running sums, so that they are whole numbers


class Line(Protocol):
    """How leaves in a row are measured. `own` are the variances of an entry, one for each map."""

    @property
    def leaves(self) -> int: ...

    @property
    def parts(self) -> tuple[str, ...]:
        """A name for each map."""
        ...

    def maps(self) -> tuple[Linear, ...]: ...

    def words(self, place: int) -> str:
        """What a map measures, for people."""
        ...

    def covers(self, place: int) -> list[tuple[int, int]]:
        """The first and last leaf that each entry of a map reads."""
        ...

    def prefixes(self, measured: Sequence[Floats], own: Sequence[float]) -> Floats:
        """Best unbiased estimates of the sums of the first leaves; entries and leaves are on the last axis."""
        ...

    def against(self, own: Sequence[float], weights: Floats) -> tuple[Floats, Floats]:
        """The variance of each prefix, and its covariance with the sum of the leaves by these weights."""
        ...

    def single(self, own: Sequence[float]) -> Floats:
        """The variance of each leaf by itself."""
        ...


@dataclass(frozen=True, slots=True)
class Sums:
    """Running sums with the weights of the square root of the prefix matrix: what Gaussian noise on a CDF wants.

    Claim:   prefix sums are unbiased, with the variances told; the mean of them is that of the square-root
             factorisation.
    Proof:   the matrix of prefix sums is the series 1/(1 - z), whose root (1 - z)^(-1/2) has the coefficients 1, 1/2,
             3/8 ... Those are rounded to whole numbers w. The map is square with a diagonal that is not zero, so that
             its inverse, the series 1/w(z), is least squares, and prefixes are the entries by the series c = 1/((1 - z)
             w(z)): prefix i has variance c_0^2 + ... + c_i^2 in units of an entry's. Rounding w changes c alike, so
             nothing is biased by it.
    Assumes: noise is independent and of one variance.
    """

    leaves: int

    def __post_init__(self) -> None:
        invariant(self.leaves >= 1, "a line has leaves")

    @property
    def parts(self) -> tuple[str, ...]:
        return ("sums",)

    def maps(self) -> tuple[Linear, ...]:
        return (Running(roots(self.leaves)),)

    def words(self, place: int) -> str:
        return f"weighted running sums (times {SCALE:,})"

    def covers(self, place: int) -> list[tuple[int, int]]:
        return [(0, last) for last in range(self.leaves)]

    def prefixes(self, measured: Sequence[Floats], own: Sequence[float]) -> Floats:
        (entries,) = measured
        wide = 1 << (2 * self.leaves - 1).bit_length()
        series = np.fft.rfft(np.cumsum(inverse(self.leaves)), wide)
        found: Floats = np.fft.irfft(np.fft.rfft(entries, wide) * series, wide)[..., : self.leaves]
        return found

    def against(self, own: Sequence[float], weights: Floats) -> tuple[Floats, Floats]:
        (variance,) = own
        back = inverse(self.leaves)
        series = np.cumsum(back)
        entries = np.convolve(weights[::-1], back)[: self.leaves][::-1]  # the weights, as weights of entries
        return variance * np.cumsum(series**2), variance * np.convolve(series, entries)[: self.leaves]

    def single(self, own: Sequence[float]) -> Floats:
        found: Floats = own[0] * np.cumsum(inverse(self.leaves) ** 2)
        return found


@lru_cache(maxsize=8)
def roots(leaves: int) -> tuple[int, ...]:
    """The coefficients of (1 - z)^(-1/2), times SCALE, as whole numbers."""
    found = []
    top = 1
    under = 1
    for k in range(leaves):
        if k:
            top = top * (2 * k - 1)
            under = under * (2 * k)
            shift = max(0, under.bit_length() - 256)  # as many digits as matter
            top = top >> shift
            under = under >> shift
        found.append((2 * SCALE * top + under) // (2 * under))
    return tuple(found)


@lru_cache(maxsize=8)
def inverse(leaves: int) -> Floats:
    """The series 1/w(z) of the weights."""
    weights = np.array(roots(leaves), dtype=np.float64)
    found = np.zeros(leaves)
    found[0] = 1 / weights[0]
    for k in range(1, leaves):
        found[k] = -float(weights[1 : k + 1] @ found[k - 1 :: -1]) / weights[0]
    found.setflags(write=False)
    return found


WITHIN = "groups"
OVER = "all"


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
    Proof:   entries of a part are alike in all groups, so that their mean over groups and the rest are independent. Of
             the mean, the part over all groups tells too: the two are averaged by precision. Each is then least squares
             along the line. A group is its own estimate, less the groups' mean, and the mean's best one.
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
        rest = 1 - 1 / self.groups
        share = self.groups**-2
        return Spread(*over, own[0] * rest + over[0] * share, own[1] * rest + over[1] * share)

    def single(self) -> tuple[Floats, Floats]:
        """The variance of each leaf by itself, over all groups and within one."""
        over = self.line.single(self.over)
        if self.groups == 1:
            return over, over
        return over, self.line.single(self.within) * (1 - 1 / self.groups) + over * self.groups**-2

    def prefixes(self, measured: Measured) -> tuple[Floats, Floats]:
        """Over all groups, and of each group."""
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
    within = [math.inf] * len(line.parts)
    over = [math.inf] * len(line.parts)
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


SLOPES = (0.3, 0.45, 0.6, 0.75, 0.9, 1.0, 1.15)  # of one level's share to that of the level below
# branches of trees that are tried
GAUSSIAN = (2, 4, 16)
LAPLACE = (4, 8, 16, 32)
LEAST = 0.01  # a level with a smaller share is not measured
STEP = 256  # shares are whole multiples of 1/STEP


@dataclass(frozen=True, slots=True)
class Asked:
    """What errors are looked at: those of the first `counted` prefixes; of ranges of leaves; of leaves by
    themselves.
    """

    counted: int
    ranges: tuple[tuple[int, int], ...] = ()
    single: bool = False

    def errors(self, line: Line, own: Sequence[float]) -> tuple[float, ...]:
        """The mean variance of each kind of number."""
        found = [float(line.against(own, np.zeros(line.leaves))[0][: self.counted].mean())]
        if self.ranges:
            found.append(float(np.mean([range_variance(line, own, one) for one in self.ranges])))
        if self.single:
            found.append(float(line.single(own)[: self.counted].mean()))
        return tuple(found)


def range_variance(line: Line, own: Sequence[float], leaves: tuple[int, int]) -> float:
    """Of the sum from one leaf to another."""
    first, last = leaves
    weights = np.zeros(line.leaves)
    weights[first : last + 1] = 1.0
    shared = line.against(own, weights)[1]
    return float(shared[last] - (shared[first - 1] if first else 0.0))


def variances_of(line: Line, shares: Sequence[float], *, squared: bool) -> list[float]:
    """Of an entry of each map: Gaussian noise at rho 1/2 (squared), or Laplace noise at epsilon 1; infinite without
    a share.
    """
    found = []
    for one, share in zip(line.maps(), shares):
        moved = (
            one.column_squares / share if squared and share else 2 * (one.column_l1 / share) ** 2 if share else math.inf
        )
        found.append(float(moved))
    return found


def chosen(leaves: int, asked: Asked, *, squared: bool) -> tuple[Line, tuple[Fraction, ...]]:
    """The line, and the share of each of its parts; zero where it is not measured.

    Each kind of number counts by its mean variance over the least that any line has at the start. Then shares of each
    tree's levels are moved while that helps.
    """
    branching = [b for b in (GAUSSIAN if squared else LAPLACE) if b < leaves] or [leaves]
    lines: list[Line] = [Branches(leaves, b) for b in branching]
    starts: list[tuple[Line, list[float]]] = [(one, _geometric(one, slope)) for one in lines for slope in SLOPES]
    if squared:
        starts.append((Sums(leaves), [1.0]))
    found = [asked.errors(line, variances_of(line, shares, squared=squared)) for line, shares in starts]
    least = [min(errors) for errors in zip(*found)]

    def cost(line: Line, shares: Sequence[float]) -> float:
        errors = asked.errors(line, variances_of(line, shares, squared=squared))
        return float(sum(error / best for error, best in zip(errors, least)))

    ends = []
    for line in {line: None for line, _ in starts}:
        own = [shares for other, shares in starts if other == line]
        ends.append((line, _moved(own, partial(cost, line))))
    line, shares = min(ends, key=lambda end: cost(*end))
    return line, tuple(Fraction(round(share * STEP), STEP) for share in shares)


def share_of_all(groups: int, *, squared: bool) -> Fraction:
    """The share of the price that measures all groups together, of those tried the best; nothing where their sum does
    as well.

    In units of the variance that the whole price would give: within groups it is 1/(1 - t) (Laplace noise: squared),
    over all of them that of their sum and of what is measured by itself. Logarithms are added up, and groups count
    twice.
    """

    def cost(share: Fraction) -> float:
        power = 1 if squared else 2
        t = float(share)
        within = (1 - t) ** -power
        over = 1 / ((1 - t) ** power / groups + t**power)
        return 2 * math.log(within * (1 - 1 / groups) + over / groups**2) + math.log(over)

    return min((Fraction(n, 20) for n in range(11)), key=cost) if groups > 1 else Fraction(0)


def _geometric(line: Line, slope: float) -> list[float]:
    many = len(line.parts)
    weights = [slope ** (many - 1 - level) for level in range(many)]
    return [weight / sum(weights) for weight in weights]


def _moved(starts: list[list[float]], cost: Callable[[Sequence[float]], float]) -> list[float]:
    """From the best start, one share after the other made larger, smaller or nothing while it helps; whole steps at
    the end.
    """
    shares = min(starts, key=cost)
    now = cost(shares)
    factor = 2.0
    while factor > 1.05 and len(shares) > 1:
        helped = False
        for place in range(len(shares)):
            tried = (factor, 1 / factor) if place == len(shares) - 1 else (factor, 1 / factor, 0.0)
            for by in tried:
                other = [share * (by if n == place else 1.0) for n, share in enumerate(shares)]
                other = [share / sum(other) for share in other]
                then = cost(other)
                if then < 0.999 * now:
                    shares = other
                    now = then
                    helped = True
        factor = factor if helped else math.sqrt(factor)
    kept = [share if share >= LEAST or n == len(shares) - 1 else 0.0 for n, share in enumerate(shares)]
    return [max(1, round(share / sum(kept) * STEP)) / STEP if share else 0.0 for share in kept]
