"""SQL to a costed plan: the pure half of every verb. What explain quotes is what ask charges."""

from __future__ import annotations

import datetime as dt
import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from obverse.accounting.calibrate import least_epsilon
from obverse.catalog import parameters
from obverse.catalog.model import Catalog
from obverse.core.canonical import Json
from obverse.core.errors import Refused
from obverse.core.ledger import Partitions
from obverse.core.loss import Composed, Loss
from obverse.core.numbers import exact
from obverse.mechanisms.base import Additive
from obverse.plan.allocate import LEVEL, CostedPlan, allocate
from obverse.plan.annotate import AnnotatedPlan, annotate
from obverse.plan.emit.emit import emit
from obverse.plan.emit.overlay import NOTHING, Overlay
from obverse.plan.expressions import Ref
from obverse.plan.former import former_lines
from obverse.plan.identity import measurement, presentation
from obverse.plan.learned import Learned
from obverse.plan.limit import limit
from obverse.plan.nodes import Aggregate
from obverse.plan.partitions import check_parts, together, touched
from obverse.plan.query import PublicQuestion, Question
from obverse.plan.series import series
from obverse.plan.verify import verify, verify_price
from obverse.session.learned_limits import bias_words, with_chosen
from obverse.sql.google.searching import Found
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

    `sql` is for people to see and for what is made up; what reads private rows is `emitted` under the overlay of the moment.
    """

    text: str
    question: Question
    costed: CostedPlan
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


def annotated(question: Question, catalog: Catalog) -> AnnotatedPlan:
    return annotate(limit(question, catalog))


def plan(
    text: str, question: Question, catalog: Catalog, wish: Wish, key: str = "", learned: Mapping[str, Learned] | None = None
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
    verify(costed)
    check_parts(question, catalog)
    emitted = printed(known.limited.root, catalog, key)
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
    Proof:   adaptive composition. The searches have parts of the price that add up to SEARCHED, the question has the rest,
             whatever bounds are found: epsilon, or rho, is split by these parts. Where keys are discovered under zcdp, half
             of delta hides them, and all rho is what epsilon allows at the other half.
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
    return f"bounds were found privately with {SEARCHED} of the price: {', '.join(told)}; what lies beyond them is clipped"


def _told(bound: int | float) -> str:
    """Exactly, since powers of two have many digits."""
    return f"{int(bound):,}" if bound == int(bound) else repr(bound)


def _again(text: str, question: Question, catalog: Catalog, found: Found | None = None) -> Question:
    """The question read under the caps, or with the bounds, that were chosen for it, which its facts then know."""
    now = dt.datetime.fromisoformat(question.now) if question.now else dt.datetime(1970, 1, 1)
    again = read(text, catalog, now, found)
    return again if isinstance(again, Question) else question


def price(known: AnnotatedPlan, catalog: Catalog, wish: Wish, part: Fraction = Fraction(1)) -> CostedPlan:
    """The plan with noise, by epsilon or by error; a part of the price is by epsilon."""
    wish = said(known.limited.question, wish)
    if wish.epsilon is not None and wish.within is not None:
        raise Refused("bad_parameter", "a question is priced by epsilon or by error, not both.", fix="Give one of them.")
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


def widest(costed: CostedPlan) -> float:
    """The largest half-width of a noised measure, with the rounding of whole numbers."""
    widths = []
    for measure, mechanism in zip(costed.measures, costed.mechanisms):
        assert isinstance(mechanism, Additive)
        rounding = 1.0 if measure.bits else 0.0
        widths.append(float(mechanism.interval(costed.level)) * float(measure.unit) + rounding)
    return max(widths)


def _data_free_error(known: AnnotatedPlan) -> None:
    """Refuse unless every output is a key or an aggregate of one measure: then its error is known beforehand."""
    limited = known.limited
    if not all(measure.noised for measure in known.measures):
        raise Refused(
            "error_depends_on_data",
            "the error of an order statistic or a choice depends on the data, so no price can be found for it.",
            fix="price by epsilon.",
        )
    for output in limited.question.outputs:
        simple = isinstance(output.expr, Ref)
        if simple and output.expr.name.startswith("agg"):  # type: ignore[union-attr]
            served = limited.serves[int(output.expr.name[3:])]  # type: ignore[union-attr]
            simple = len(served) == 1 and known.measures[served[0]].noised
        if not simple:
            raise Refused(
                "error_depends_on_data",
                f"the error of {output.name!r} depends on the data, so no price can be found for it.",
                why="a ratio or another function of noisy values errs by how large they are.",
                fix="price by epsilon, or ask COUNT and SUM and divide them yourself.",
            )
