"""A first look at the text, before any parser: size, tokens, depth, blanks and string forms."""

from __future__ import annotations

import re

from obverse.core.errors import Refused, Span

BYTES_MAX = 64_000
TOKENS_MAX = 5_000
DEPTH_MAX = 100
DIGITS_MAX = 1_000
CHAIN_MAX = 100  # NOT NOT NOT ..., - - - ...

TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n\f]+)
      | (?P<comment>--[^\n]*)
      | (?P<block>/\*)
      | (?P<prefixed>(?:[eEbBxXnNrR]|[uU]&)'|\$[A-Za-z_]*\$)
      | (?P<string>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")*")
      | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
      | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<sign>[!-/:-@\[-`{-~])
    """,
    re.VERBOSE,
)


def screen(text: str) -> None:
    """Refuse what is too long, too deep or strangely written; linear in the text, at most 5,000 tokens."""
    if len(text) > BYTES_MAX or len(text.encode("utf-8", "surrogatepass")) > BYTES_MAX:
        raise Refused("too_long", f"a question has at most {BYTES_MAX} bytes.", fix="ask something shorter.")
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise Refused("parse_error", "the text holds half a character.", fix="send it as valid Unicode.")
    place = tokens = depth = chain = 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise Refused(
                "parse_error",
                "this character is not understood here.",
                why="outside strings, SQL is written in ASCII.",
                fix="use plain blanks and letters, or quote it.",
                span=Span(place, place + 1),
            )
        kind, end = match.lastgroup, match.end()
        if kind == "prefixed":
            raise Refused("parse_error", "this form of string is not understood.", fix="write 'text'.", span=Span(place, end))
        if kind == "block":
            end = _comment_end(text, place)
        elif kind == "number" and end - place > DIGITS_MAX:
            raise Refused("bad_parameter", "this number is too long.", fix="write a shorter number.", span=Span(place, end))
        elif kind not in ("blank", "comment"):
            tokens += 1
            depth += (kind == "open") - (kind == "close")
            chained = match.group() in "-+~" or match.group().upper() in ("NOT", "CASE")
            chain = chain + 1 if chained else 0 if kind not in ("open",) else chain
            if tokens > TOKENS_MAX or depth > DEPTH_MAX or chain > CHAIN_MAX:
                raise Refused("too_complex", "the question is too long or too deeply nested.", fix="ask something simpler.")
        place = end


def _comment_end(text: str, start: int) -> int:
    end = text.find("*/", start + 2)
    if end < 0 or "/*" in text[start + 2 : end]:
        raise Refused(
            "parse_error", "this comment is not closed, or nested.", fix="close it with */.", span=Span(start, start + 2)
        )
    return end + 2
