"""The specification of a survey: one document for both sides. Whatever changes in it, it is another survey, with
another id.

A protocol as data: its name and its integers, the same for every client.

Whether a specification that was sent is one that a device could go by.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeGuard, get_origin, get_type_hints

from obverse.catalog.model import Question, Survey
from obverse.catalog.spelling import Spelling
from obverse.catalog.surveys import SHUFFLER_KEY, is_line
from obverse.collect.card import card_texts
from obverse.collect.protocols import PROTOCOLS, LastingProtocol, LocalProtocol, Several, WordProtocol
from obverse.collect.randomness.coins import Coins
from obverse.collect.randomness.hashing import Grid, digest_word, item_key
from obverse.collect.wire import ID_BYTES, Frame
from obverse.core.errors import InvariantBroken, Refused, invariant
from obverse.core.numbers import exact

_BY_NAME = {kind.name: kind for kind in PROTOCOLS}


def protocol_json(protocol: LocalProtocol) -> dict[str, Any]:
    """The name and every field; protocols within a protocol likewise."""
    told: dict[str, Any] = {"name": protocol.name}
    for field in fields(protocol):  # type: ignore[arg-type]
        told[field.name] = _written(getattr(protocol, field.name))
    return told


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_written(each) for each in value]
    return value if isinstance(value, int) else protocol_json(value)


def protocol_of(told: Any) -> LocalProtocol:
    """The protocol that was written; anything else is refused."""
    try:
        kind = _BY_NAME[told["name"]]
        names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
        if told.keys() != names | {"name"}:
            raise KeyError
        parts = {name: _read(told[name]) for name in names}
        if not all(
            _fits(value, wanted) for value, wanted in ((parts[name], get_type_hints(kind)[name]) for name in names)
        ):
            raise TypeError
        return kind(**parts)
    except (KeyError, TypeError, AttributeError, ValueError, InvariantBroken):
        raise Refused(
            "bad_spec",
            "this is not the specification of a protocol.",
            fix="Take the specification from `obverse collect spec NAME`, unchanged.",
        ) from None


def _fits(value: Any, wanted: Any) -> bool:
    """Whether it is exactly what the field is declared as: the loss of a protocol is that of its own parts and of no
    others.

    Several questions have parts of several kinds, and look at each themselves.
    """
    return (
        type(value) is wanted if isinstance(wanted, type) else get_origin(wanted) is tuple and isinstance(value, tuple)
    )


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(protocol_of(each) for each in value)
    if isinstance(value, dict):
        return protocol_of(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def sound(told: dict[str, Any], made: Spec) -> bool:
    """Whether a device could go by it: whole positive limits, texts that are texts, and answers that the protocol
    takes.
    """
    limits = ("reports", "per_day", "people", "minimum", "retention_days")
    asked = made.survey
    names = [one.name for one in made.survey.questions]
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
    asked = made.survey
    protocol = made.protocol
    named = {"one": "one_of_several", "budget": "all_of_several"}.get(str(asked.split))
    as_many = isinstance(protocol, Several) and len(protocol.parts) == len(asked.questions)
    return protocol.name == named and as_many and not asked.options and asked.bounds is None


def _answerable(made: Spec) -> bool:
    """Whether one question is sound, and has as many items as its protocol."""
    asked = made.survey
    size = getattr(made.protocol, "size", None)
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
    alike = isinstance(protocol, WordProtocol) and (protocol.letters, protocol.symbols) == (
        spelling.letters,
        spelling.symbols,
    )
    return alike and type(spelling.letters) is int


VERSION = 1
FRACTION = re.compile(r"-?\d+(/[1-9]\d*)?", re.ASCII)
FRACTION_MAX = 1000
LIFETIME_MAX = 10**6
LISTED_MAX = 12  # options that a refusal names
Answer = str | int | float | Fraction
Answers = Answer | Mapping[str, Answer]  # to several questions, by their names


@dataclass(frozen=True)
class Spec:
    """What is asked, how it is randomized, how often, and in which words people were told so."""

    survey: Survey
    protocol: LocalProtocol

    def as_json(self) -> dict[str, Any]:
        """The whole document, with nothing in it that is not public."""
        asked = self.survey
        told: dict[str, Any] = {
            "version": VERSION,
            "name": asked.name,
            "question": dict(asked.question),
            "protocol": protocol_json(self.protocol),
            "epsilon": {"report": _text(self.loss), "lifetime": _text(asked.lifetime)},
            "reports": asked.reports,
            "per_day": asked.per_day,
            "people": asked.people,
            "minimum": asked.minimum,
            "retention_days": asked.retention_days,
            "purpose": dict(asked.purpose),
            "consent": dict(asked.consent),
            "card": card_texts(asked, self.protocol),
        }
        if self.permanent is not None:
            told["epsilon"]["permanent"] = _text(self.permanent)
        if asked.shuffler is not None:
            told["shuffler"] = {"key": asked.shuffler}
        if asked.questions:
            told["split"] = asked.split
            named = [(one, {"name": one.name, "question": dict(one.question)}) for one in asked.questions]
            told["questions"] = [names | _asked_json(one) for one, names in named]
        if asked.spelling is not None:
            told["words"] = {"letters": asked.spelling.letters, "alphabet": asked.spelling.alphabet}
        return told | _asked_json(asked)

    @cached_property
    def lasting(self) -> LastingProtocol | None:
        """The protocol, if it is one of permanent answers."""
        return self.protocol if isinstance(self.protocol, LastingProtocol) else None

    @cached_property
    def parts(self) -> tuple[Spec, ...]:
        """A specification of each of several questions; none where there is one."""
        if not isinstance(self.protocol, Several):
            return ()
        return tuple(Spec(asked, part) for asked, part in zip(self.survey.parts, self.protocol.parts))

    @cached_property
    def loss(self) -> Fraction:
        """Epsilon of one report."""
        return self.protocol.loss()

    @cached_property
    def permanent(self) -> Fraction | None:
        """Epsilon of any number of reports of one permanent answer."""
        return None if self.lasting is None else self.lasting.lasting()

    @cached_property
    def document(self) -> bytes:
        """The canonical bytes: JSON with sorted keys, no blanks, composed UTF-8."""
        return canonical_json(self.as_json())

    @cached_property
    def digest(self) -> bytes:
        return hashlib.sha256(b"obverse survey\0" + self.document).digest()

    @property
    def id(self) -> str:
        return self.digest[:ID_BYTES].hex()

    @property
    def frame(self) -> Frame:
        return Frame(self.digest[:ID_BYTES], self.protocol.length)

    def seed(self, token: bytes) -> int:
        """The seed of the report that this token is for: nobody chooses it."""
        return digest_word("seed", self.digest, token)

    @property
    def grid(self) -> Grid | None:
        """The places of numbers; None where no number is asked for."""
        asked = self.survey
        if asked.bounds is None or asked.step is None:
            return None
        return Grid(*asked.bounds, int((asked.bounds[1] - asked.bounds[0]) / asked.step) + 1)

    def code(self, answer: Answers, coins: Coins | None = None) -> int:
        """What stands for an answer in the protocol; numbers between two places take coins to choose one."""
        asked = self.survey
        if isinstance(self.protocol, Several):
            return self.protocol.code([part.code(each, coins) for part, each in zip(self.parts, self.answers(answer))])
        if self.grid is not None:
            invariant(coins is not None, "a number is rounded by coins")
            assert coins is not None
            return self.grid.place(number(answer), coins)
        if not _is_text(answer) or not answer:
            raise Refused("not_an_option", "the answer is a text.", fix="Give a text that is not empty.")
        if asked.spelling is not None:
            return asked.spelling.code(answer)
        known = unicodedata.normalize("NFC", answer)
        if asked.options and known not in asked.options:
            listed = f": {', '.join(asked.options)}" if len(asked.options) <= LISTED_MAX else ""
            raise Refused(
                "not_an_option", "this is not one of the survey's options.", fix=f"Give one as written{listed}."
            )
        return asked.options.index(known) if self.protocol.coded == "index" else item_key(known)

    def answers(self, given: Answers) -> list[Answer]:
        """The answers to several questions, in their order; the option for no answer stands for one that is not
        given.
        """
        names = {asked.name for asked in self.survey.questions}
        if not isinstance(given, Mapping) or not names.issuperset(given):
            raise Refused(
                "no_such_question",
                "answers are given by the names of the questions.",
                fix=f"Answer {', '.join(asked.name for asked in self.survey.questions)}.",
            )
        found = {asked.name: given.get(asked.name) for asked in self.survey.questions}
        found |= {asked.name: asked.none for asked in self.survey.questions if found[asked.name] is None}
        missing = [name for name, answer in found.items() if answer is None]
        if missing:
            raise Refused(
                "unanswered",
                f"no answer is given to {', '.join(missing)}.",
                why="which question a report answers must not depend on which were answered.",
                fix="Answer every question.",
            )
        return [answer for answer in found.values() if answer is not None]

    def codes(self) -> list[int]:
        """Those of all options."""
        return [self.code(option) for option in self.survey.options]


def spec_of(told: Any) -> Spec:
    """The specification that was written; it must come to the same bytes again, so nothing in it is passed over."""
    try:
        asked = _question_of(told, told["protocol"])
        words = told.get("words")
        made = Spec(
            Survey(
                **{field.name: getattr(asked, field.name) for field in fields(asked)},
                epsilon=_fraction(told["epsilon"]["report"]),
                permanent=_fraction(told["epsilon"]["permanent"]) if "permanent" in told["epsilon"] else None,
                people=told["people"],
                reports=told["reports"],
                per_day=told["per_day"],
                lifetime=_loss(told["epsilon"]["lifetime"]),
                minimum=told["minimum"],
                retention_days=told["retention_days"],
                purpose=told["purpose"],
                consent=told["consent"],
                shuffler=told.get("shuffler", {}).get("key"),
                split=told.get("split"),
                questions=tuple(map(_question_of, told.get("questions", ()), told["protocol"].get("parts", ()))),
                spelling=None if words is None else Spelling(words["letters"], words["alphabet"]),
            ),
            protocol_of(told["protocol"]),
        )
        if made.document != canonical_json(told) or not sound(told, made):
            raise ValueError
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, InvariantBroken):
        raise _not_a_spec() from None
    return made


def _question_of(told: Any, protocol: Any) -> Question:
    numbers = told.get("numbers")
    return Question(
        name=told["name"],
        question=told["question"],
        options=tuple(told.get("options", ())),
        labels=told.get("labels", {}),
        none=told.get("none"),
        bounds=None if numbers is None else (_fraction(numbers["low"]), _fraction(numbers["high"])),
        step=None if numbers is None else _fraction(numbers["step"]),
        protocol=protocol["name"],
    )


def _asked_json(asked: Survey | Question) -> dict[str, Any]:
    """What may be answered."""
    if asked.options:
        labels = {language: dict(shown) for language, shown in asked.labels.items()}
        return {"options": list(asked.options), "labels": labels, "none": asked.none}
    if asked.bounds is not None and asked.step is not None:
        return {"numbers": {"low": _text(asked.bounds[0]), "high": _text(asked.bounds[1]), "step": _text(asked.step)}}
    return {}


def read_spec(document: bytes) -> Spec:
    """The specification that a device was sent: canonical to the byte, because its id is the hash of these bytes."""
    try:
        made = spec_of(json.loads(document))
    except (ValueError, RecursionError):
        raise _not_a_spec() from None
    if made.document != document:
        raise _not_a_spec()
    return made


def canonical_json(told: Any) -> bytes:
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return unicodedata.normalize("NFC", text).encode()


def _fraction(text: str) -> Fraction:
    """As `_text` writes it, and of no great length: others would take a device's time before they are refused."""
    if len(text) > FRACTION_MAX or not FRACTION.fullmatch(text):
        raise ValueError
    return Fraction(text)


def _loss(text: str) -> Fraction:
    found = _fraction(text)
    if not 0 < found <= LIFETIME_MAX:
        raise ValueError
    return found


def _text(number: Fraction) -> str:
    """An exact fraction as text, the same in every language: 1 or 3/2."""
    return str(number)


def number(answer: Answers) -> Fraction:
    """The answer to a question for a number."""
    if isinstance(answer, Mapping):
        raise Refused("not_an_option", "the answer is a number.", fix="Give a number.")
    return exact(answer)


def _is_text(answer: Any) -> TypeGuard[str]:
    """Whether this is a text of whole characters; halves of a surrogate pair have no bytes."""
    return isinstance(answer, str) and not any("\ud800" <= sign <= "\udfff" for sign in answer)


def _not_a_spec() -> Refused:
    return Refused(
        "bad_spec",
        "this is not a survey's specification, or it was changed.",
        fix="Take it from `obverse collect spec NAME`, unchanged.",
    )
