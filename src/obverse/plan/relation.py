"""The private relational plan: a closed set of nodes. A new node means a new theorem and a new `emit` arm.

Facts of a relation: what is known of its columns, and how far one unit reaches in it.

A relation as stable text, from its tables upwards: for people, and for the fingerprint of a question.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from obverse.core.sensitivity import Stability
from obverse.core.types import Type, Value
from obverse.plan.expressions import ColumnFacts, Expr, canonical
from obverse.plan.measures import TERM_BITS, Measure


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of a relation; stability None means that it is public."""

    columns: Mapping[str, ColumnFacts]
    stability: Stability | None


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
class Listed:
    """Rows that the question writes down: public, since it is."""

    columns: tuple[tuple[str, Type], ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Rows for which the predicate is TRUE."""

    child: Relation
    predicate: Expr


@dataclass(frozen=True, slots=True)
class Map:
    """Named expressions over the columns below, row by row; the unit of each row stays."""

    child: Relation
    columns: tuple[tuple[str, Expr], ...]


class JoinKind(Enum):
    """Which rows without a partner stay."""

    INNER = "inner"
    LEFT = "left"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows for which all conditions are TRUE; two private sides pair only rows of the same unit.

    Names of the two sides are disjoint. A public side stands on the right. `copies`: partners that a row may have in a
    public side whose rows are not weighted afterwards, enforced.
    """

    left: Relation
    right: Relation
    kind: JoinKind
    on: tuple[Expr, ...]
    copies: int | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """All rows of all children, which have the same column names and types."""

    children: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """One column of a per-unit aggregation: count, sum, avg, min, max or count_distinct of an expression."""

    name: str
    kind: str
    expr: Expr | None
    rows: int  # the cap on the rows that are meant
    bits: int = TERM_BITS  # of a unit's sum, in steps of its grid


@dataclass(frozen=True, slots=True)
class Reduce:
    """One row for each unit and each combination of keys that it has rows of."""

    child: Relation
    keys: tuple[tuple[str, Expr], ...]
    folds: tuple[Fold, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """The rows on the left, each told in a new column whether it has a partner on the right: IN and EXISTS.

    A private right side has partners of the same unit only.
    """

    left: Relation
    right: Relation
    on: tuple[tuple[Expr, Expr], ...]  # left expression equals right expression
    name: str
    unknown: bool  # as in IN: without a partner, a NULL on either side makes the answer NULL; else FALSE as in EXISTS


@dataclass(frozen=True, slots=True)
class Trim:
    """At most `rows` rows of each unit, chosen by a keyed hash: bounds the cost of what follows, not the
    sensitivity.
    """

    child: Relation
    rows: int


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `rows` rows of each unit, by merging (ONE) or by weight (TOTAL, WEIGHTED)."""

    child: Relation
    shape: Shape
    rows: int
    groups: int = 1  # keys, or different values, that a unit may bring where it must choose


@dataclass(frozen=True, slots=True)
class Key:
    """One grouping key: an expression over a finite public domain, read as an index into it; or one that is
    discovered.
    """

    name: str
    expr: Expr
    domain: tuple[Value, ...] | None  # None: which values there are is private, and released above a threshold
    null_cell: bool  # NULL is one more cell, the last

    @property
    def listed(self) -> tuple[Value, ...]:
        assert self.domain is not None
        return self.domain

    @property
    def cells(self) -> int:
        return len(self.listed) + self.null_cell


@dataclass(frozen=True, slots=True)
class Cells:
    """The public cells of a question: one block for each grouping set, in each the product of its keys.

    `keys` are the public ones; a set holds places in it. Without ROLLUP and the like there is one set, of all keys.
    """

    keys: tuple[Key, ...]
    sets: tuple[tuple[int, ...], ...]

    def size(self, chosen: tuple[int, ...]) -> int:
        return math.prod(self.keys[i].cells for i in chosen)

    @property
    def count(self) -> int:
        return sum(self.size(chosen) for chosen in self.sets)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where each set's block begins."""
        return tuple(itertools.accumulate((self.size(chosen) for chosen in self.sets), initial=0))[:-1]


@dataclass(frozen=True, slots=True)
class Project:
    """Key indices and integer terms, row by row; a row whose key lies outside the domain is left out."""

    child: Limit
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    sets: tuple[tuple[int, ...], ...] = ()  # grouping sets, as places among the keys; none: one set of all


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Exact integer sums of the measures' terms in every cell of the keys' product."""

    child: Project

    @property
    def public(self) -> Cells:
        keys = tuple(key for key in self.child.keys if key.domain is not None)
        return Cells(keys, self.child.sets or (tuple(range(len(keys))),))

    @property
    def discovered(self) -> tuple[Key, ...]:
        return tuple(key for key in self.child.keys if key.domain is None)

    @property
    def cells(self) -> int:
        """Public cells; each discovered key has as many."""
        return self.public.count

    @property
    def keyed(self) -> bool:
        """Whether all there is to tell is sums of discovered keys, so that each key is a row that stands by itself."""
        alone = not self.public.keys and len(self.public.sets) == 1
        return bool(self.discovered) and alone and all(measure.summed for measure in self.child.measures)


Relation = Scan | Listed | Filter | Map | Join | Union | Reduce | Mark | Trim
Node = Relation | Project | Limit | Aggregate


def sides(relation: Relation) -> tuple[Relation, ...]:
    """The relations right below."""
    match relation:
        case Scan() | Listed():
            return ()
        case Filter(child) | Map(child) | Reduce(child) | Trim(child):
            return (child,)
        case Join(left, right) | Mark(left, right):
            return left, right
        case Union(children):
            return children


def every(relation: Relation) -> Iterator[Relation]:
    """The relation and all below it, from left to right."""
    yield relation
    for side in sides(relation):
        yield from every(side)


def scans(relation: Relation) -> tuple[Scan, ...]:
    return tuple(found for found in every(relation) if isinstance(found, Scan))


def only_scan(relation: Relation) -> Scan | None:
    """The scan, where the relation is nothing but a filtered table."""
    while isinstance(relation, Filter):
        relation = relation.child
    return relation if isinstance(relation, Scan) else None


def relation_text(relation: Relation) -> str:
    match relation:
        case Scan(table):
            return f"scan {table}"
        case Listed(columns, rows):
            return f"listed {', '.join(f'{name!r} {kind.value}' for name, kind in columns)}: {rows!r}"
        case Filter(child, predicate):
            return f"{relation_text(child)}\nfilter {canonical(predicate)}"
        case Map(child, columns):
            return f"{relation_text(child)}\nmap {_named(columns)}"
        case Join(left, right, kind, on):
            terms = " and ".join(canonical(term) for term in on)
            return f"{relation_text(left)}\n{kind.value} join on {terms or 'the unit'}\n{_inner(right)}"
        case Union(children):
            return "union all\n" + "\n".join(_inner(child) for child in children)
        case Reduce(child, keys, folds):
            found = [
                f"{f.name}: {f.kind}({'*' if f.expr is None else canonical(f.expr)}) up to {f.rows} rows" for f in folds
            ]
            also = f" and {_named(keys)}" if keys else ""
            return f"{relation_text(child)}\nper unit{also}: {', '.join(found) or 'one row'}"
        case Mark(left, right, on, name, unknown):
            pairs = " and ".join(f"{canonical(a)} = {canonical(b)}" for a, b in on)
            word = "in" if unknown else "exists"
            return f"{relation_text(left)}\n{name}: {word} where {pairs or 'same unit'}\n{_inner(right)}"
        case Trim(child, rows):
            return f"{relation_text(child)}\nat most {rows} rows per unit"


def _named(columns: tuple[tuple[str, Expr], ...]) -> str:
    return ", ".join(f"{name} = {canonical(expr)}" for name, expr in columns)


def _inner(relation: Relation) -> str:
    return "\n".join(f"  {line}" for line in relation_text(relation).split("\n"))
