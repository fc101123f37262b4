"""The private relational plan: a closed set of nodes. A new node means a new theorem and a new `emit` arm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from obverse.core.types import Value
from obverse.plan.expressions import Expr
from obverse.plan.measure import Measure


class Shape(Enum):
    """How one unit's rows are bounded before they are added up."""

    ROW = "each row is its own unit"
    ONE = "one row per unit: were there several, they are merged column by column by their minimum"
    TOTAL = "per unit totals, each clamped to its cap"
    WEIGHTED = "per unit integer weights, so that a unit's total weight stays under its cap"


@dataclass(frozen=True, slots=True)
class Scan:
    """A declared table, each column it names enforced to its declared facts; rows without a unit left out."""

    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Rows for which the predicate is TRUE."""

    child: Relation
    predicate: Expr


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `rows` rows of each unit, by merging (ONE) or by weight (TOTAL, WEIGHTED)."""

    child: Relation
    shape: Shape
    rows: int


@dataclass(frozen=True, slots=True)
class Key:
    """One grouping key: an expression over a finite public domain, read as an index into it."""

    name: str
    expr: Expr
    domain: tuple[Value, ...]
    null_cell: bool  # NULL is one more cell, the last

    @property
    def cells(self) -> int:
        return len(self.domain) + self.null_cell


@dataclass(frozen=True, slots=True)
class Project:
    """Key indices and integer terms, row by row; a row whose key lies outside the domain is left out."""

    child: Limit
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Exact integer sums of the measures' terms in every cell of the keys' product."""

    child: Project

    @property
    def cells(self) -> int:
        return math.prod(key.cells for key in self.child.keys)


Relation = Scan | Filter
Node = Scan | Filter | Project | Limit | Aggregate


def scan_of(relation: Relation) -> Scan:
    while isinstance(relation, Filter):
        relation = relation.child
    return relation
