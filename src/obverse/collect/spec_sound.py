"""Whether a specification that was sent is one that a device could go by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Survey
from obverse.catalog.spelling import Spelling
from obverse.catalog.surveys import SHUFFLER_KEY, is_line
from obverse.collect.protocols import LocalProtocol, Several, WordProtocol

if TYPE_CHECKING:
    from obverse.collect.spec import Spec


def sound(told: dict[str, Any], made: Spec) -> bool:
    """Whether a device could go by it: whole positive limits, texts that are texts, and answers that the protocol takes."""
    limits = ("reports", "per_day", "people", "minimum", "retention_days")
    asked, names = made.survey, [one.name for one in made.survey.questions]
    return (
        all(type(told[limit]) is int and told[limit] >= 1 for limit in limits)
        and asked.lifetime > 0
        and _are_texts(told["purpose"])
        and _are_texts(told["consent"], lines=True)
        and len(set(names)) == len(names)
        and (_splits(made) if names or isinstance(made.protocol, Several) else asked.split is None)
        and all(_answerable(one) for one in made.parts or (made,))
        and is_line(asked.name)
        and (asked.shuffler is None or bool(SHUFFLER_KEY.fullmatch(asked.shuffler)))
        and _are_texts(asked.question)
    )


def _splits(made: Spec) -> bool:
    """Whether questions are several, and the protocol is the one of their split, with a part for each."""
    asked, protocol = made.survey, made.protocol
    named = {"one": "one_of_several", "budget": "all_of_several"}.get(str(asked.split))
    as_many = isinstance(protocol, Several) and len(protocol.parts) == len(asked.questions)
    return protocol.name == named and as_many and not asked.options and asked.bounds is None


def _answerable(made: Spec) -> bool:
    """Whether one question is sound, and has as many items as its protocol."""
    asked, size = made.survey, getattr(made.protocol, "size", None)
    items = len(asked.options) if made.grid is None else made.grid.size
    return (
        _are_texts(asked.question)
        and all(is_line(text) for text in (asked.name, *asked.options, *_labels(asked)))
        and len(set(asked.options)) == len(asked.options)
        and (asked.none is None or asked.none in asked.options)
        and (made.grid is None or made.grid.low + (items - 1) * (asked.step or 1) == made.grid.high)
        and (made.protocol.coded in ("key", "word") or size == items)
        and (made.protocol.coded == "word") == (asked.spelling is not None)
        and (asked.spelling is None or _spelled(asked.spelling, made.protocol))
        and (made.protocol.coded == "place") == (made.grid is not None)
    )


def _are_texts(told: Any, *, lines: bool = False) -> bool:
    """One for each language; of one line, or of several."""
    texts = [text.replace("\n", " ") if lines and isinstance(text, str) else text for text in told.values()]
    return bool(texts) and all(is_line(text) for text in (*told, *texts))


def _labels(asked: Survey) -> list[Any]:
    return [label for shown in asked.labels.values() for label in shown.values()]


def _spelled(spelling: Spelling, protocol: LocalProtocol) -> bool:
    """Whether the protocol is for words of these letters."""
    alike = isinstance(protocol, WordProtocol) and (protocol.letters, protocol.symbols) == (spelling.letters, spelling.symbols)
    return alike and type(spelling.letters) is int
