"""Growing data: which partitions a question touches, and rows of a unit in its first partition only.

Claim:   a unit whose partition is outside `touched` changes no exact number of the question.
Proof:   every reading of the partitioned table lies below `touched`'s filters: the range is the hull of what the facts
         of each reading say of the partition column after the filters that stand right on it, and facts hold of every
         row kept (rules/filter). All rows of a unit that are read at all lie in one partition: its first (the scan
         joins each row with the least partition of its unit), or that of the unit itself, where units are a person's
         part of a partition.
Assumes: rows are only added, and only to partitions after the last published one; they go from partitions that were
         retired alone: then the first partition of a unit that was published stays its first, until it is retired
         (ledger/state). Nothing retired and nothing past the last published partition is read (the scan sees to it).
         Each `data publish` compares (ledger/partitions).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from obverse.catalog.model import Catalog, Partition, Table
from obverse.core.bounds import Categories, Interval
from obverse.core.errors import Refused, invariant
from obverse.core.ledger import Partitions
from obverse.core.types import Type, Value, date_of
from obverse.plan.expressions import as_number
from obverse.plan.query import UNITS, Question
from obverse.plan.relation import Filter, Join, Mark, Reduce, Relation, Scan, every, sides
from obverse.plan.stability.derive import facts_of


def touched(relation: Relation, catalog: Catalog) -> Partitions | None:
    """The partitions that a question over the relation touches; None where the data is not partitioned."""
    table = partitioned(catalog)
    if table is None or table.partition is None:
        return None
    whole = published(table)
    found: Partitions | None = None
    inner: set[int] = set()
    for node in every(relation):
        if id(node) in inner or not isinstance(node, (Filter, Scan)):
            continue
        below: Relation = node
        while isinstance(below, Filter):
            below = below.child
            inner.add(id(below))
        if isinstance(below, Scan) and below.table == table.name:
            read = _read(node, table.partition, catalog, whole)
            found = read if found is None else found.joined(read)
    return whole if found is None else found


def read_of(relation: Relation, catalog: Catalog) -> Partitions | None:
    """The same for a plan to carry; also None before anything is published, when nothing can be charged."""
    table = partitioned(catalog)
    if table is None or table.partition is None or table.partition.through is None:
        return None
    return touched(relation, catalog)


def _read(node: Relation, partition: Partition, catalog: Catalog, whole: Partitions) -> Partitions:
    column = facts_of(node, catalog).columns.get(partition.column)
    if column is None:
        return whole
    match column.bounds:
        case Interval(lo, hi):
            ends = [int(lo), int(hi)]
        case Categories(values) if values:
            ends = [int(number) for number in map(as_number, values) if number is not None]
        case _:
            return whole
    first = max(min(ends), whole.first)
    last = min(max(ends), whole.last)
    return Partitions(first, last) if first <= last else Partitions(whole.last, whole.last)


def together(ranges: Sequence[Partitions | None]) -> Partitions | None:
    """A range that holds all of these; None where the data is not partitioned."""
    known = [one for one in ranges if one is not None]
    return functools.reduce(Partitions.joined, known) if known else None


def check_parts(question: Question, catalog: Catalog) -> None:
    """Where the unit is one's part of a partition, what is asked of a person as a whole is asked of one partition."""
    among = touched(question.relation, catalog)
    if among is None or catalog.unit is None or not catalog.unit.each or len(among) == 1:
        return
    private = [node for node in every(question.relation) if facts_of(node, catalog).stability is not None]
    whole = any(isinstance(node, (Join, Mark, Reduce)) and _of_one(node, catalog) for node in private)
    if whole or any(call.function == UNITS for call in question.aggregates):
        raise Refused(
            "several_partitions",
            f"this asks of each {catalog.unit.key} as a whole, in several partitions at once.",
            why=f"the unit is one {catalog.unit.key} in one {catalog.unit.each}; rows of two are never put together.",
            fix=f"Ask of one partition: WHERE {catalog.unit.each} = ...",
        )


def _of_one(node: Relation, catalog: Catalog) -> bool:
    """Whether rows of one unit are put together: grouped, or joined with each other."""
    if isinstance(node, Reduce):
        return True
    return all(facts_of(side, catalog).stability is not None for side in sides(node))


def partitioned(catalog: Catalog) -> Table | None:
    return next((table for table in catalog.tables.values() if table.partition is not None), None)


def first_counted(catalog: Catalog) -> Table | None:
    """The table whose units count in their first partition; None where rows that go or come late change no unit's
    partition.
    """
    table = partitioned(catalog)
    if table is None or table.partition is None or table.partition.counts != "first":
        return None
    return table if table.unit is not None and table.unit.column is not None else None


def published(table: Table) -> Partitions:
    """From the first partition that may be and is not retired to the last published one."""
    assert table.partition is not None
    bounds = table.columns[table.partition.column].bounds
    invariant(isinstance(bounds, Interval), "a partition column has bounds")
    assert isinstance(bounds, Interval)
    if table.partition.through is None:
        raise Refused(
            "nothing_published",
            f"no partition of table {table.name} was published yet.",
            why="each partition has a budget of its own, which begins when the curator publishes it.",
            fix="obverse data publish --through VALUE",
        )
    if table.partition.through > bounds.hi:
        kind = table.columns[table.partition.column].type
        last = value_of(table.partition.through, kind)
        end = value_of(int(bounds.hi), kind)
        raise Refused(
            "published_beyond_bounds",
            f"{table.partition.column} is published through {last}, and its bounds end at {end}.",
            why="rows past the bounds would be read as of the last partition within them, which has a budget of its "
            "own.",
            fix=f"Write bounds that end at {last} or later.",
        )
    first = int(bounds.lo) if table.partition.retired is None else table.partition.retired + 1
    if first > table.partition.through:
        raise Refused(
            "all_retired",
            f"all published partitions of table {table.name} are retired.",
            why="rows of retired partitions are not read.",
            fix="obverse data publish --through VALUE",
        )
    return Partitions(first, table.partition.through)


def value_of(number: int, kind: Type) -> Value:
    """A partition's number as the column holds it."""
    return date_of(number) if kind is Type.DATE else number
