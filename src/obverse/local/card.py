"""The public transparency card of a survey: what is sent, what it tells about a person, how often, how long it is kept."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from obverse.catalog.surveys import NO_LANGUAGE
from obverse.core.numbers import plain, several
from obverse.local.protocols import Direct, LastingProtocol, WordProtocol
from obverse.local.spec import Spec


def card_json(spec: Spec) -> dict[str, Any]:
    """The card as data; every figure follows from the specification alone."""
    asked, loss = spec.survey, spec.protocol.loss()
    losses = {
        "report": plain(loss),
        "day": plain(min(loss * asked.per_day, asked.lifetime)),
        "lifetime": plain(asked.lifetime),
    }
    if isinstance(spec.protocol, LastingProtocol):
        losses["answer"] = plain(spec.protocol.lasting())
    return {
        "survey": asked.name,
        "id": spec.id,
        "question": dict(asked.question),
        "purpose": dict(asked.purpose),
        "protocol": spec.protocol.name,
        "sent_bytes": spec.frame.length,
        "epsilon": losses,
        "reports": asked.reports,
        "per_day": asked.per_day,
        "retention_days": asked.retention_days,
        "odds": list(odds_words(spec)),
        "belief": belief_words(asked.lifetime),
    }


def card_text(spec: Spec, language: str = NO_LANGUAGE) -> str:
    """The card for people."""
    asked, told = spec.survey, card_json(spec)
    losses = told["epsilon"]
    lasting = f" However often you send one answer, it costs at most {losses['answer']}." if "answer" in losses else ""
    lines = [
        f"{asked.name}: {in_language(asked.question, language)}",
        f"Purpose: {in_language(asked.purpose, language)}",
        f"Your answer is randomized on your own device, by {spec.protocol.name}; {told['sent_bytes']} bytes are sent.",
        *told["odds"],
        f"Loss (epsilon): {losses['report']} per report, {losses['day']} per day, {losses['lifetime']} in a lifetime.{lasting}"
        f" {told['belief']}",
        f"At most {several(asked.per_day, 'report')} a day and {several(asked.reports, 'report')} in all;"
        f" reports are deleted after {several(asked.retention_days, 'day')}.",
        f"Survey id: {spec.id}",
    ]
    return "\n".join(lines)


def in_language(texts: Any, language: str) -> str:
    """The text in a language, in the nearest one, or in the first there is."""
    for wanted in (language, language.split("-")[0], NO_LANGUAGE, "en"):
        if wanted in texts:
            return str(texts[wanted])
    return str(next(iter(texts.values())))


def odds_words(spec: Spec) -> tuple[str, ...]:
    """The odds of a report in people out of a hundred, where options are few enough to say it."""
    protocol, options = spec.protocol, spec.survey.options
    if isinstance(protocol, Direct):
        kept, other = _hundred(protocol.own), _hundred(protocol.other)
        if protocol.size > 2:
            return (f"Of 100 people with your answer {kept} send it, and {other} send any certain other one.",)
        low, high = options
        return (f"If your answer is {high}, {kept} of 100 people like you send {high}; if it is {low}, {other} do.",)
    taken = (protocol.sends(),) if isinstance(protocol, WordProtocol) else ()
    ratio = plain(Fraction(math.exp(float(protocol.loss()))).limit_denominator(1000), 3)
    told = f"Whatever is sent, any two answers could have sent it: the one at most {ratio} times as likely as the other."
    return (*taken, told)


def belief_words(epsilon: Fraction) -> str:
    """What somebody who thinks it a fair bet may come to believe at the worst."""
    most = 1 / (1 + math.exp(-float(epsilon)))
    return f"Who thought one of two answers of yours as likely as the other may come to believe it with {100 * most:.0f} %."


def _hundred(share: Fraction) -> str:
    return plain(Fraction(round(share * 1000), 10), 4)
