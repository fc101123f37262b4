"""Columns that are public functions of others: told beside them, and tables over them added up afterwards. No budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.answers.cells import plain, typed
from obverse.core.types import Type, Value
from obverse.publish.labels import column_name, values_at
from obverse.publish.workload import Attribute, Table, Workload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        import numpy as np

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
        import numpy as np

        places = np.indices(workload.shape(self.base))
        codes = [places[self.base.index(i)] for i in self.kept]
        codes += [derived[n].within(workload, self.base) for n in self.derived]
        found: Integers = np.ravel_multi_index(codes, self.shape(workload, derived)).reshape(-1)
        return found

    def labels(self, workload: Workload, derived: tuple[Derived, ...]) -> tuple[dict[str, Array], dict[str, Type]]:
        import numpy as np

        attributes = [*(workload.attributes[i] for i in self.kept), *(derived[n].attribute for n in self.derived)]
        places = np.indices(self.shape(workload, derived)).reshape(len(attributes), -1)
        columns = {column_name(one.name): values_at(one, place) for one, place in zip(attributes, places)}
        return columns, {column_name(one.name): one.type for one in attributes}


def derived_of(fields: dict[str, Any], workload: Workload) -> Derived:
    import numpy as np

    kind, of = Type(fields["type"]), tuple(fields["of"])
    codes = np.array(fields["codes"], dtype=np.int64).reshape(workload.shape(of))
    return Derived(fields["name"], fields["words"], of, codes, tuple(typed(v, kind) for v in fields["values"]), kind)
