"""Who is protected, and what "one apart" means."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal


class Neighbours(Enum):
    """Two databases are neighbours when one unit with all its rows was added or removed, or replaced by another."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"

    @property
    def words(self) -> str:
        return {"add-remove": "added or removed", "replace": "replaced by another"}[self.value]


@dataclass(frozen=True, slots=True)
class KeyPath:
    """How rows of `table` reach their unit: steps of (column here, table there, key column there).

    No step: the column `column` is the unit's own key. One step or more: the last key column is the unit.
    """

    table: str
    column: str | None  # None: each row is its own unit
    steps: tuple[tuple[str, str], ...] = ()  # (table, key column) reached one after the other


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """The one protected entity of a project."""

    table: str
    key: str | None
    paths: tuple[KeyPath, ...]
    neighbours: Neighbours
    first: str = ""  # the partition column, where a unit counts in its first partition only
    each: str = ""  # the partition column, where the unit is one's part of a partition
    graph: Literal["", "edge", "node"] = field(default="", repr=False)  # of a network, whose name `table` then is

    @property
    def words(self) -> str:
        if self.graph == "edge":
            return f"one edge of {self.table} (that two people are connected)"
        if self.graph == "node":
            return f"one node of {self.table} with all of its edges (that a person is present at all)"
        if self.key is None:
            return f"one row of {self.table}"
        if self.each:
            return f"one {self.table}.{self.key} in one {self.each}, with all rows that belong to both"
        counted = f", counted in its first {self.first} only" if self.first else ""
        return f"one {self.table}.{self.key}, with all rows that belong to it{counted}"
