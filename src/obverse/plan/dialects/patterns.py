"""Patterns of LIKE and of moments: their parts, whether a text is of them, and letters of one case.

Letters and their other case, one for one: what LOWER, UPPER and ILIKE mean on every engine, whatever its locale.
"""

from __future__ import annotations

import functools
import re

CASED = 0x20000  # beyond it are ideographs and signs, which have no case
ODD_LOWER = {"\u0130": "i"}  # a dotted capital I: the whole mapping would be two characters
ODD_UPPER = {"\u00df": "\u1e9e"}  # a sharp s


@functools.cache
def lower_letters() -> dict[str, str]:
    """Letters beyond ASCII that have a lower case."""
    found = {letter: ODD_LOWER.get(letter, letter.lower()) for letter in beyond_ascii()}
    return {letter: other for letter, other in found.items() if other != letter and len(other) == 1}


@functools.cache
def upper_letters() -> dict[str, str]:
    """Letters beyond ASCII that have an upper case; where that is several letters, the one that begins a title."""
    found = {}
    for letter in beyond_ascii():
        others = (ODD_UPPER.get(letter, letter.upper()), letter.title())
        found[letter] = next((other for other in others if len(other) == 1), letter)
    return {letter: other for letter, other in found.items() if other != letter}


@functools.cache
def letters(side: str) -> tuple[str, str]:
    """The letters that have another case, "lower" or "upper", and that case of each, in one order."""
    found = lower_letters() if side == "lower" else upper_letters()
    return "".join(found), "".join(found.values())


def beyond_ascii() -> tuple[str, ...]:
    return tuple(chr(code) for code in range(128, CASED) if not 0xD800 <= code <= 0xDFFF)


MOMENT_PIECES = re.compile(r"%.|[^%]+|%", re.DOTALL)


def pieces(pattern: str) -> list[str]:
    """A pattern of strftime as its signs and what stands between them."""
    return MOMENT_PIECES.findall(pattern)


def like_parts(pattern: str, escape: str | None) -> list[str | None] | None:
    """The pattern as letters, with "" for one letter and None for any number; None when it ends in its escape sign."""
    parts: list[str | None] = []
    signs = iter(pattern)
    for sign in signs:
        if sign == escape:
            escaped = next(signs, None)
            if escaped is None:
                return None
            parts.append(escaped)
        else:
            parts.append(None if sign == "%" else "" if sign == "_" else sign)
    return parts


def matches(text: str, parts: list[str | None]) -> bool:
    """Whether the whole text fits; at most len(text) * len(parts) steps, since only the last % is ever taken back."""
    at = place = 0
    star = -1
    resume = 0
    while at < len(text):
        part = parts[place] if place < len(parts) else "end"
        if part is None:
            star = place
            resume = at
            place = place + 1
        elif part in ("", text[at]):
            at = at + 1
            place = place + 1
        elif star >= 0:
            resume = resume + 1
            place = star + 1
            at = resume
        else:
            return False
    return all(part is None for part in parts[place:])


def folded(text: str) -> str:
    """Lower case as DuckDB does it, letter by letter."""
    return "".join("i" if letter == "\u0130" else letter.lower() for letter in text)
