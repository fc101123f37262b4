"""SQL to a costed plan: the pure half of every verb. What explain quotes is what ask charges.

Explained: what a question would cost and how wrong its answer would be, before anything is spent.

Bounds out of what was released of units' own values: post-processing, like any reading of an answer.

A release of a network, as the door takes it.

Prepared: a question that was read, priced and printed, before anything is charged or touched.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from obverse.accounting.calibrate import least_epsilon
from obverse.answers.answer import ColumnInfo, Price, Remaining
from obverse.catalog import parameters
from obverse.catalog.model import Catalog
from obverse.core.canonical import Json
from obverse.core.errors import Refused, invariant
from obverse.core.ledger import Partitions
from obverse.core.loss import Composed, Loss
from obverse.core.numbers import exact, up
from obverse.mechanisms.base import Additive
from obverse.plan.earlier_identity import former_lines, former_network_lines
from obverse.plan.emit.emit import emit
from obverse.plan.emit.overlay import NOTHING, Overlay
from obverse.plan.explain import joint_l1, measures_json, plan_text
from obverse.plan.expressions import AggregateRef, GroupingRef, KeyRef, aggregates_in
from obverse.plan.identity import measurement, network_measurement, presentation
from obverse.plan.partitions import check_parts, together, touched
from obverse.plan.pricing import LEVEL, Plan, SparseVectorRun, allocate, series
from obverse.plan.private_bounds import Learned, chosen
from obverse.plan.query import PublicQuestion, Question
from obverse.plan.relation import Aggregate, relation_text
from obverse.plan.sensitivity import MeasuredPlan, annotate, limit
from obverse.plan.strategy.graph.pricing import GraphPlan
from obverse.plan.verify import verify_price
from obverse.session.claims import base_said
from obverse.session.execution import Earlier
from obverse.session.learned_limits import bias_words, noise_per_cap, with_chosen
from obverse.sql.google.query import Found
from obverse.sql.resolve import resolve

Number = int | float | Fraction
SEARCHED = Fraction(1, 4)  # of the price, for bounds that are to be found
CONFIDENCE = 0.01, 1 - 1e-9  # between them every interval can be computed


@dataclass(frozen=True, slots=True)
class Wish:
    """What the asker wants to pay, or how wrong the answer may be."""

    epsilon: Number | None = None
    delta: Number | None = None
    within: Number | None = None
    confidence: float = LEVEL
    above: Number | None = None  # name the first counts that pass this, instead of telling all
    first: int = 1


@dataclass(frozen=True, slots=True)
class Planned:
    """A private question, costed and printed; `first` are those that find its bounds.

    `sql` is for people to see and for what is made up; what reads private rows is `emitted` under the overlay of the
    moment.
    """

    text: str
    question: Question
    costed: Plan
    sql: str
    emitted: Callable[[Overlay], str]
    touched: Partitions | None = None  # of growing data
    first: tuple[Planned, ...] = ()
    narrowed: Callable[[Found], Planned] | None = None  # itself, once they are found

    @property
    def partitions(self) -> Partitions | None:
        """The partitions that it and those before it touch."""
        return together([self.touched, *(one.touched for one in self.first)])

    @property
    def now(self) -> str | None:
        return self.question.now

    @property
    def measurement(self) -> Json:
        """What is measured, but for the data and what is declared."""
        return measurement(self.costed)

    @property
    def presentation(self) -> Json:
        """What is made of the measurements."""
        return presentation(self.costed)

    @property
    def former_lines(self) -> list[str]:
        """Its identity as earlier versions had it."""
        return former_lines(self.costed)

    @property
    def losses(self) -> tuple[Loss, ...]:
        return (*(one.costed.loss for one in self.first), self.costed.loss)

    @property
    def loss(self) -> Loss:
        return Composed(self.losses) if self.first else self.costed.loss


def read(text: str, catalog: Catalog, now: dt.datetime, found: Found | None = None) -> Question | PublicQuestion:
    return resolve(text, catalog, now, found)


def annotated(question: Question, catalog: Catalog) -> MeasuredPlan:
    return annotate(limit(question, catalog))


def plan(
    text: str,
    question: Question,
    catalog: Catalog,
    wish: Wish,
    key: str = "",
    learned: Mapping[str, Learned] | None = None,
) -> Planned:
    """Price the question as wished and print its engine text. Touches no data. `key`: of the hash that chooses rows."""
    try:
        bias = ""
        if learned:
            draft = price(annotated(question, catalog), catalog, replace(wish, within=None))
            catalog = with_chosen(question, catalog, learned, draft)
            question = _again(text, question, catalog)
            bias = bias_words(question, catalog, learned)
        if question.searches:
            return _searching(text, question, catalog, wish, key, bias)
        return _planned(text, question, catalog, wish, key, bias)
    except Refused as refused:
        refused.located(text)
        raise


def _planned(
    text: str, question: Question, catalog: Catalog, wish: Wish, key: str, bias: str, part: Fraction = Fraction(1)
) -> Planned:
    known = annotated(question, catalog)
    costed = price(known, catalog, wish, part)
    costed = replace(costed, bias="; ".join(said for said in (costed.bias, bias) if said))
    return finalize(text, question, catalog, costed, key)


def finalize(text: str, question: Question, catalog: Catalog, costed: Plan, key: str) -> Planned:
    """A costed plan as what may be charged and run: its partitions are checked, and its engine text is printed.

    The price is verified once, by `execution.ask` right before the debit, and again in the sandboxed process.
    """
    check_parts(question, catalog)
    emitted = printed(costed.root, catalog, key)
    return Planned(text, question, costed, emitted(NOTHING), emitted, touched(question.relation, catalog))


def printed(root: Aggregate, catalog: Catalog, key: str) -> Callable[[Overlay], str]:
    """The engine's text of a plan, under any overlay."""

    @functools.cache
    def emitted(overlay: Overlay) -> str:
        return emit(root, catalog, catalog.engine.get("kind", "duckdb"), key, overlay)

    return emitted


