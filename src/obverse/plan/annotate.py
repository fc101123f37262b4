"""The single bottom-up walk: every measure gets its sensitivity, the question its joint norm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from obverse.core.sensitivity import Sensitivity
from obverse.plan.aggregates import GLOBAL
from obverse.plan.limit import LimitedPlan
from obverse.plan.measures import Measure, unit_range
from obverse.plan.nodes import Shape
from obverse.plan.stability.aggregate import cells_of_one_row, one_cell, rows_apart, weighted_cells
from obverse.plan.stability.joint import Joint, independent, one_row

MANY_CELLS = 1 << 40  # where nobody knows how many there are


@dataclass(frozen=True, slots=True)
class AnnotatedPlan:
    """A plan whose measures carry proven sensitivities."""

    limited: LimitedPlan
    measures: tuple[Measure, ...]
    joint: Joint
    explained: tuple[tuple[str, Fraction], ...]  # global sensitivities of aggregates that another mechanism answers


def annotate(limited: LimitedPlan) -> AnnotatedPlan:
    """Sensitivities of all measures, alone and together."""
    measures = tuple(replace(m, sensitivity=sensitivity(m, limited)) for m in limited.root.child.measures)
    root = replace(limited.root, child=replace(limited.root.child, measures=measures))
    return AnnotatedPlan(replace(limited, root=root), measures, joint(measures, limited), explained(limited))


def joint(measures: tuple[Measure, ...], limited: LimitedPlan) -> Joint:
    """Sums together by their joint norm; each tree and each choice counts by itself."""
    setting = limited.setting
    sums = tuple(m for m in measures if m.noised)
    if not sums:
        return Joint(Fraction(0), Fraction(0))
    single = setting.shape in (Shape.ROW, Shape.ONE) and setting.rows == 1
    if single and setting.sets == 1 and all(m.summed for m in sums):
        return one_row(sums, MANY_CELLS if setting.discovered else setting.cells, setting.neighbours, limited.facts.columns)
    return independent(sums)


def explained(limited: LimitedPlan) -> tuple[tuple[str, Fraction], ...]:
    """Global sensitivities of order statistics: why another mechanism answers them."""
    found = []
    for call in limited.question.aggregates:
        argument = call.argument
        if call.function in GLOBAL and argument is not None and argument.facts.type.numeric:
            found.append((call.spoken, GLOBAL[call.function].sensitivity(argument, limited.setting)))
    return tuple(found)


def sensitivity(measure: Measure, limited: LimitedPlan) -> Sensitivity:
    """One measure's sensitivity, in released integers, over all grouping sets and levels of its tree."""
    height = measure.term.leaves.height if measure.term.leaves is not None and measure.term.kind == "tree" else 1
    return in_one_set(measure, limited).stacked(limited.setting.sets * height)


def in_one_set(measure: Measure, limited: LimitedPlan) -> Sensitivity:
    """By the shape of the relation: within one grouping set, and one level of a tree."""
    setting, term = limited.setting, measure.term
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
            low, high = min(0, setting.rows * term.lo), max(0, setting.rows * term.hi)
            return one_cell(low, high, setting.neighbours, always_present=False)
        case Shape.ROW | Shape.ONE:
            if cells > 1:
                return cells_of_one_row(term.lo, term.hi, cells, setting.neighbours)
            sure = setting.always_present and measure.summed and all(
                not e.facts.nullable for e in (term.expr, term.other) if e is not None
            )
            return one_cell(term.lo, term.hi, setting.neighbours, always_present=sure)
        case Shape.TOTAL:
            if measure.paired:
                low, high = min(0, setting.rows * term.lo), max(0, setting.rows * term.hi)
            elif term.kind == "count":
                low, high = 0, measure.cap
            else:
                low, high = unit_range(measure, setting.rows)
            return one_cell(low * scale, high * scale, setting.neighbours, always_present=False)
        case Shape.WEIGHTED if setting.apart:
            return rows_apart(setting.rows, term.lo * scale, term.hi * scale, cells, setting.neighbours)
        case Shape.WEIGHTED:
            return weighted_cells(measure.cap * scale, cells, setting.neighbours, signed=term.lo < 0 < term.hi)
