"""The public transparency card of a survey: what is sent, what it tells about a person, how often, how long it is kept."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Question, Survey
from obverse.catalog.surveys import NO_LANGUAGE
from obverse.collect.card_words import ENGLISH, Words, in_language, words_in
from obverse.collect.protocols import Direct, LastingProtocol, LocalProtocol, OneOfSeveral, Several, WordProtocol
from obverse.collect.wire import HEAD_BYTES
from obverse.core.numbers import plain, up

if TYPE_CHECKING:
    from obverse.collect.spec import Spec


def card_json(spec: Spec) -> dict[str, Any]:
    """The card as data; every figure follows from the specification alone."""
    asked = spec.survey
    told = {
        "survey": asked.name,
        "id": spec.id,
        "question": dict(asked.question),
        "purpose": dict(asked.purpose),
        "protocol": spec.protocol.name,
        "sent_bytes": spec.frame.length,
        "epsilon": losses(asked, spec.protocol),
        "reports": asked.reports,
        "per_day": asked.per_day,
        "retention_days": asked.retention_days,
        "odds": [odds_words(asked, spec.protocol, ENGLISH, NO_LANGUAGE)],
        "belief": belief_words(asked.lifetime, ENGLISH),
        "text": dict(card_texts(asked, spec.protocol)),
    }
    return told | several_json(spec) | ({} if asked.shuffler is None else {"shuffler": asked.shuffler})


def several_json(spec: Spec) -> dict[str, Any]:
    """Of several questions, what each one is, and what its part of a report loses."""
    if not spec.parts:
        return {}
    each = [
        {
            "name": part.survey.name,
            "question": dict(part.survey.question),
            "protocol": part.protocol.name,
            "epsilon": plain(part.loss),
            "odds": [odds_words(part.survey, part.protocol, ENGLISH, NO_LANGUAGE)],
        }
        for part in spec.parts
    ]
    return {"split": spec.survey.split, "questions": each}


def losses(asked: Survey, protocol: LocalProtocol) -> dict[str, str]:
    """Every epsilon, rounded up."""
    loss = protocol.loss()
    daily = loss * asked.per_day
    if isinstance(protocol, LastingProtocol):  # of one permanent answer all together, of two reports of it on
        twice, once = divmod(asked.per_day, 2)
        daily = max(daily, twice * protocol.lasting() + once * loss)
    found = {"report": loss, "day": min(daily, asked.lifetime), "lifetime": asked.lifetime}
    if isinstance(protocol, LastingProtocol):
        found["answer"] = protocol.lasting()
    return {name: plain(epsilon) for name, epsilon in found.items()}


def card_text(spec: Spec, language: str = NO_LANGUAGE) -> str:
    """The card for people, with the id that names all of it."""
    texts = card_texts(spec.survey, spec.protocol)
    return f"{in_language(texts, language)}\n[{spec.id}]"


def card_texts(asked: Survey, protocol: LocalProtocol) -> dict[str, str]:
    """The card in each language in which the survey says anything."""
    said: list[Survey | Question] = [asked, *asked.questions]
    languages = {*asked.purpose, *asked.consent, *(key for one in said for key in (*one.question, *one.labels))}
    return {language: _card(asked, protocol, language) for language in sorted(languages)}


def _card(asked: Survey, protocol: LocalProtocol, language: str) -> str:
    words, told = words_in(language), losses(asked, protocol)
    parts = list(zip(asked.parts, protocol.parts)) if isinstance(protocol, Several) else []
    lines = [
        f"{asked.name}: {in_language(asked.question, language)}",
        words.purpose.format(in_language(asked.purpose, language)),
        words.sent.format(protocol=protocol.name, bytes=HEAD_BYTES + protocol.length),
        odds_words(asked, protocol, words, language),
        *(f"- {in_language(one.question, language)} {odds_words(one, part, words, language)}" for one, part in parts),
        *([] if asked.shuffler is None else [words.shuffled.format(asked.shuffler)]),
        words.loss.format(**told),
        *([words.lasting.format(**told)] if "answer" in told else []),
        belief_words(asked.lifetime, words),
        words.limits.format(
            a_day=words.counted(asked.per_day, words.report),
            in_all=words.counted(asked.reports, words.report),
            kept=words.counted(asked.retention_days, words.day),
            minimum=asked.minimum,
        ),
    ]
    return "\n".join(lines)


def odds_words(asked: Survey, protocol: LocalProtocol, words: Words, language: str) -> str:
    """The odds of a report in people out of a hundred, where options are few enough to say it."""
    if isinstance(protocol, Several):
        return (words.one_of if isinstance(protocol, OneOfSeveral) else words.all_of).format(n=len(protocol.parts))
    if isinstance(protocol, Direct):
        kept, other = _hundred(protocol.own), _hundred(protocol.other)
        if protocol.size > 2:
            return words.of_many.format(kept=kept, other=other)
        low, high = (_label(asked, option, language) for option in asked.options)
        return words.of_two.format(low=low, high=high, kept=kept, other=other)
    told = words.any_two.format(ratio=plain(Fraction(math.exp(up(protocol.loss())) * (1 + 1e-12)), 3))
    return f"{protocol.sends()} {told}" if isinstance(protocol, WordProtocol) else told


def belief_words(epsilon: Fraction, words: Words) -> str:
    """What somebody who thinks it a fair bet may come to believe at the worst."""
    most = min(Fraction(100), Fraction(100 / (1 + math.exp(-up(epsilon))) * (1 + 1e-12)))
    return words.belief.format(most=plain(most, 3))


def _label(asked: Survey, option: str, language: str) -> str:
    for wanted in (language, language.split("-")[0]):
        if wanted in asked.labels:
            return asked.labels[wanted][option]
    return option


def _hundred(share: Fraction) -> str:
    return plain(Fraction(round(share * 1000), 10), 4)
