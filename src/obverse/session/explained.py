"""Explained: what a question would cost and how wrong its answer would be, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from obverse.answers.answer import Price, Remaining
from obverse.catalog.model import Catalog
from obverse.core.ledger import Partitions
from obverse.core.loss import Loss
from obverse.core.numbers import up
from obverse.plan.explain import joint_l1, measures_json, plan_text
from obverse.plan.learned import Learned
from obverse.plan.query import PublicQuestion, Question
from obverse.plan.shown_relation import relation_text
from obverse.session.claims import base_said
from obverse.session.planning import SEARCHED, Wish, plan

Priced = Callable[[Loss, Fraction, Fraction, Partitions | None], tuple[Price, Remaining]]


@dataclass(frozen=True, slots=True)
class Explained:
    """Measures with their sensitivities and noise, the joint norm, and the price."""

    measures: tuple[dict[str, Any], ...]
    joint_l1: float | None
    level: float
    price: Price
    remaining: Remaining | None
    plan: str
    engine_sql: str
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "measures": list(self.measures),
            "joint_l1": self.joint_l1,
            "level": self.level,
            "price": self.price._asdict(),
            "remaining": None if self.remaining is None else self.remaining._asdict(),
            "plan": self.plan,
            "note": self.note,
        }


def explain_public(question: PublicQuestion | Question) -> Explained:
    free = Price("0", "0", 0.0, False)
    plan = relation_text(question.relation)
    if isinstance(question, Question):
        note = "declared values, listed whether or not a row has them: no private row is read, and nothing is spent"
        return Explained((), None, 1.0, free, None, f"{plan} (declarations alone)", "", note)
    return Explained((), None, 1.0, free, None, f"{plan} (public)", "", "only public tables are read: exact and free")


def explain_question(
    text: str, question: Question, catalog: Catalog, wish: Wish, priced: Priced, learned: Mapping[str, Learned] | None = None
) -> Explained:
    """Explain a private question: what it would cost, and how wrong it would be."""
    planned = plan(text, question, catalog, wish, learned=learned)
    costed = planned.costed
    price, remaining = priced(planned.loss, costed.epsilon, costed.delta, planned.partitions)
    measures = tuple(measures_json(costed))
    joint = up(joint_l1(costed.annotated))
    said = (searching_words(measures) if planned.first else "", base_said(catalog))
    note = "; ".join(part for part in said if part)
    return Explained(measures, joint, costed.level, price, remaining, plan_text(costed.annotated), planned.sql, note)


def searching_words(measures: tuple[dict[str, Any], ...]) -> str:
    """What the error will be, once bounds are found: what is told of the widest holds for others in proportion."""
    widths = [m["half_width"] / m["linf"] for m in measures if m["half_width"] is not None and m["linf"]]
    grows = f", and noise reaches about {max(widths):.2g} times as far as one unit then moves a measure" if widths else ""
    return (
        f"contribution bounds are left out: they are found first, with {SEARCHED} of the price{grows}; "
        "what is told above is for the widest bounds"
    )
