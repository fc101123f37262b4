"""What is said beside the rows: prices and what is left, in the words of every other interface."""

from __future__ import annotations

from obverse.answers.answer import Answer, Price, Remaining
from obverse.core.claim import DECLARED
from obverse.session.explained import Explained
from obverse.session.views import BudgetView

SHARE = 100


def welcome(name: str, view: BudgetView) -> str:
    """At login."""
    own = [line for line in view.lines if line.kind == "analyst" and line.name == name] or list(view.lines[:1])
    left = f"; budget {own[0].left} of {own[0].cap} {view.quantity} left" if own else ""
    return f"answers carry differential-privacy noise{left}. \\d shows tables, EXPLAIN SELECT ... the price."


def after(answer: Answer) -> str:
    """After an answer."""
    if answer.claim == DECLARED:
        return "free: declared values, whether or not a row has them; no row was read"
    if answer.price.epsilon == "0" and not answer.price.share:
        return "free: only what is public was read; exact"
    cost = "asked before, free this time" if answer.price.stored else f"cost {_price(answer.price)}"
    again = "" if answer.price.stored else ". Same question again is free"
    return f"{cost}; {_rest(answer.remaining)}{again}. Noise intervals hold with {SHARE * answer.level:g} %."


def explained(found: Explained) -> list[str]:
    """The rows of EXPLAIN."""
    if not found.measures:
        return [found.note or "free: only what is public is read"]
    lines = [f"would cost {_price(found.price)}{_share(found.price)}; {_rest(found.remaining)}"]
    for measure in found.measures:
        width = measure["half_width"]
        known = "" if width is None else f"+- {width:.6g} ({SHARE * found.level:g} % noise interval)"
        wrong = known or "its error depends on the data"
        lines.append(f"{measure['name']}: {wrong}; {measure['mechanism']}; one unit moves it by at most {measure['linf']:.6g}")
    lines += [line for line in found.plan.splitlines() if line.strip()]
    return lines + ([found.note] if found.note else [])


def _price(price: Price) -> str:
    delta = "" if price.delta == "0" else f", delta {price.delta}"
    return f"epsilon {price.epsilon}{delta}"


def _share(price: Price) -> str:
    return f" ({SHARE * price.share:.3g} % of the budget)" if price.share else ""


def _rest(left: Remaining | None) -> str:
    if left is None:
        return "nothing is spent"
    amount = f"{left.epsilon} left" if left.epsilon is not None else f"{SHARE * left.share:.3g} % of the budget left"
    return f"{amount} ({left.more})" if left.more else amount
