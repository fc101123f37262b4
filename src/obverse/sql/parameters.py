"""Parameters of a question: values put in place of `?`, `$1`, `$name` and `:name`, as literals of their own type."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral
from typing import Any

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType

from obverse.core.errors import Refused, Span
from obverse.core.types import INT64_MAX, INT64_MIN
from obverse.sql.parse import DIALECT, screen

Parameters = Sequence[object] | Mapping[str, object]
EXPONENT_MAX = 308  # beyond it a decimal is no double
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_NUMBER = re.compile(r"[1-9][0-9]{0,3}")
_QUESTION = (TokenType.PLACEHOLDER, TokenType.QDCOLON)  # the second is the ?:: of ?::INT
_ALONE = [TokenType.IN, TokenType.L_PAREN, TokenType.R_PAREN]
# signs that no literal grows together with
_AFTER = " \t\r\n\f(,=<>"
_BEFORE = " \t\r\n\f),;"
_TYPES = "None, bool, int, float, Decimal, str, date, datetime, or a list of these for IN (?)"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value goes: `name` is empty for `?`, digits for `$1`, a word for `$name` and `:name`."""

    span: Span
    name: str
    alone: bool  # it is the whole list of an IN (...)

    @property
    def style(self) -> str:
        return "?" if not self.name else "$1" if self.name.isdigit() else ":name"


def bind(text: str, parameters: Parameters = ()) -> str:
    """The question with each parameter replaced by a literal of its value; every value has a place, every place a
    value.

    Places are tokens of the SQL, so one inside a string, a quoted name or a comment is none, and a value is always one
    literal, whatever signs it holds.
    """
    try:
        screen(text)
        places = _places(text)
        values = _values(places, parameters)
        return _spliced(text, [(place, _written(value, place)) for place, value in zip(places, values)])
    except Refused as refused:
        refused.located(text)
        raise


