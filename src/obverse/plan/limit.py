"""Insert the per-unit limit that the table declares, and the measures that the aggregates ask for."""

from __future__ import annotations

from dataclasses import dataclass

from obverse.catalog.model import Catalog
from obverse.core.bounds import Unbounded
from obverse.core.errors import Refused
from obverse.core.ledger import Partitions
from obverse.core.sensitivity import Stability
from obverse.core.units import PrivacyUnit
from obverse.plan.aggregates import BY_NAME
from obverse.plan.aggregates.base import Setting
from obverse.plan.expressions import Ref, key_named
from obverse.plan.facts import Facts
from obverse.plan.measures import Measure
from obverse.plan.nodes import Aggregate, Limit, Project, Reduce, Relation, Shape, Trim, only_scan, scans
from obverse.plan.partitions import read_of
from obverse.plan.query import AggregateCall, Question
from obverse.plan.stability.derive import facts_of, unit_key


@dataclass(frozen=True, slots=True)
class LimitedPlan:
    """The plan with its limit, not yet annotated: which measures serve which aggregate."""

    question: Question
    root: Aggregate
    setting: Setting
    facts: Facts
    serves: tuple[tuple[int, ...], ...]  # for each aggregate, the places of its measures
    unit: PrivacyUnit | None  # whose contribution is limited
    partitions: Partitions | None  # of growing data that are read; None: all that there are


def limit(question: Question, catalog: Catalog) -> LimitedPlan:
    """The plan with one unit's contribution limited, as the tables' declarations say."""
    facts = facts_of(question.relation, catalog)
    stability = facts.stability
    assert isinstance(stability, Stability)
    shape, rows = shape_of(stability, question, bool(question.keys))
    groups = 1 if shape in (Shape.ROW, Shape.ONE) else min(rows, stability.groups or rows, question.groups or rows)
    bound = Limit(question.relation, shape, rows, groups)
    empty = Aggregate(Project(bound, question.keys, (), question.sets))
    _check_discovered(empty, shape, rows)
    scan = only_scan(question.relation)
    size = None if scan is None else catalog.tables[scan.table].size
    sure = stability.always_present and not question.keys
    setting = Setting(
        shape, rows, empty.cells, catalog.neighbours, sure, size, groups, len(empty.public.sets), bool(empty.discovered),
        apart(question, catalog), shape is not Shape.ROW or rows > 1 or stability.cap == 1,
    )  # fmt: skip
    measures: list[Measure] = []
    serves = tuple(_places(call, setting, measures) for call in question.aggregates)
    root = Aggregate(Project(bound, question.keys, tuple(measures), question.sets))
    return LimitedPlan(question, root, setting, facts, serves, catalog.unit, read_of(question.relation, catalog))


def shape_of(stability: Stability, question: Question, grouped: bool) -> tuple[Shape, int]:
    """How units are bounded, and the cap on their rows."""
    if not isinstance(stability.rows, Unbounded):
        return Shape.ROW, stability.rows
    if stability.cap is None:
        raise not_learned(question.relation)
    if stability.cap == 1 and stability.single:
        return Shape.ONE, 1
    return (Shape.WEIGHTED if grouped else Shape.TOTAL), stability.cap


def apart(question: Question, catalog: Catalog) -> bool:
    """Whether no two rows of a unit are in one cell.

    Claim:   where this is true, each cell holds at most one row of a unit.
    Proof:   the rows are a unit's own groups, some of them, so that two of them differ in a key by which they were grouped
             (the unit's own key is the same in all). Every such key is a key of the question, as it is, and two cells are
             never the same for different values; there are no subtotals, in which cells would be added up.
    Assumes: nothing.
    """
    relation = question.relation
    if not isinstance(relation, Trim) or not isinstance(relation.child, Reduce) or question.sets:
        return False
    told = {key.expr.name for key in question.keys if isinstance(key.expr, Ref)}
    return all(name in told for name, expr in relation.child.keys if key_named(expr) != unit_key(catalog))


def not_learned(relation: Relation) -> Refused:
    tables = ", ".join(dict.fromkeys(scan.table for scan in scans(relation)))
    return Refused(
        "limits_not_learned",
        f"the limits of {tables} are 'auto' and have not been learned.",
        why="how many rows a unit may have is itself private, so learning it costs budget and is the curator's act.",
        fix="the curator runs `obverse limits learn TABLE --epsilon E` once, or declares limits = { rows = ... }.",
    )


def _check_discovered(root: Aggregate, shape: Shape, rows: int) -> None:
    if root.discovered and shape is Shape.ROW and rows > 1:
        raise Refused(
            "keys_not_public",
            f"the values of {root.discovered[0].name} are not public, and rows that are units were multiplied.",
            why="a row's copies have no key by which its groups could be limited.",
            fix="declare `values` for the column in obverse.toml, or ask the table itself.",
        )


def _places(call: AggregateCall, setting: Setting, measures: list[Measure]) -> tuple[int, ...]:
    """Where the aggregate's measures stand; equal measures are shared."""
    try:
        wanted = BY_NAME[call.function].measures(call, setting)
    except Refused as refused:
        refused.message = f"{call.spoken}: {refused.message}"
        refused.span = refused.span or call.span
        raise
    places = []
    for measure in wanted:
        if measure not in measures:
            measures.append(measure)
        places.append(measures.index(measure))
    return tuple(places)
