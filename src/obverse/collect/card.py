"""The public transparency card of a survey: what is sent, what it tells about a person, how often, how long it is kept.

The sentences of cards, by language. They are part of specifications, so their hash names the words that people read: a
word that changes here makes other surveys of all, and takes a new version of specifications.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Question, Survey
from obverse.catalog.surveys import NO_LANGUAGE
from obverse.collect.protocols import Direct, LastingProtocol, LocalProtocol, OneOfSeveral, Several, WordProtocol
from obverse.collect.wire import HEAD_BYTES
from obverse.core.numbers import plain, up

if TYPE_CHECKING:
    from obverse.collect.spec import Spec


@dataclass(frozen=True, slots=True)
class Words:
    """Templates; what stands in braces is filled in."""

    purpose: str
    sent: str
    of_two: str
    of_many: str
    any_two: str
    one_of: str
    all_of: str
    shuffled: str
    loss: str
    lasting: str
    belief: str
    limits: str
    report: tuple[str, str]  # one, and several
    day: tuple[str, str]

    def counted(self, number: int, forms: tuple[str, str]) -> str:
        return f"{number} {forms[number != 1]}"


ENGLISH = Words(
    purpose="Purpose: {}",
    sent="Your answer is randomized on your own device, by {protocol}; {bytes} bytes are sent.",
    of_two="If your answer is {high}, {kept} of 100 people like you send {high}; if it is {low}, {other} do.",
    of_many="Of 100 people with your answer {kept} send it, and {other} send any certain other one.",
    any_two="Whatever is sent, any two answers could have sent it: the one at most {ratio} times as likely as the "
    "other.",
    one_of="One of {n} questions is answered, which chance picks; nothing of the other answers is sent.",
    all_of="All of {n} questions are answered, and their losses add up to that of the report.",
    shuffled="It goes to a shuffler, who hands on many at once in random order, without saying whose they are. Its "
    "key: {}",
    loss="Loss (epsilon): {report} per report, {day} per day, {lifetime} in a lifetime.",
    lasting="However often you send one answer, it costs at most {answer}; which of your reports are of one answer is "
    "not"
    " hidden.",
    belief="Who thought one of two answers of yours as likely as the other may come to believe it with {most} %.",
    limits="At most {a_day} a day and {in_all} in all; reports are deleted after {kept}, and only counts of {minimum} "
    "or more"
    " stay.",
    report=("report", "reports"),
    day=("day", "days"),
)
GERMAN = Words(
    purpose="Zweck: {}",
    sent="Deine Antwort wird auf deinem eigenen Gerät zufällig verändert, durch {protocol}; gesendet werden {bytes} "
    "Bytes.",
    of_two="Ist deine Antwort {high}, so senden {kept} von 100 Menschen wie du {high}; ist sie {low}, so tun es "
    "{other}.",
    of_many="Von 100 Menschen mit deiner Antwort senden {kept} sie auch, und je {other} eine bestimmte andere.",
    any_two="Was auch gesendet wird, jede Antwort könnte es gesendet haben: keine ist mehr als {ratio}-mal so "
    "wahrscheinlich"
    " wie eine andere.",
    one_of="Beantwortet wird eine von {n} Fragen, die der Zufall wählt; von den anderen Antworten wird nichts "
    "gesendet.",
    all_of="Alle {n} Fragen werden beantwortet; ihre Verluste ergeben zusammen den des Berichts.",
    shuffled="Sie geht an einen Mischer, der viele zugleich in zufälliger Folge weitergibt, ohne zu sagen, wessen sie "
    "sind."
    " Sein Schlüssel: {}",
    loss="Verlust (Epsilon): {report} je Bericht, {day} am Tag, {lifetime} im ganzen Leben.",
    lasting="Wie oft du dieselbe Antwort auch sendest, sie kostet höchstens {answer}; welche deiner Berichte eine"
    " Antwort teilen, ist zu sehen.",
    belief="Wer zwei Antworten von dir für gleich wahrscheinlich hielt, kann eine davon danach zu höchstens {most} % "
    "glauben.",
    limits="Höchstens {a_day} am Tag und {in_all} insgesamt; Berichte werden nach {kept} gelöscht, und nur Zahlen über"
    " {minimum} oder mehr bleiben.",
    report=("Bericht", "Berichte"),
    day=("Tag", "Tagen"),
)
LANGUAGES = {"en": ENGLISH, "de": GERMAN}


def words_in(language: str) -> Words:
    """Those of a language or the nearest one, else English."""
    return LANGUAGES.get(language, LANGUAGES.get(language.split("-")[0], ENGLISH))


def in_language(texts: Any, language: str) -> str:
    """The text in a language, in the nearest one, in none, in English, or in the first there is."""
    for wanted in (language, language.split("-")[0], NO_LANGUAGE, "en"):
        if wanted in texts:
            return str(texts[wanted])
    return str(next(iter(texts.values()), ""))


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
    words = words_in(language)
    told = losses(asked, protocol)
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
        kept = _hundred(protocol.own)
        other = _hundred(protocol.other)
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
