"""Any costed plan as stable text and as data: what is quoted is what is charged."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from obverse.core.numbers import plain, up
from obverse.mechanisms.base import Additive
from obverse.plan.expressions import canonical
from obverse.plan.measures import Measure
from obverse.plan.pricing import Noise, Plan, SparseVectorRun, Thresholded
from obverse.plan.relation import Shape, relation_text
from obverse.plan.sensitivity import MeasuredPlan

SHAPES = {
    Shape.ROW: "each row is its own unit",
    Shape.ONE: "one row per unit",
    Shape.TOTAL: "each unit's total is clamped",
    Shape.WEIGHTED: "each unit's rows are weighted down to the cap",
}


def measure_name(measure: Measure) -> str:
    argument = "*" if measure.term.expr is None else canonical(measure.term.expr)
    grid = measure.term.grid
    about = f" about {plain(grid.centre * grid.step)}" if grid is not None and grid.centre else ""
    return f"{measure.name}({argument}{about})"


def measures_json(costed: Plan) -> list[dict[str, Any]]:
    """Every measure in real units: norms of its own, and the noise that it gets."""
    found = [
        _norms(measure) | {"mechanism": mechanism.name} | _figures(measure, mechanism, costed.level)
        for measure, mechanism in zip(costed.measures, costed.mechanisms)
    ]
    match costed.noise:
        case SparseVectorRun(mechanism):
            noise = mechanism.noises[1]
            figures = {"stddev": noise.stddev() * float(costed.measures[0].unit), "half_width": None}
            found = [_norms(costed.measures[0]) | {"mechanism": mechanism.name} | figures]
        case Thresholded(_, threshold):
            reach = threshold.reach
            norms = {"name": "keys (units per key)", "l0": reach, "l1": reach, "l2": reach, "linf": reach}
            found.append(norms | {"mechanism": threshold.name, "stddev": None, "half_width": None})
    return found + _explained(costed)


def _figures(measure: Measure, mechanism: Noise, level: float) -> dict[str, Any]:
    """The noise of one released number; of a choice there is none."""
    if not isinstance(mechanism, Additive):
        return {"stddev": None, "half_width": None}
    unit = float(measure.unit)
    return {"stddev": mechanism.stddev() * unit, "half_width": float(mechanism.interval(level)) * unit}


def _explained(annotated: MeasuredPlan) -> list[dict[str, Any]]:
    """Global sensitivities of what another mechanism answers."""
    rows = []
    for spoken, reach in annotated.explained:
        size = up(reach)
        rows.append({"name": spoken, "l0": 1, "l1": size, "l2": size, "linf": size} | _nothing())
    return rows


def _nothing() -> dict[str, Any]:
    return {"mechanism": None, "stddev": None, "half_width": None}


def _norms(measure: Measure) -> dict[str, Any]:
    s = measure.proven.scaled(measure.unit)
    return {"name": measure_name(measure), "l0": s.l0, "l1": up(s.l1), "l2": up(s.l2), "linf": up(s.linf)}


def joint_l1(annotated: MeasuredPlan) -> Fraction:
    """The joint L1 sensitivity where all measures are worth the same (counts); in multiples of each one's own
    otherwise.
    """
    sizes = {m.proven.linf * m.unit for m in annotated.measures}
    return annotated.joint.l1 * (sizes.pop() if len(sizes) == 1 else 1)


def plan_text(annotated: MeasuredPlan) -> str:
    """The plan for people: relation, limit, keys, measures."""
    limited = annotated
    lines = relation_text(limited.question.relation).split("\n")
    lines.append(f"limit {limited.setting.rows} per unit: {SHAPES[limited.setting.shape]}")
    for key in limited.question.keys:
        keys = "keys discovered above a threshold" if key.domain is None else f"{key.cells} public keys"
        lines.append(f"group by {canonical(key.expr)}: {keys}")
    for measure in annotated.measures:
        bounds = ""
        if measure.term.grid is not None:
            grid = measure.term.grid
            bounds = (
                f", in [{plain(grid.first * grid.step)}, {plain(grid.last * grid.step)}] on a grid of "
                f"{plain(grid.step)}"
            )
        lines.append(f"measure {measure_name(measure)}{bounds}")
    return "\n".join(lines)
