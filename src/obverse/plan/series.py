"""The first of many counts that pass a threshold: a question priced by how many are named, not by how many there are."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from obverse.catalog.model import Accounting
from obverse.core.errors import Refused
from obverse.core.loss import PureLoss
from obverse.core.numbers import plain
from obverse.core.units import Neighbours
from obverse.mechanisms.sparse_vector import EXACT_MAX, SparseVector
from obverse.plan.allocate import CostedPlan
from obverse.plan.annotate import AnnotatedPlan
from obverse.plan.expressions import Ref, refs

FIRST_MAX = 1000


def series(
    annotated: AnnotatedPlan, epsilon: Fraction, accounting: Accounting, above: Fraction, first: int, level: float
) -> CostedPlan:
    """The plan that names the first counts at or above the threshold.

    Claim:   pure DP with epsilon, however long the list is.
    Proof:   SparseVector, over the cells' counts in their public order; each moves by at most the measure's linf, all in
             one direction when neighbours add or remove a unit.
    Assumes: one count, over public keys.
    """
    check_series(annotated, first)
    (measure,) = annotated.measures
    setting = annotated.limited.setting
    if abs(above / measure.unit) > EXACT_MAX:
        raise Refused("bad_parameter", "--above is beyond every count.", fix="Write --above 100.")
    mechanism = SparseVector(
        math.ceil(measure.proven.linf),
        epsilon,
        math.ceil(above / measure.unit),
        first,
        monotone=setting.neighbours is Neighbours.ADD_REMOVE,
    )
    reach = mechanism.shortfall(setting.cells, level) * float(measure.unit)
    words = (
        f"with {100 * level:g} % every count that is named is at least {plain(above)} less {reach:.4g}, "
        f"and every one skipped before it at most {plain(above)} plus {reach:.4g}"
    )
    costed = CostedPlan(annotated, (), PureLoss(epsilon), epsilon, Fraction(0), accounting, level, bias=words)
    return replace(costed, series=mechanism)


def check_series(annotated: AnnotatedPlan, first: int) -> None:
    """One count over public keys, and outputs that show keys alone beside it."""
    question = annotated.limited.question
    counts = [call.function for call in question.aggregates]
    keyed = question.keys and not annotated.limited.setting.discovered and not question.sets
    plain_outputs = all(isinstance(o.expr, Ref) or not any(r.name == "agg0" for r in refs(o.expr)) for o in question.outputs)
    touched = question.having is not None or question.order or question.limit is not None or question.offset
    if counts != ["count"] or not keyed or not plain_outputs or touched:
        raise Refused(
            "bad_parameter",
            "--above goes through one COUNT by public keys, in their own order.",
            why="the price depends on the number of names only where each count is compared once, in a public order.",
            fix="SELECT key, COUNT(*) FROM table GROUP BY key, without HAVING, ORDER BY and LIMIT.",
        )
    if isinstance(first, bool) or not isinstance(first, int) or not 1 <= first <= FIRST_MAX:
        raise Refused("bad_parameter", f"--first takes a whole number from 1 to {FIRST_MAX}.", fix="Write --first 1.")
