"""The single bottom-up walk: every measure gets its sensitivity, the question its joint norm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from obverse.core.sensitivity import Sensitivity
from obverse.plan.aggregates import EXPLAINED
from obverse.plan.limit import LimitedPlan
from obverse.plan.measure import Measure, unit_range
from obverse.plan.nodes import Shape
from obverse.plan.rules.aggregate import cells_of_one_row, one_cell, weighted_cells
from obverse.plan.rules.stack import Joint, independent, one_row


@dataclass(frozen=True, slots=True)
class AnnotatedPlan:
    """A plan whose measures carry proven sensitivities."""

    limited: LimitedPlan
    measures: tuple[Measure, ...]
    joint: Joint
    explained: tuple[tuple[str, Fraction], ...]  # aggregates of which only the global sensitivity is known here


def annotate(limited: LimitedPlan) -> AnnotatedPlan:
    """Sensitivities of all measures, alone and together."""
    measures = tuple(replace(m, sensitivity=sensitivity(m, limited)) for m in limited.root.child.measures)
    setting = limited.setting
    if not measures:
        joint = Joint(Fraction(1), Fraction(1))
    elif setting.shape in (Shape.ROW, Shape.ONE) and setting.rows == 1:
        joint = one_row(measures, setting.cells, setting.neighbours, limited.facts.columns)
    else:
        joint = independent(measures)
    explained = []
    for call in limited.question.aggregates:
        if call.function in EXPLAINED:
            assert call.argument is not None
            explained.append((call.spoken, EXPLAINED[call.function].sensitivity(call.argument, setting)))
    root = replace(limited.root, child=replace(limited.root.child, measures=measures))
    return AnnotatedPlan(replace(limited, root=root), measures, joint, tuple(explained))


def sensitivity(measure: Measure, limited: LimitedPlan) -> Sensitivity:
    """One measure's sensitivity, in released integers, by the shape of its relation."""
    setting, term = limited.setting, measure.term
    scale = 1 << measure.bits
    match setting.shape:
        case Shape.ROW if setting.rows > 1:
            if setting.cells > 1:
                return weighted_cells(measure.cap, setting.cells, setting.neighbours, signed=term.lo < 0 < term.hi)
            low, high = min(0, setting.rows * term.lo), max(0, setting.rows * term.hi)
            return one_cell(low, high, setting.neighbours, always_present=False)
        case Shape.ROW | Shape.ONE:
            if setting.cells > 1:
                return cells_of_one_row(term.lo, term.hi, setting.cells, setting.neighbours)
            sure = setting.always_present and (term.expr is None or not term.expr.facts.nullable)
            return one_cell(term.lo, term.hi, setting.neighbours, always_present=sure)
        case Shape.TOTAL:
            if measure.paired:
                low, high = min(0, setting.rows * term.lo), max(0, setting.rows * term.hi)
            elif term.kind == "count":
                low, high = 0, measure.cap
            else:
                low, high = unit_range(measure, setting.rows)
            return one_cell(low * scale, high * scale, setting.neighbours, always_present=False)
        case Shape.WEIGHTED:
            return weighted_cells(measure.cap * scale, setting.cells, setting.neighbours, signed=term.lo < 0 < term.hi)