def _searching(text: str, question: Question, catalog: Catalog, wish: Wish, key: str, bias: str) -> Planned:
    """The question with the widest bounds, and those that find narrower ones for it.

    Claim:   all of them together cost what is wished.
    Proof:   adaptive composition. The searches have parts of the price that add up to SEARCHED, the question has the
             rest, whatever bounds are found: epsilon, or rho, is split by these parts. Where keys are discovered under
             zcdp, half of delta hides them, and all rho is what epsilon allows at the other half.
    Assumes: the door holds the question that follows to the loss that was planned.
    """
    if wish.within is not None or wish.above is not None:
        raise Refused(
            "error_depends_on_data",
            "bounds are left out here, and the error depends on those that are found.",
            fix="write contribution bounds, or price by epsilon.",
        )
    widest = _planned(text, question, catalog, wish, key, bias, 1 - SEARCHED)
    costed = widest.costed
    delta = wish.delta if catalog.accounting == "pure" else costed.delta / (1 if costed.threshold is None else 2)
    price = replace(wish, epsilon=costed.epsilon, delta=delta)
    part = SEARCHED / len(question.searches)
    first = tuple(_planned(text, one, catalog, price, key, "", part) for _, one in question.searches)
    verify_price(Composed(tuple(one.costed.loss for one in (*first, widest))), costed)

    def narrowed(found: Found) -> Planned:
        again = _again(text, question, catalog, found)
        said = "; ".join(words for words in (bias, found_words(question, found)) if words)
        return _planned(text, again, catalog, wish, key, said, 1 - SEARCHED)

    return replace(widest, first=first, narrowed=narrowed)


def found_words(question: Question, found: Found) -> str:
    """What was found, and with what."""
    told = [f"[{_told(found[s.name][0])}, {_told(found[s.name][1])}] for {s.spoken}" for s, _ in question.searches]
    return (
        f"bounds were found privately with {SEARCHED} of the price: {', '.join(told)}; what lies beyond them is clipped"
    )


def _told(bound: int | float) -> str:
    """Exactly, since powers of two have many digits."""
    return f"{int(bound):,}" if bound == int(bound) else repr(bound)


