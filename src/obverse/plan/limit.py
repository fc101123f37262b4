"""Insert the per-unit limit that the table declares, and the measures that the aggregates ask for."""

from __future__ import annotations

from dataclasses import dataclass

from obverse.catalog.model import AUTO, Catalog, Limits, Table
from obverse.core.errors import Refused
from obverse.core.sensitivity import Stability
from obverse.plan.aggregates import BY_NAME, EXPLAINED
from obverse.plan.aggregates.base import Setting
from obverse.plan.facts import Facts
from obverse.plan.measure import Measure
from obverse.plan.nodes import Aggregate, Filter, Limit, Project, Relation, Shape, scan_of
from obverse.plan.question import AggregateCall, Question
from obverse.plan.rules.filter import keep
from obverse.plan.rules.scan import scan


@dataclass(frozen=True, slots=True)
class LimitedPlan:
    """The plan with its limit, not yet annotated: which measures serve which aggregate."""

    question: Question
    root: Aggregate
    setting: Setting
    facts: Facts
    serves: tuple[tuple[int, ...], ...]  # for each aggregate, the places of its measures


def relation_facts(relation: Relation, catalog: Catalog) -> Facts:
    """Facts of a relation, bottom up."""
    if isinstance(relation, Filter):
        return keep(relation_facts(relation.child, catalog), relation.predicate)
    return scan(catalog.tables[relation.table], catalog.neighbours, relation.columns)


def limit(question: Question, catalog: Catalog) -> LimitedPlan:
    """The plan with one unit's contribution limited, as the table's declaration says."""
    table = catalog.tables[scan_of(question.relation).table]
    facts = relation_facts(question.relation, catalog)
    shape, rows = shape_of(table, bool(question.keys))
    bound = Limit(question.relation, shape, rows)
    cells = Aggregate(Project(bound, question.keys, ())).cells
    stability = facts.stability
    assert isinstance(stability, Stability)
    sums = dict(table.limits.sums) if isinstance(table.limits, Limits) else {}
    setting = Setting(shape, rows, cells, catalog.neighbours, stability.always_present and not question.keys, table.size, sums)
    measures: list[Measure] = []
    serves = tuple(_places(call, setting, measures) for call in question.aggregates)
    root = Aggregate(Project(bound, question.keys, tuple(measures)))
    return LimitedPlan(question, root, setting, facts, serves)


def shape_of(table: Table, grouped: bool) -> tuple[Shape, int]:
    """How the table's units are bounded, and the cap on their rows."""
    if table.row_is_unit:
        return Shape.ROW, 1
    if table.limits is None:
        return Shape.ONE, 1
    if table.limits == AUTO:
        raise Refused(
            "limits_not_learned",
            f"the limits of {table.name} are 'auto' and have not been learned.",
            why="how many rows a unit may have is itself private, so learning it costs budget and is the curator's act.",
            fix=f"declare limits = {{ rows = ..., groups = ... }} for {table.name} in obverse.toml.",
        )
    assert isinstance(table.limits, Limits)
    return (Shape.WEIGHTED if grouped else Shape.TOTAL), table.limits.rows


def _places(call: AggregateCall, setting: Setting, measures: list[Measure]) -> tuple[int, ...]:
    """Where the aggregate's measures stand; equal measures are shared."""
    if call.function in EXPLAINED:
        return ()
    try:
        wanted = BY_NAME[call.function].measures(call.argument, setting)
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
