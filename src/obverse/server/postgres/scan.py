"""The words of a text as PostgreSQL cuts them: only to tell statements apart. What is asked is read by the parsers alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from obverse.core.errors import Refused, Span
from obverse.sql.screen import BYTES_MAX, DEPTH_MAX, TOKENS_MAX

LEXEME = re.compile(
    r"""(?P<blank>[ \t\r\n\f\v]+|--[^\n]*)
      | (?P<comment>/\*)
      | (?P<string>[eE]'(?:[^'\\]|''|\\.)*'|(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*')
      | (?P<dollar>\$(?P<tag>[A-Za-z_]*)\$)
      | (?P<quoted>"(?:[^"]|"")*")
      | (?P<parameter>\$\d+)
      | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
      | (?P<word>[^\W\d]\w*\$?\w*)
      | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


ESCAPED = re.compile(r"\\(.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
UNREAD = re.compile(r"\\[0-7xuU]")  # characters by their numbers, which drivers do not write


@dataclass(frozen=True, slots=True)
class Word:
    """One token: a word or quoted name, a string, a number, a parameter or a sign."""

    kind: str
    text: str
    span: Span

    @property
    def upper(self) -> str:
        return self.text.upper() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """As an identifier: unquoted ones in small letters; empty if it is none."""
        if self.kind == "quoted":
            return self.text[1:-1].replace('""', '"')
        return self.text.lower() if self.kind == "word" else ""

    @property
    def value(self) -> str:
        """As a value of a setting: a string without its quotes, else as written."""
        if self.kind != "string":
            return self.name if self.kind == "quoted" else self.text
        if self.text[0] == "$":
            return self.text.split("$", 2)[2].rsplit("$", 2)[0]
        inner = self.text[self.text.index("'") + 1 : -1].replace("''", "'")
        return ESCAPED.sub(lambda match: ESCAPES.get(match[1], match[1]), inner) if self.text[0] in "eE" else inner


def words(text: str) -> tuple[Word, ...]:
    """All tokens, without blanks and comments. Refuses what is too long, too deep or not closed."""
    if len(text.encode("utf-8", "replace")) > BYTES_MAX:
        raise Refused("too_long", f"a question has at most {BYTES_MAX} bytes.", fix="ask something shorter.")
    found: list[Word] = []
    at = depth = 0
    while at < len(text):
        match = LEXEME.match(text, at)
        assert match is not None
        kind, end = str(match.lastgroup), match.end()
        if kind == "tag":
            kind = "dollar"
        if kind == "comment":
            end = _comment_end(text, at)
        elif kind == "dollar":
            end = _closed(text.find(match.group(), end), len(match.group()), at)
            kind = "string"
        elif kind == "sign" and match.group() in "'\"":
            _closed(-1, 0, at)
        if kind not in ("blank", "comment"):
            found.append(Word(kind, text[at:end], Span(at, end)))
            depth += (match.group() == "(") - (match.group() == ")")
        if len(found) > TOKENS_MAX or depth > DEPTH_MAX:
            raise Refused("too_complex", "the question is too long or too deeply nested.", fix="ask something simpler.")
        at = end
    return tuple(found)


def statements(text: str) -> list[tuple[Word, ...]]:
    """The tokens of each statement; empty ones are left out."""
    found: list[list[Word]] = [[]]
    for word in words(text):
        if word.text == ";":
            found.append([])
        else:
            found[-1].append(word)
    return [tuple(part) for part in found if part]


def _comment_end(text: str, start: int) -> int:
    """Comments nest."""
    depth, at = 1, start + 2
    while depth:
        opened, closed = text.find("/*", at), text.find("*/", at)
        if closed < 0:
            _closed(-1, 0, start)
        if 0 <= opened < closed:
            depth, at = depth + 1, opened + 2
        else:
            depth, at = depth - 1, closed + 2
    return at


def _closed(found: int, size: int, start: int) -> int:
    if found < 0:
        raise Refused("parse_error", "a quote or comment is not closed.", span=Span(start, start + 1))
    return found + size