def _again(text: str, question: Question, catalog: Catalog, found: Found | None = None) -> Question:
    """The question read under the caps, or with the bounds, that were chosen for it, which its facts then know."""
    now = dt.datetime.fromisoformat(question.now) if question.now else dt.datetime(1970, 1, 1)
    again = read(text, catalog, now, found)
    return again if isinstance(again, Question) else question


def price(known: MeasuredPlan, catalog: Catalog, wish: Wish, part: Fraction = Fraction(1)) -> Plan:
    """The plan with noise, by epsilon or by error; a part of the price is by epsilon."""
    wish = said(known.question, wish)
    if wish.epsilon is not None and wish.within is not None:
        raise Refused(
            "bad_parameter", "a question is priced by epsilon or by error, not both.", fix="Give one of them."
        )
    least, most = CONFIDENCE
    known_type = isinstance(wish.confidence, (int, float)) and not isinstance(wish.confidence, bool)
    if not known_type or not least <= wish.confidence <= most:
        raise Refused("bad_parameter", f"a confidence lies between {least} and {most}.", fix="Write 0.95.")
    delta = parameters.delta(wish.delta) if wish.delta is not None else catalog.delta
    if wish.above is not None:
        if wish.within is not None:
            raise Refused("bad_parameter", "a series is priced by epsilon.", fix="Leave --within out.")
        epsilon = parameters.epsilon(wish.epsilon) if wish.epsilon is not None else catalog.epsilon
        return series(known, epsilon, catalog.accounting, exact(wish.above), wish.first, wish.confidence)
    if wish.within is None:
        epsilon = parameters.epsilon(wish.epsilon) if wish.epsilon is not None else catalog.epsilon
        return replace(allocate(known, epsilon, delta, catalog.accounting, part), level=wish.confidence)
    width = parameters.positive(wish.within, "within")
    _data_free_error(known)

    def half_width_at(epsilon: Fraction) -> float:
        try:
            return widest(replace(allocate(known, epsilon, delta, catalog.accounting), level=wish.confidence))
        except Refused as refused:
            if refused.code != "epsilon_too_small":
                raise
            return sys.float_info.max  # noise too large to be drawn is an error too large

    epsilon = parameters.epsilon(least_epsilon(width, half_width_at))
    return replace(allocate(known, epsilon, delta, catalog.accounting), level=wish.confidence)


def said(question: Question, wish: Wish) -> Wish:
    """The wish with the price that the question itself says; two that differ are refused."""
    for name, given, asked in (("epsilon", question.epsilon, wish.epsilon), ("delta", question.delta, wish.delta)):
        if given is not None and asked is not None and exact(asked) != given:
            raise Refused(
                "bad_parameter",
                f"the question says another {name} than it is asked with.",
                why="a question has one price.",
                fix=f"leave {name} out of OPTIONS, or out of the call.",
            )
    if question.epsilon is not None:
        wish = replace(wish, epsilon=question.epsilon)
    return wish if question.delta is None else replace(wish, delta=question.delta)


def widest(costed: Plan) -> float:
    """The largest half-width of a noised measure, with the rounding of whole numbers."""
    widths = []
    for measure, mechanism in zip(costed.measures, costed.mechanisms):
        assert isinstance(mechanism, Additive)
        rounding = 1.0 if measure.bits else 0.0
        widths.append(float(mechanism.interval(costed.level)) * float(measure.unit) + rounding)
    return max(widths)


