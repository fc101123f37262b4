"""A strategy: which linear maps of the cells' counts are measured, each with a weight that is chosen and a norm that is
not.

How far the columns of weighted running sums lie apart.

Integer linear maps of one key's cells: the parts that strategies are made of, with the norms of their columns.

A block of a strategy is a Kronecker product of such maps, one for each key of a grouping set. Norms of a product's
columns are products of norms, and inner products of its columns are products of inner products.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.core.units import Neighbours
from obverse.plan.expressions import domain
from obverse.plan.relation import Cells, Key


@lru_cache(maxsize=8)
def gap(weights: tuple[int, ...]) -> int:
    """The largest squared L2 norm of the difference of two columns of different cells.

    Claim:   it is exact, or not less where whole numbers of 64 bits would not hold it.
    Proof:   column j is the weights moved down by j and cut off. Of columns j and k = j + d it is |column j|^2 +
             |column k|^2 less twice the sum of w[i] w[i + d] over the rows of column k; all pairs are looked at.
    Assumes: the weights are not negative.
    """
    squares = sum(weight * weight for weight in weights)
    if squares >= 1 << 60:
        return 2 * squares  # as far apart as two columns without a common row
    line = np.array(weights, dtype=np.int64)
    length = np.cumsum(line**2)[::-1]  # of column j
    most = 0
    for d in range(1, len(line)):
        shared = np.cumsum(line[: len(line) - d] * line[d:])[::-1]
        most = max(most, int((length[: len(line) - d] + length[d:] - 2 * shared).max()))
    return most


Integers = NDArray[np.int64]


class Linear(Protocol):
    """A map of the cells of one key to `out` integers. Columns stand for cells."""

    @property
    def size(self) -> int:
        """Cells of the key."""
        ...

    @property
    def out(self) -> int: ...

    @property
    def column_l1(self) -> int:
        """The largest L1 norm of a column."""
        ...

    @property
    def column_squares(self) -> int:
        """The largest squared L2 norm of a column."""
        ...

    @property
    def apart(self) -> tuple[int, int]:
        """Between which the inner product of two columns of different cells lies."""
        ...

    @property
    def row_l1(self) -> int:
        """The largest L1 norm of a row: how far it can enlarge a number."""
        ...

    @property
    def identity(self) -> str:
        """One text for one map."""
        ...

    def apply(self, cells: Integers, axis: int) -> Integers:
        """The map along one axis."""
        ...


class Single:
    """A map that puts each cell in one place, as it is: of every column one entry is 1, and the others are nought.

    Claim: columns have norms 1. Proof: they are unit vectors. Assumes: nothing.
    """

    __slots__ = ()

    @property
    def column_l1(self) -> int:
        return 1

    @property
    def column_squares(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class Kept(Single):
    """Each cell by itself.

    Claim: columns are unit vectors. Proof: the identity. Assumes: nothing.
    """

    size: int

    @property
    def out(self) -> int:
        return self.size

    @property
    def apart(self) -> tuple[int, int]:
        return (1, 1) if self.size == 1 else (0, 0)

    @property
    def row_l1(self) -> int:
        return 1

    @property
    def identity(self) -> str:
        return f"kept {self.size}"

    def apply(self, cells: Integers, axis: int) -> Integers:
        return cells


@dataclass(frozen=True, slots=True)
class Summed(Single):
    """All cells added up.

    Claim: each column is (1). Proof: a row of ones. Assumes: nothing.
    """

    size: int

    @property
    def out(self) -> int:
        return 1

    @property
    def apart(self) -> tuple[int, int]:
        return 1, 1

    @property
    def row_l1(self) -> int:
        return self.size

    @property
    def identity(self) -> str:
        return f"summed {self.size}"

    def apply(self, cells: Integers, axis: int) -> Integers:
        found: Integers = cells.sum(axis=axis, keepdims=True)
        return found


@dataclass(frozen=True, slots=True)
class Centred:
    """n times the cell less the sum of all n: what is left of a table when its margins are taken out, in whole numbers.

    Claim:   columns have L1 norm 2 (n - 1), squared L2 norm n (n - 1), and inner product -n where they differ.
    Proof:   the matrix is n I - 11'. A column is n - 1 once and -1 in the other n - 1 places: (n - 1)^2 + (n - 1). Two
             different ones: -(n - 1) twice, and 1 in n - 2 places. A row has the same entries as a column.
    Assumes: nothing.
    """

    size: int

    def __post_init__(self) -> None:
        invariant(self.size > 1, "what is centred has several cells")

    @property
    def out(self) -> int:
        return self.size

    @property
    def column_l1(self) -> int:
        return 2 * (self.size - 1)

    @property
    def column_squares(self) -> int:
        return self.size * (self.size - 1)

    @property
    def apart(self) -> tuple[int, int]:
        return -self.size, -self.size

    @property
    def row_l1(self) -> int:
        return 2 * (self.size - 1)

    @property
    def identity(self) -> str:
        return f"centred {self.size}"

    def apply(self, cells: Integers, axis: int) -> Integers:
        found: Integers = self.size * cells - cells.sum(axis=axis, keepdims=True)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Merged(Single):
    """Cells put together: cell i goes to group `groups[i]`, one group each. Levels of trees and of geographies.

    Claim: columns are unit vectors. Proof: each cell is in one group. Assumes: nothing.
    """

    groups: Integers
    out: int

    def __post_init__(self) -> None:
        there = len(self.groups) > 0 and int(self.groups.min()) >= 0 and int(self.groups.max()) < self.out
        invariant(there, "a group for each cell")

    @property
    def size(self) -> int:
        return len(self.groups)

    @property
    def apart(self) -> tuple[int, int]:
        return (1, 1) if self.out == 1 else (0, 1)

    @property
    def row_l1(self) -> int:
        return int(np.bincount(self.groups).max())

    @property
    def identity(self) -> str:
        return (
            f"merged {hashlib.sha256(np.ascontiguousarray(self.groups, dtype='<i8').tobytes()).hexdigest()} {self.out}"
        )

    def apply(self, cells: Integers, axis: int) -> Integers:
        order = np.argsort(self.groups, kind="stable")
        there, starts = np.unique(self.groups[order], return_index=True)
        added = np.add.reduceat(np.take(cells, order, axis=axis), starts, axis=axis)
        shape = list(cells.shape)
        shape[axis] = self.out
        found = np.zeros(shape, dtype=np.int64)
        found[(slice(None),) * axis + (there,)] = added
        return found


@dataclass(frozen=True, slots=True)
class Running:
    """Weighted running sums: entry i is the sum of weights[i - j] times cell j over j <= i. The weights are not
    negative.

    Claim:   the first column is the longest, in L1 and in L2; no inner product is negative.
    Proof:   column j is the weights moved down by j and cut off, so it is part of the first. Nothing is negative. Row i
             holds the first i + 1 weights, so the last row is the largest.
    Assumes: nothing.
    """

    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        invariant(bool(self.weights) and min(self.weights) >= 0, "weights of running sums are not negative")

    @property
    def size(self) -> int:
        return len(self.weights)

    @property
    def out(self) -> int:
        return len(self.weights)

    @property
    def column_l1(self) -> int:
        return sum(self.weights)

    @property
    def column_squares(self) -> int:
        return sum(weight * weight for weight in self.weights)

    @property
    def apart(self) -> tuple[int, int]:
        return 0, self.column_squares

    @property
    def gap(self) -> int:
        """The largest squared L2 norm of the difference of two columns of different cells, by looking at all of
        them.
        """
        return gap(self.weights)

    @property
    def row_l1(self) -> int:
        return sum(self.weights)

    @property
    def identity(self) -> str:
        return f"running {self.weights}"

    def apply(self, cells: Integers, axis: int) -> Integers:
        weights = np.array(self.weights, dtype=np.int64)
        return np.apply_along_axis(lambda line: np.convolve(line, weights)[: len(line)], axis, cells)


MOVES_MAX = 1 << 16  # blocks times sets of keys that are looked at
RESULT_MAX = 1 << 61  # of an entry before noise, so that sums of 64 bits never overflow


@dataclass(frozen=True, slots=True)
class Norms:
    """How far one unit that weighs one moves the entries of a block; L2 is squared, to stay exact."""

    l1: int
    squares: int


@dataclass(frozen=True, slots=True)
class Block:
    """The Kronecker product of maps over the keys of one grouping set, and its weight: its share of the price."""

    name: str
    of: int  # which grouping set
    maps: tuple[Linear, ...]
    weight: Fraction

    def __post_init__(self) -> None:
        invariant(self.weight > 0, "what is measured has a weight")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(one.out for one in self.maps)

    @property
    def entries(self) -> int:
        return math.prod(self.shape)

    @property
    def row_l1(self) -> int:
        return math.prod(one.row_l1 for one in self.maps)

    def column(self) -> Norms:
        """The largest norms of a column: of a unit that comes or goes."""
        return Norms(math.prod(one.column_l1 for one in self.maps), math.prod(one.column_squares for one in self.maps))

    def between(self, differ: Sequence[bool]) -> Norms:
        """The largest norms of the difference of two columns, whose cells differ in these keys of the set and no
        others.

        Claim:   no such difference is longer. Proof: |a - b|^2 = |a|^2 + |b|^2 - 2 a.b <= 2 P - 2 a.b, and a.b is a
                 product of inner products of the maps' columns: the column's square where the cells are the same,
                 within `apart` where they differ, so that the least is at a corner. In L1 the difference is at most two
                 columns, and nothing where no map tells the cells apart. Assumes: columns of one length, but of one map
                 that may be Running, for which see `_running`.
        """
        running = [n for n, one in enumerate(self.maps) if isinstance(one, Running)]
        if running:
            return self._running(differ, running)
        column = self.column()
        ends = [one.apart if d else (one.column_squares,) for one, d in zip(self.maps, differ)]
        least = min(math.prod(corner) for corner in itertools.product(*ends))
        squares = 2 * column.squares - 2 * least
        return Norms(2 * column.l1 if squares else 0, squares)

    def _running(self, differ: Sequence[bool], running: Sequence[int]) -> Norms:
        """The same where a map is of running sums.

        Claim:   as above. Proof: let r, s be the two columns of that map, u, v those of the others' product, of squared
                 length U, and w = u.v. The difference's square is U (|r|^2 + |s|^2) - 2 w r.s, where r.s >= 0. If the
                 cells are the same in this key, r = s: it is 2 |r|^2 (U - w), largest for the longest column. If not,
                 it falls with w, so let w be the least there is; for w >= 0 it is (U - w)(|r|^2 + |s|^2) + w |r - s|^2,
                 each within its own most. For w < 0, or several such maps, a.b is at least the least product of ends,
                 or 0. Assumes: the others' columns are of one length.
        """
        column = self.column()
        rest = [(one, d) for n, (one, d) in enumerate(zip(self.maps, differ)) if n != running[0]]
        ends = [one.apart if d else (one.column_squares,) for one, d in rest]
        least = min(math.prod(corner) for corner in itertools.product(*ends))
        one = self.maps[running[0]]
        other = column.squares // self.maps[running[0]].column_squares
        assert isinstance(one, Running)
        if len(running) > 1 or (differ[running[0]] and least < 0):
            squares = 2 * column.squares - 2 * min(least, 0) * one.column_squares
        elif differ[running[0]]:
            squares = (other - least) * 2 * one.column_squares + least * one.gap
        else:
            squares = 2 * one.column_squares * (other - least)
        return Norms(2 * column.l1 if squares else 0, squares)

    def norms(self, neighbours: Neighbours) -> Norms:
        """The largest norms of a move of this block by itself, of a unit that weighs one."""
        if neighbours is Neighbours.ADD_REMOVE:
            return self.column()
        found = [self.column(), *map(self.between, self._apart())]
        return Norms(max(one.l1 for one in found), max(one.squares for one in found))

    def _apart(self) -> Iterator[list[bool]]:
        """Sets of keys in which two cells may differ; a map that tells no cells apart gives the same in all: it is
        left out.
        """
        told = [isinstance(one, Running) or one.apart != (one.column_squares,) * 2 for one in self.maps]
        for chosen in itertools.product((False, True), repeat=sum(told)):
            left = iter(chosen)
            yield [one and next(left) for one in told]

    def apply(self, counts: Integers) -> Integers:
        """The exact entries, in order; counts are those of the set's cells. Larger counts than can be held are cut.

        Claim:   cutting each count keeps the norms. Proof: a cut is monotone and no step longer, so that what a unit
                 adds stays >= 0 and adds up to no more. Assumes: nothing.
        """
        cut = np.minimum(counts, RESULT_MAX // self.row_l1).reshape([one.size for one in self.maps])
        for axis, one in enumerate(self.maps):
            cut = one.apply(cut, axis)
        return np.ascontiguousarray(cut).reshape(-1)

    @property
    def identity(self) -> str:
        return f"{self.of}: {' x '.join(one.identity for one in self.maps)} at {self.weight}"


@dataclass(frozen=True, slots=True)
class Strategy:
    """All that is measured of one question's counts, together."""

    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        invariant(bool(self.blocks), "something is measured")

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Of the price, each block's; they add up to one."""
        total = sum((block.weight for block in self.blocks), Fraction(0))
        return tuple(block.weight / total for block in self.blocks)

    @property
    def identity(self) -> str:
        return "\n".join(block.identity for block in self.blocks)

    def fits(self, cells: Cells) -> None:
        """Each block reads a set that there is, by one map for each of its keys."""
        for block in self.blocks:
            invariant(0 <= block.of < len(cells.sets), "a block reads a set that is there")
            chosen = cells.sets[block.of]
            invariant([one.size for one in block.maps] == [cells.keys[i].cells for i in chosen], "a map for each key")

    def worst(self, cells: Cells, neighbours: Neighbours, per: Sequence[Fraction], *, squared: bool) -> Fraction:
        """The most that the blocks' moves cost together, at `per` for each unit of a block's L1 norm, or squared L2
        norm.

        Claim:   a unit whose rows weigh at most W costs at most W (squares: W^2) times this.
        Proof:   what the unit adds to the counts of all sets, one below the other, is a sum over its rows of weights,
                 not negative and at most W together, times that row's vector, which has a one for its cell in each set.
                 The cost is convex in it, so it is largest at W times one row's vector, or nothing. Adding or removing:
                 the cost of a column of every block. Replacing: of one row's vector less another's, or less nothing;
                 what counts is in which keys the two rows differ, and all such sets of keys are listed (Block.between).
                 Where some row may have a cell in one set and none in another, or the sets of keys are too many, each
                 block counts by its own largest move.
        Assumes: the counts are such sums (Limit).
        """
        if neighbours is Neighbours.ADD_REMOVE:
            return sum((p * _norm(block.column(), squared) for p, block in zip(per, self.blocks)), Fraction(0))
        alone = sum((p * _norm(block.norms(neighbours), squared) for p, block in zip(per, self.blocks)), Fraction(0))
        if not all(total(key) for key in cells.keys) or len(self.blocks) << len(cells.keys) > MOVES_MAX:
            return alone
        found = sum((p * _norm(block.column(), squared) for p, block in zip(per, self.blocks)), Fraction(0))
        for differ in itertools.product((False, True), repeat=len(cells.keys)):
            cost = Fraction(0)
            for p, block in zip(per, self.blocks):
                cost += p * _norm(block.between([differ[i] for i in cells.sets[block.of]]), squared)
            found = max(found, cost)
        return min(found, alone)

    def apply(self, cells: Cells, counts: Integers) -> list[Integers]:
        """The exact entries of every block, from the counts of all sets' cells one after the other."""
        found = []
        for block in self.blocks:
            start = cells.offsets[block.of]
            found.append(block.apply(counts[start : start + cells.size(cells.sets[block.of])]))
        return found


def total(key: Key) -> bool:
    """Whether every row has a cell of the key: its cells are all values that the key's facts allow, and NULL if need
    be.
    """
    return (
        key.domain is not None
        and key.domain == domain(key.expr.facts)
        and (key.null_cell or not key.expr.facts.nullable)
    )


def _norm(norms: Norms, squared: bool) -> int:
    return norms.squares if squared else norms.l1
