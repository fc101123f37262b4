"""Integer linear maps of one key's cells: the parts that strategies are made of, with the norms of their columns.

A block of a strategy is a Kronecker product of such maps, one for each key of a grouping set. Norms of a product's columns
are products of norms, and inner products of its columns are products of inner products.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from obverse.core.errors import invariant
from obverse.plan.strategy.running import gap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        import numpy as np

        return int(np.bincount(self.groups).max())

    @property
    def identity(self) -> str:
        import numpy as np

        return f"merged {hashlib.sha256(np.ascontiguousarray(self.groups, dtype='<i8').tobytes()).hexdigest()} {self.out}"

    def apply(self, cells: Integers, axis: int) -> Integers:
        import numpy as np

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
    """Weighted running sums: entry i is the sum of weights[i - j] times cell j over j <= i. The weights are not negative.

    Claim:   the first column is the longest, in L1 and in L2; no inner product is negative.
    Proof:   column j is the weights moved down by j and cut off, so it is part of the first. Nothing is negative. Row i holds
             the first i + 1 weights, so the last row is the largest.
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
        """The largest squared L2 norm of the difference of two columns of different cells, by looking at all of them."""
        return gap(self.weights)

    @property
    def row_l1(self) -> int:
        return sum(self.weights)

    @property
    def identity(self) -> str:
        return f"running {self.weights}"

    def apply(self, cells: Integers, axis: int) -> Integers:
        import numpy as np

        weights = np.array(self.weights, dtype=np.int64)
        return np.apply_along_axis(lambda line: np.convolve(line, weights)[: len(line)], axis, cells)
