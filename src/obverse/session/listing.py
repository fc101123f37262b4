"""SELECT DISTINCT over declared values: every combination of them, from the catalog alone; nothing is read, nothing spent.

What depends on rows (WHERE, joins, subqueries that do more than rename) is refused when the question is resolved.
"""

from __future__ import annotations

from fractions import Fraction

from obverse.answers.answer import Answer, Price, Remaining
from obverse.catalog.model import Catalog
from obverse.core.claim import DECLARED
from obverse.core.loss import NO_LOSS
from obverse.plan.allocate import CostedPlan
from obverse.plan.annotate import annotate
from obverse.plan.limit import limit
from obverse.plan.query import Question
from obverse.plan.release.finish import finish
from obverse.plan.release.randomize import Released


def listed_keys(question: Question, catalog: Catalog, remaining: Remaining) -> Answer:
    """The declared values, whether or not a row has them: which do is private."""
    annotated = annotate(limit(question, catalog))
    nothing = CostedPlan(annotated, (), NO_LOSS, Fraction(0), Fraction(0), catalog.accounting)
    found = finish(Released(annotated.limited.root.cells, {}, {}), nothing)
    free = Price("0", "0", 0.0, False)
    return Answer(found.columns, found.rows, found.intervals, 1.0, DECLARED, free, remaining, "declared values")
