"""What is to be published: attributes with public cells, and the tables over them.

What cells stand for, as columns; and workloads as JSON.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from obverse.answers.answer import plain, typed
from obverse.core.errors import Refused, invariant
from obverse.core.types import Type, Value

CELLS_MAX = 1 << 25  # of all tables that are read together
EFFECTS_MAX = 1 << 12
WAYS_MAX = 10  # attributes of one table

Table = tuple[int, ...]  # places of its attributes, in rising order


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column, or bins of one, with every value that it may have; None stands for a missing value."""

    name: str
    values: tuple[Value, ...]
    type: Type = Type.TEXT

    def __post_init__(self) -> None:
        invariant(bool(self.values), "an attribute has values")

    @property
    def cells(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Workload:
    """The tables that are asked for."""

    attributes: tuple[Attribute, ...]
    tables: tuple[Table, ...]

    def __post_init__(self) -> None:
        if not self.tables or len(set(self.tables)) < len(self.tables):
            raise Refused("bad_workload", "a release holds one table or more, each once.", fix="Name each table once.")
        for table in self.tables:
            invariant(
                list(table) == sorted(set(table)) and all(0 <= i < len(self.attributes) for i in table), "a table"
            )
            if len(table) > WAYS_MAX or self.cells(table) > CELLS_MAX:
                raise Refused(
                    "release_too_wide",
                    f"the table {self.title(table)} has {self.cells(table):,} cells.",
                    why=f"a table has at most {CELLS_MAX:,} cells of at most {WAYS_MAX} columns.",
                    fix="bin the columns more coarsely, or publish fewer of them in one table.",
                )

    def cells(self, table: Table) -> int:
        return math.prod(self.attributes[i].cells for i in table)

    def shape(self, table: Table) -> tuple[int, ...]:
        return tuple(self.attributes[i].cells for i in table)

    def title(self, table: Table) -> str:
        return " x ".join(self.attributes[i].name for i in table) or "total"

    def file_name(self, table: Table) -> str:
        """Letters, digits and _ of the names; the table's place keeps two of them apart."""
        words = ["".join(c if c.isalnum() and c.isascii() else "_" for c in self.attributes[i].name) for i in table]
        return f"{self.tables.index(table) + 1:02d}-" + ("-".join(words)[:80] or "total")

    def effects(self) -> tuple[Table, ...]:
        """Sets of attributes whose joint deviations the tables hold: all subsets without attributes of one cell."""
        found = sorted({part for table in self.tables for part in subsets(table)}, key=lambda part: (len(part), part))
        kept = tuple(part for part in found if all(self.attributes[i].cells > 1 for i in part))
        if len(kept) > EFFECTS_MAX:
            raise Refused(
                "bad_workload", f"the tables hold {len(kept):,} effects; at most {EFFECTS_MAX:,} are computed."
            )
        return kept

    def largest(self) -> tuple[Table, ...]:
        """Tables that are not part of another."""
        return tuple(t for t in self.tables if not any(set(t) < set(other) for other in self.tables))


def subsets(table: Table) -> Iterable[Table]:
    return itertools.chain.from_iterable(itertools.combinations(table, n) for n in range(len(table) + 1))


Array = np.ndarray[Any, Any]


FIGURES = ("count", "estimate", "low", "high", "value", "stddev")
STORED = {Type.INTEGER: "int64", Type.DOUBLE: "float64", Type.BOOLEAN: "bool", Type.DATE: "datetime64[D]",
          Type.TIMESTAMP: "datetime64[us]"}  # fmt: skip


def cell_labels(workload: Workload, table: Table) -> tuple[dict[str, Array], dict[str, Type]]:
    """The value of each attribute in every cell, the last attribute running fastest."""
    found: dict[str, Array] = {}
    types: dict[str, Type] = {}
    places = np.unravel_index(np.arange(workload.cells(table)), workload.shape(table)) if table else ()
    for place, i in zip(places, table):
        attribute = workload.attributes[i]
        name = column_name(attribute.name)
        found[name] = values_at(attribute, place)
        types[name] = attribute.type
    return found, types


def column_name(name: str) -> str:
    """A column's name that is no figure's."""
    return name + (" (key)" if name in FIGURES else "")


def values_at(attribute: Attribute, place: Array) -> Array:
    """The attribute's values at these places; masked where they are missing."""
    missing = np.array([value is None for value in attribute.values])
    stored = np.empty(attribute.cells, dtype=object)
    stored[:] = [_filler(attribute) if value is None else value for value in attribute.values]
    kept = stored.astype(np.dtype(STORED.get(attribute.type, "O")))
    return np.ma.array(kept[place], mask=missing[place])


def _filler(attribute: Attribute) -> Any:
    """Whatever stands where a value is missing."""
    return next((value for value in attribute.values if value is not None), "" if attribute.type is Type.TEXT else 0)


def label(value: object) -> str:
    """A value for people."""
    return "missing" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def workload_json(workload: Workload) -> dict[str, Any]:
    attributes = [
        {"name": one.name, "type": one.type.value, "values": [plain(value) for value in one.values]}
        for one in workload.attributes
    ]
    return {"attributes": attributes, "tables": [list(table) for table in workload.tables]}


def workload_of(fields: dict[str, Any]) -> Workload:
    attributes = []
    for one in fields["attributes"]:
        kind = Type(one["type"])
        attributes.append(Attribute(one["name"], tuple(typed(value, kind) for value in one["values"]), kind))
    return Workload(tuple(attributes), tuple(tuple(table) for table in fields["tables"]))
