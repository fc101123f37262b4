"""Insert the per-unit limit that the table declares, and the measures that the aggregates ask for.

The single bottom-up walk: every measure gets its sensitivity, the question its joint norm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from obverse.catalog.model import Catalog
from obverse.core.bounds import Unbounded
from obverse.core.errors import Refused
from obverse.core.ledger import Partitions
from obverse.core.sensitivity import Sensitivity, Stability
from obverse.core.units import PrivacyUnit
from obverse.plan.aggregates import BY_NAME, GLOBAL
from obverse.plan.aggregates.base import Setting
from obverse.plan.expressions import Ref, key_named
from obverse.plan.measures import Measure, unit_range
from obverse.plan.partitions import read_of
from obverse.plan.query import AggregateCall, Question
from obverse.plan.relation import Aggregate, Facts, Limit, Project, Reduce, Relation, Shape, Trim, only_scan, scans
from obverse.plan.stability.aggregate import cells_of_one_row, one_cell, rows_apart, weighted_cells
from obverse.plan.stability.derive import facts_of, unit_key
from obverse.plan.stability.joint import Joint, independent, one_row


@dataclass(frozen=True, slots=True)
class BoundedPlan:
    """A query with its contribution bounds, and which measures serve which aggregate; sensitivities come next."""

    question: Question
    root: Aggregate
    setting: Setting
    facts: Facts
    serves: tuple[tuple[int, ...], ...]  # for each aggregate, the places of its measures
    unit: PrivacyUnit | None  # whose contribution is limited
    partitions: Partitions | None  # of growing data that are read; None: all that there are


def limit(question: Question, catalog: Catalog) -> BoundedPlan:
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
        shape=shape,
        rows=rows,
        cells=empty.cells,
        neighbours=catalog.neighbours,
        always_present=sure,
        size=size,
        groups=groups,
        sets=len(empty.public.sets),
        discovered=bool(empty.discovered),
        apart=apart(question, catalog),
        alone=shape is not Shape.ROW or rows > 1 or stability.cap == 1,
    )
    measures: list[Measure] = []
    serves = tuple(_places(call, setting, measures) for call in question.aggregates)
    root = Aggregate(Project(bound, question.keys, tuple(measures), question.sets))
    return BoundedPlan(question, root, setting, facts, serves, catalog.unit, read_of(question.relation, catalog))


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
    Proof:   the rows are a unit's own groups, some of them, so that two of them differ in a key by which they were
             grouped (the unit's own key is the same in all). Every such key is a key of the question, as it is, and two
             cells are never the same for different values; there are no subtotals, in which cells would be added up.
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


MANY_CELLS = 1 << 40  # where nobody knows how many there are


@dataclass(frozen=True, slots=True)
class MeasuredPlan(BoundedPlan):
    """A bounded query whose measures carry proven sensitivities."""

    joint: Joint
    explained: tuple[tuple[str, Fraction], ...]  # global sensitivities of aggregates that another mechanism answers

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.root.child.measures


def annotate(limited: BoundedPlan) -> MeasuredPlan:
    """Sensitivities of all measures, alone and together."""
    measures = tuple(replace(m, sensitivity=sensitivity(m, limited)) for m in limited.root.child.measures)
    root = replace(limited.root, child=replace(limited.root.child, measures=measures))
    return MeasuredPlan(
        question=limited.question,
        root=root,
        setting=limited.setting,
        facts=limited.facts,
        serves=limited.serves,
        unit=limited.unit,
        partitions=limited.partitions,
        joint=joint(measures, limited),
        explained=explained(limited),
    )


def joint(measures: tuple[Measure, ...], limited: BoundedPlan) -> Joint:
    """Sums together by their joint norm; each tree and each choice counts by itself."""
    setting = limited.setting
    sums = tuple(m for m in measures if m.noised)
    if not sums:
        return Joint(Fraction(0), Fraction(0))
    single = setting.shape in (Shape.ROW, Shape.ONE) and setting.rows == 1
    if single and setting.sets == 1 and all(m.summed for m in sums):
        return one_row(
            sums, MANY_CELLS if setting.discovered else setting.cells, setting.neighbours, limited.facts.columns
        )
    return independent(sums)


def explained(limited: BoundedPlan) -> tuple[tuple[str, Fraction], ...]:
    """Global sensitivities of order statistics: why another mechanism answers them."""
    found = []
    for call in limited.question.aggregates:
        argument = call.argument
        if call.function in GLOBAL and argument is not None and argument.facts.type.numeric:
            found.append((call.spoken, GLOBAL[call.function].sensitivity(argument, limited.setting)))
    return tuple(found)


def sensitivity(measure: Measure, limited: BoundedPlan) -> Sensitivity:
    """One measure's sensitivity, in released integers, over all grouping sets and levels of its tree."""
    height = measure.term.leaves.height if measure.term.leaves is not None and measure.term.kind == "tree" else 1
    return in_one_set(measure, limited).stacked(limited.setting.sets * height)


def in_one_set(measure: Measure, limited: BoundedPlan) -> Sensitivity:
    """By the shape of the relation: within one grouping set, and one level of a tree."""
    setting = limited.setting
    term = measure.term
    scale = 1 << measure.bits
    cells = setting.cells
    if setting.discovered or term.leaves is not None:
        cells = MANY_CELLS
    if not measure.summed and setting.shape not in (Shape.ROW, Shape.ONE):
        if cells == 1:
            return one_cell(0, measure.cap * scale, setting.neighbours, always_present=False)
        return weighted_cells(measure.cap * scale, cells, setting.neighbours, signed=False)
    match setting.shape:
        case Shape.ROW if setting.rows > 1:
            if cells > 1:
                return weighted_cells(measure.cap, cells, setting.neighbours, signed=term.lo < 0 < term.hi)
            low = min(0, setting.rows * term.lo)
            high = max(0, setting.rows * term.hi)
            return one_cell(low, high, setting.neighbours, always_present=False)
        case Shape.ROW | Shape.ONE:
            if cells > 1:
                return cells_of_one_row(term.lo, term.hi, cells, setting.neighbours)
            sure = (
                setting.always_present
                and measure.summed
                and all(not e.facts.nullable for e in (term.expr, term.other) if e is not None)
            )
            return one_cell(term.lo, term.hi, setting.neighbours, always_present=sure)
        case Shape.TOTAL:
            if measure.paired:
                low = min(0, setting.rows * term.lo)
                high = max(0, setting.rows * term.hi)
            elif term.kind == "count":
                low = 0
                high = measure.cap
            else:
                low, high = unit_range(measure, setting.rows)
            return one_cell(low * scale, high * scale, setting.neighbours, always_present=False)
        case Shape.WEIGHTED if setting.apart:
            return rows_apart(
                rows=setting.rows, a=term.lo * scale, b=term.hi * scale, cells=cells, neighbours=setting.neighbours
            )
        case Shape.WEIGHTED:
            return weighted_cells(measure.cap * scale, cells, setting.neighbours, signed=term.lo < 0 < term.hi)