def _data_free_error(known: MeasuredPlan) -> None:
    """Refuse unless every output is a key or an aggregate of one measure: then its error is known beforehand."""
    if not all(measure.noised for measure in known.measures):
        raise Refused(
            "error_depends_on_data",
            "the error of an order statistic or a choice depends on the data, so no price can be found for it.",
            fix="price by epsilon.",
        )
    for output in known.question.outputs:
        match output.expr:
            case AggregateRef(index):
                served = known.serves[index]
                simple = len(served) == 1 and known.measures[served[0]].noised
            case other:
                simple = isinstance(other, KeyRef | GroupingRef)
        if not simple:
            raise Refused(
                "error_depends_on_data",
                f"the error of {output.name!r} depends on the data, so no price can be found for it.",
                why="a ratio or another function of noisy values errs by how large they are.",
                fix="price by epsilon, or ask COUNT and SUM and divide them yourself.",
            )


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
    text: str,
    question: Question,
    catalog: Catalog,
    wish: Wish,
    priced: Priced,
    learned: Mapping[str, Learned] | None = None,
) -> Explained:
    """Explain a private question: what it would cost, and how wrong it would be."""
    planned = plan(text, question, catalog, wish, learned=learned)
    costed = planned.costed
    price, remaining = priced(planned.loss, costed.epsilon, costed.delta, planned.partitions)
    measures = tuple(measures_json(costed))
    joint = up(joint_l1(costed))
    said = (searching_words(measures) if planned.first else "", base_said(catalog))
    note = "; ".join(part for part in said if part)
    return Explained(measures, joint, costed.level, price, remaining, plan_text(costed), planned.sql, note)


def searching_words(measures: tuple[dict[str, Any], ...]) -> str:
    """What the error will be, once bounds are found: what is told of the widest holds for others in proportion."""
    widths = [m["half_width"] / m["linf"] for m in measures if m["half_width"] is not None and m["linf"]]
    grows = (
        f", and noise reaches about {max(widths):.2g} times as far as one unit then moves a measure" if widths else ""
    )
    return (
        f"contribution bounds are left out: they are found first, with {SEARCHED} of the price{grows}; "
        "what is told above is for the widest bounds"
    )


def bounds_from(planned: Planned, answers: Earlier) -> Found:
    """The bounds of each aggregate that left them out."""
    found = {}
    for (search, _), (costed, answer) in zip(planned.question.searches, answers, strict=True):
        (mechanism,) = costed.mechanisms
        assert isinstance(mechanism, Additive)
        deviation = mechanism.stddev() * float(costed.measures[0].unit)
        levels, counts = np.array(answer.rows, dtype=np.float64).T
        invariant(levels.tolist() == list(search.scale.levels), "every level has its count, in order")
        noise = _noise(planned, float(counts.sum())) if deviation else 0.0
        found[search.name] = chosen(search, counts, deviation, noise)
    return found


def _noise(planned: Planned, units: float) -> float:
    """Of all cells together, for each 1 that the bounds reach.

    Discovered keys are between one and as many as can pass.
    """
    threshold = planned.costed.threshold
    return noise_per_cap(planned.costed, 1.0 if threshold is None else math.sqrt(max(1.0, units / threshold.threshold)))


@dataclass(frozen=True, slots=True)
class PlannedGraph:
    """A release of a network, costed and printed."""

    text: str
    costed: GraphPlan
    sql: str
    now: str | None = None
    partitions: None = None
    first: tuple[Planned, ...] = ()  # nothing is asked before a network

    def emitted(self, overlay: Overlay) -> str:
        invariant(overlay == NOTHING, "nobody of a network can be left out or put right: no table says who is who")
        return self.sql

    @property
    def measurement(self) -> Json:
        return network_measurement(self.costed)

    @property
    def presentation(self) -> Json:
        return None

    @property
    def former_lines(self) -> list[str]:
        return former_network_lines(self.costed)

    @property
    def loss(self) -> Loss:
        return self.costed.loss


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question and its plan; None where nothing private is read."""

    question: Question | PublicQuestion
    facts: str  # the fingerprint of the declarations that it was planned under
    planned: Planned | None = None

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """The columns that the answer will have, whatever the data."""
        if isinstance(self.question, PublicQuestion):
            return tuple(
                ColumnInfo(o.name, kind, "value") for o, kind in zip(self.question.outputs, self.question.types)
            )
        told = [(o, bool(aggregates_in(o.expr))) for o in self.question.outputs]
        # which pass is told, not how many they are
        if self.planned is not None and isinstance(self.planned.costed.noise, SparseVectorRun):
            told = [(o, aggregated) for o, aggregated in told if not aggregated]
        return tuple(ColumnInfo(o.name, o.expr.facts.type, "value" if aggregated else "key") for o, aggregated in told)