def literal(value: object) -> str:
    """The SQL of one value; refuses what has no literal of its own."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case Integral():
            return _integer(int(value))
        case float() | Decimal():
            return _number(value)
        case str():
            return _text(value)
        case dt.date():
            return _moment(value)
        case _:
            raise _bad(f"a value of type {type(value).__name__} has no literal.", f"give {_TYPES}.")


def _places(text: str) -> list[Place]:
    try:
        tokens = sqlglot.tokenize(text, dialect=DIALECT)
    except SqlglotError:
        raise Refused(
            "parse_error", "this is not SQL that can be read.", fix="check that every quote is closed."
        ) from None
    found = []
    for i, token in enumerate(tokens):
        name = "" if i + 1 == len(tokens) else _named_by(text, token, tokens[i + 1])
        if not name and token.token_type not in _QUESTION:
            continue
        last = i + 1 if name else i
        around = [t.token_type for t in (*tokens[max(0, i - 2) : i], *tokens[last + 1 : last + 2])]
        found.append(Place(Span(token.start, token.start + 1 + len(name)), name, alone=around == _ALONE))
    return found


def _named_by(text: str, sign: Any, word: Any) -> str:
    """What `$` or `:` names in the token after it; nothing where the sign belongs to a slice, a path or a type."""
    name = text[word.start : word.end + 1]
    if word.start != sign.end + 1:
        return ""
    if sign.token_type is TokenType.PARAMETER and text[sign.start] == "$":
        return name if _NAME.fullmatch(name) or _NUMBER.fullmatch(name) else ""
    before = text[sign.start - 1] if sign.start else " "
    inside = before.isalnum() or before in "_\"'])"
    return name if sign.token_type is TokenType.COLON and not inside and _NAME.fullmatch(name) else ""


def _values(places: list[Place], parameters: Parameters) -> list[object]:
    """The value of each place, in order."""
    styles = {place.style for place in places}
    if len(styles) > 1:
        raise _bad(
            "a question writes its parameters in one way.", f"choose one of {' '.join(sorted(styles))}.", places[-1]
        )
    if isinstance(parameters, Mapping):
        return _named(places, parameters)
    if isinstance(parameters, (str, bytes)) or not isinstance(parameters, Sequence):
        raise _bad("parameters are a list or a mapping.", "give a list of values, or a mapping from name to value.")
    if styles == {":name"}:
        if parameters:
            raise _bad("this question names its parameters.", "give a mapping from name to value.", places[0])
        raise _bad(f"there is no value for {places[0].name!r}.", "give a mapping from name to value.", places[0])
    wanted = max(int(place.name) for place in places) if styles == {"$1"} else len(places)
    used = {int(place.name) for place in places} if styles == {"$1"} else set(range(1, wanted + 1))
    if wanted != len(parameters) or len(used) != wanted:
        fix = "write one parameter for each value, and give one value for each parameter."
        count = (
            f"the question has {len(used)} parameter{_s(len(used))}, and {len(parameters)} "
            f"value{_s(len(parameters))} came."
        )
        raise _bad(count, fix, places[-1] if places else None)
    return [parameters[int(place.name or i + 1) - 1] for i, place in enumerate(places)]


def _named(places: list[Place], parameters: Mapping[str, object]) -> list[object]:
    for place in places:
        if place.style != ":name":
            raise _bad("this question does not name its parameters.", "give a list, or write :name.", place)
        if place.name not in parameters:
            fix = f"give one: --param {place.name}=VALUE, or a mapping that has it."
            raise _bad(f"there is no value for {place.name!r}.", fix, place)
    unused = sorted(str(name) for name in set(parameters) - {place.name for place in places})
    if unused:
        raise _bad(f"the question has no parameter {unused[0]!r}.", f"write :{unused[0]}, or leave the value out.")
    return [parameters[place.name] for place in places]


def _written(value: object, place: Place) -> str:
    try:
        if not isinstance(value, (list, tuple)):
            return literal(value)
        if not place.alone or not value:
            raise _bad(
                "a list of values stands alone in IN (...), and is not empty.", "write x IN (?) and give a value."
            )
        return ", ".join(literal(one) for one in value)
    except Refused as refused:
        refused.span = place.span
        raise


def _spliced(text: str, written: list[tuple[Place, str]]) -> str:
    """The text with its literals, blanks kept between them and what stands beside."""
    parts = []
    done = 0
    for place, value in written:
        start = place.span.start
        end = place.span.end
        before = "" if not start or text[start - 1] in _AFTER else " "
        after = "" if end == len(text) or text[end] in _BEFORE else " "
        parts += [text[done:start], before, value, after]
        done = end
    return "".join([*parts, text[done:]])


def _integer(value: int) -> str:
    if not INT64_MIN <= value <= INT64_MAX:
        raise _bad("this whole number has more than 64 bits.", "give a float or a Decimal.")
    return str(value) if value >= 0 else f"({value})"  # -- would begin a comment


def _number(value: float | Decimal) -> str:
    finite = value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)
    if not finite or (isinstance(value, Decimal) and value and abs(value.adjusted()) > EXPONENT_MAX):
        raise _bad(
            "this number is not finite, or beyond what a double holds.", "give None for NULL, or a finite number."
        )
    text = format(value, "f") if isinstance(value, Decimal) else repr(float(value))
    return f"({text})" if text.startswith("-") else text


def _text(value: str) -> str:
    if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise _bad("a text holds no zero byte and no half character.", "give valid Unicode.")
    return "'" + str.replace(value, "'", "''") + "'"


def _moment(value: dt.date) -> str:
    if value != value or getattr(value, "tzinfo", None) is not None:  # the missing moment of pandas equals nothing
        raise _bad(
            "a timestamp has no zone here, and is never missing.", "give None for NULL, or value.replace(tzinfo=None)."
        )
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{dt.datetime.isoformat(value, sep=' ', timespec='microseconds')}'"
    return f"DATE '{dt.date.isoformat(value)}'"


def _bad(message: str, fix: str, place: Place | None = None) -> Refused:
    return Refused("bad_parameter", message, fix=fix, span=None if place is None else place.span)


def _s(count: int) -> str:
    return "" if count == 1 else "s"
