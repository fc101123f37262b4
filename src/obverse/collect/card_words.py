"""The sentences of cards, by language. They are part of specifications, so their hash names the words that people read: a word
that changes here makes other surveys of all, and takes a new version of specifications.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from obverse.catalog.surveys import NO_LANGUAGE


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
    any_two="Whatever is sent, any two answers could have sent it: the one at most {ratio} times as likely as the other.",
    one_of="One of {n} questions is answered, which chance picks; nothing of the other answers is sent.",
    all_of="All of {n} questions are answered, and their losses add up to that of the report.",
    shuffled="It goes to a shuffler, who hands on many at once in random order, without saying whose they are. Its key: {}",
    loss="Loss (epsilon): {report} per report, {day} per day, {lifetime} in a lifetime.",
    lasting="However often you send one answer, it costs at most {answer}; which of your reports are of one answer is not"
    " hidden.",
    belief="Who thought one of two answers of yours as likely as the other may come to believe it with {most} %.",
    limits="At most {a_day} a day and {in_all} in all; reports are deleted after {kept}, and only counts of {minimum} or more"
    " stay.",
    report=("report", "reports"),
    day=("day", "days"),
)
GERMAN = Words(
    purpose="Zweck: {}",
    sent="Deine Antwort wird auf deinem eigenen Gerät zufällig verändert, durch {protocol}; gesendet werden {bytes} Bytes.",
    of_two="Ist deine Antwort {high}, so senden {kept} von 100 Menschen wie du {high}; ist sie {low}, so tun es {other}.",
    of_many="Von 100 Menschen mit deiner Antwort senden {kept} sie auch, und je {other} eine bestimmte andere.",
    any_two="Was auch gesendet wird, jede Antwort könnte es gesendet haben: keine ist mehr als {ratio}-mal so wahrscheinlich"
    " wie eine andere.",
    one_of="Beantwortet wird eine von {n} Fragen, die der Zufall wählt; von den anderen Antworten wird nichts gesendet.",
    all_of="Alle {n} Fragen werden beantwortet; ihre Verluste ergeben zusammen den des Berichts.",
    shuffled="Sie geht an einen Mischer, der viele zugleich in zufälliger Folge weitergibt, ohne zu sagen, wessen sie sind."
    " Sein Schlüssel: {}",
    loss="Verlust (Epsilon): {report} je Bericht, {day} am Tag, {lifetime} im ganzen Leben.",
    lasting="Wie oft du dieselbe Antwort auch sendest, sie kostet höchstens {answer}; welche deiner Berichte eine"
    " Antwort teilen, ist zu sehen.",
    belief="Wer zwei Antworten von dir für gleich wahrscheinlich hielt, kann eine davon danach zu höchstens {most} % glauben.",
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
