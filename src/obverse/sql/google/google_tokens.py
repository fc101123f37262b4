"""Words, numbers and signs of a question's text, and what GoogleSQL's options and named arguments are made of."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from obverse.core.errors import Refused, Span
from obverse.core.numbers import exact
from obverse.sql.screen import TOKEN

NUMBER_MAX = 2**300


class Token(NamedTuple):
    """A word, number or sign of the text, blanks and comments left out; `depth` counts the parentheses around it."""

    kind: str
    text: str
    start: int
    end: int
    depth: int

    @property
    def word(self) -> str:
        return self.text.upper() if self.kind == "word" else ""


def tokens_of(text: str) -> Iterator[Token]:
    """Of a text that was screened."""
    place = depth = 0
    while place < len(text):
        match = TOKEN.match(text, place)
        assert match is not None
        kind, end = str(match.lastgroup), match.end()
        if kind == "block":
            end = text.find("*/", place + 2) + 2
        elif kind not in ("blank", "comment"):
            depth -= kind == "close"
            yield Token(kind, match.group(), place, end, depth)
            depth += kind == "open"
        place = end


def number_of(tokens: list[Token]) -> Fraction | None:
    """A literal with or without its sign; None for anything else."""
    sign = -1 if tokens and tokens[0].text == "-" else 1
    rest = tokens[1:] if tokens and tokens[0].text in ("-", "+") else tokens
    if len(rest) != 1 or rest[0].kind != "number":
        return None
    try:
        found = sign * exact(rest[0].text)
    except Refused as refused:
        refused.span = span_of(rest[0])
        raise
    if abs(found) > NUMBER_MAX:
        raise bad("this number is too large.", "write a smaller one.", span_of(rest[0]))
    return found


def span_of(token: Token) -> Span:
    return Span(token.start, token.end)


def bad(message: str, fix: str, span: Span | None, why: str = "") -> Refused:
    return Refused("bad_parameter", message, why=why, fix=fix, span=span)
