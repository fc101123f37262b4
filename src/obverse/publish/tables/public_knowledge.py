"""Cells that are known to be empty, and sums over cells: least squares under such knowledge, and the variance of any
sum.

Claim:   `Frame.forced` is generalised least squares under the zeros; `Frame.variances` and `Frame.of_sums` are those of
         what it gives.
Proof:   effects have independent noise, variance_A times a projection. Divided by their deviations they are one vector
         z whose noise is a projection; every cell is an inner product c.z, with c in that space. Zeros say B z = 0 of
         the truth, so the best estimate is z without its part in the rows of B, and c.z has variance |c|^2 less that of
         c's part there.
Assumes: rows for which the zeros' condition holds were counted nowhere, so that they hold of what was measured.

Columns that are public functions of others: told beside them, and tables over them added up afterwards. No budget.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.answers.answer import plain, typed
from obverse.core.errors import Refused, invariant
from obverse.core.types import Type, Value
from obverse.publish.tables.effects import Effect, cell_variance, rebuilt, within
from obverse.publish.workload import Attribute, Table, Workload, column_name, values_at

Array = np.ndarray[Any, Any]
Integers = NDArray[np.int64]


GROUPS_MAX = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """A column, the attributes that it follows from, and which of its values each of their cells has."""

    name: str
    words: str
    of: Table
    codes: Integers  # in the shape of `of`
    values: tuple[Value, ...]
    type: Type

    @property
    def attribute(self) -> Attribute:
        return Attribute(self.name, self.values, self.type)

    def within(self, workload: Workload, table: Table) -> Integers:
        """The value of each cell of a table that has all of `of`."""
        shape = [workload.attributes[i].cells if i in self.of else 1 for i in table]
        return np.broadcast_to(self.codes.reshape(shape), workload.shape(table))

    def as_json(self) -> dict[str, Any]:
        told = {"name": self.name, "words": self.words, "of": list(self.of), "type": self.type.value}
        return told | {"codes": self.codes.reshape(-1).tolist(), "values": [plain(value) for value in self.values]}


@dataclass(frozen=True, slots=True)
class Rolled:
    """A table that is added up from another: some of its attributes, and derived columns, by their places."""

    base: Table
    kept: Table
    derived: tuple[int, ...]

    def title(self, workload: Workload, derived: tuple[Derived, ...]) -> str:
        names = [*(workload.attributes[i].name for i in self.kept), *(derived[n].name for n in self.derived)]
        return " x ".join(names)

    def shape(self, workload: Workload, derived: tuple[Derived, ...]) -> tuple[int, ...]:
        return (*workload.shape(self.kept), *(len(derived[n].values) for n in self.derived))

    def groups(self, workload: Workload, derived: tuple[Derived, ...]) -> Integers:
        """For each cell of the base its cell here."""
        places = np.indices(workload.shape(self.base))
        codes = [places[self.base.index(i)] for i in self.kept]
        codes += [derived[n].within(workload, self.base) for n in self.derived]
        found: Integers = np.ravel_multi_index(codes, self.shape(workload, derived)).reshape(-1)
        return found

    def labels(self, workload: Workload, derived: tuple[Derived, ...]) -> tuple[dict[str, Array], dict[str, Type]]:
        attributes = [*(workload.attributes[i] for i in self.kept), *(derived[n].attribute for n in self.derived)]
        places = np.indices(self.shape(workload, derived)).reshape(len(attributes), -1)
        columns = {column_name(one.name): values_at(one, place) for one, place in zip(attributes, places)}
        return columns, {column_name(one.name): one.type for one in attributes}


def derived_of(fields: dict[str, Any], workload: Workload) -> Derived:
    kind = Type(fields["type"])
    of = tuple(fields["of"])
    codes = np.array(fields["codes"], dtype=np.int64).reshape(workload.shape(of))
    return Derived(fields["name"], fields["words"], of, codes, tuple(typed(v, kind) for v in fields["values"]), kind)


Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


ZEROS_MAX = 1 << 10  # in all tables together
ENTRIES_MAX = 1 << 16  # of all effects, where there are zeros
RANK = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Zeros:
    """A public condition, and the cells over some attributes for all of whose values it holds."""

    words: str
    of: Table
    empty: Booleans

    def within(self, workload: Workload, table: Table) -> Booleans:
        """Cells of the table that are empty, whatever else holds of them."""
        rest = tuple(axis for axis, i in enumerate(self.of) if i not in table)
        known = self.empty.all(axis=rest) if rest else self.empty
        shape = [workload.attributes[i].cells if i in self.of else 1 for i in table]
        return np.broadcast_to(known.reshape(shape), workload.shape(table))

    def as_json(self) -> dict[str, Any]:
        return {"words": self.words, "of": list(self.of), "empty": self.empty.reshape(-1).tolist()}


def zeros_of(fields: dict[str, Any] | None, workload: Workload) -> Zeros | None:
    if fields is None:
        return None
    of = tuple(fields["of"])
    return Zeros(fields["words"], of, np.array(fields["empty"], dtype=bool).reshape(workload.shape(of)))


def checked(workload: Workload, zeros: Zeros) -> None:
    """Refuse zeros that no table holds, that leave nothing, or that are too many; free."""
    cells = sum(int(zeros.within(workload, table).sum()) for table in workload.tables)
    entries = sum(workload.cells(part) for part in workload.effects())
    if not any(set(zeros.of) <= set(table) for table in workload.tables):
        raise Refused(
            "bad_zeros", "no table has all columns of the condition.", fix="Publish a table of them together."
        )
    if zeros.empty.all() or not zeros.empty.any():
        raise Refused("bad_zeros", "the condition holds of all cells, or of none.")
    if cells > ZEROS_MAX or entries > ENTRIES_MAX:
        raise Refused(
            "bad_zeros",
            f"zeros are computed for at most {ZEROS_MAX:,} empty cells and {ENTRIES_MAX:,} entries of effects.",
        )


@dataclass(frozen=True, eq=False)
class Frame:
    """Effects with their variances, as one space."""

    workload: Workload
    variance: Mapping[Table, float]
    zeros: Zeros | None

    def stacked(self, table: Table, sums: Floats) -> Floats:
        """The inner products that the sum over cells of a table, weighted so, is."""
        found = []
        for part, variance in self.variance.items():
            if set(part) <= set(table):
                spread = self.workload.cells(table) // self.workload.cells(part)
                found.append(within(sums, table, part).reshape(-1) * (math.sqrt(variance) / spread))
            else:
                found.append(np.zeros(self.workload.cells(part)))
        return np.concatenate(found)

    @cached_property
    def basis(self) -> Floats:
        """Orthonormal rows that span what the zeros say."""
        rows = []
        for table in self.workload.tables if self.zeros is not None else ():
            assert self.zeros is not None
            for cell in np.argwhere(self.zeros.within(self.workload, table)):
                one = np.zeros(self.workload.shape(table))
                one[tuple(cell)] = 1
                rows.append(self.stacked(table, one))
        if not rows:
            return np.zeros((0, sum(self.workload.cells(part) for part in self.variance)))
        _, sizes, axes = np.linalg.svd(np.array(rows), full_matrices=False)
        kept: Floats = axes[sizes > RANK * sizes[0]]
        return kept

    def parted(self, vector: Floats) -> dict[Table, Floats]:
        """A vector of the space as effects, in counts."""
        found = {}
        start = 0
        for part, variance in self.variance.items():
            size = self.workload.cells(part)
            found[part] = (vector[start : start + size] * math.sqrt(variance)).reshape(self.workload.shape(part))
            start += size
        invariant(start == len(vector), "a vector of the space")
        return found

    def forced(self, effects: Mapping[Table, Effect]) -> dict[Table, Effect]:
        """The effects, with the zeros in place."""
        if not len(self.basis):
            return dict(effects)
        z = np.concatenate([effects[part].values.reshape(-1) / math.sqrt(v) for part, v in self.variance.items()])
        moved = self.parted(self.basis.T @ (self.basis @ z))
        return {part: Effect(one.values - moved[part], one.variance) for part, one in effects.items()}

    def variances(self, table: Table) -> Floats:
        """Of each cell's estimate."""
        found = np.full(self.workload.shape(table), cell_variance(self.workload, table, self.variance))
        for row in self.basis:
            parts = {part: Effect(values, 0.0) for part, values in self.parted(row).items()}
            found = found - rebuilt(self.workload, table, parts) ** 2
        least: Floats = np.maximum(found, 0.0)
        if self.zeros is not None:
            least[self.zeros.within(self.workload, table)] = 0.0
        return least

    def of_sums(self, table: Table, groups: Integers, many: int) -> Floats:
        """Of the sum of the cells of each group."""
        found = np.empty(many)
        for group in range(many):
            one = self.stacked(table, (groups == group).astype(np.float64).reshape(self.workload.shape(table)))
            found[group] = one @ one - ((self.basis @ one) ** 2).sum()
        least: Floats = np.maximum(found, 0.0)
        return least
