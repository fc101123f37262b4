"""What is to be published: attributes with public cells, and the tables over them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

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
            invariant(list(table) == sorted(set(table)) and all(0 <= i < len(self.attributes) for i in table), "a table")
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
            raise Refused("bad_workload", f"the tables hold {len(kept):,} effects; at most {EFFECTS_MAX:,} are computed.")
        return kept

    def largest(self) -> tuple[Table, ...]:
        """Tables that are not part of another."""
        return tuple(t for t in self.tables if not any(set(t) < set(other) for other in self.tables))


def subsets(table: Table) -> Iterable[Table]:
    return itertools.chain.from_iterable(itertools.combinations(table, n) for n in range(len(table) + 1))
