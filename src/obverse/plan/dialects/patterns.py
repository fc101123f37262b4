"""Patterns of LIKE and of moments: their parts, whether a text is of them, and letters of one case."""

from __future__ import annotations

import re

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
    star, resume = -1, 0
    while at < len(text):
        part = parts[place] if place < len(parts) else "end"
        if part is None:
            star, resume, place = place, at, place + 1
        elif part in ("", text[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            resume, place = resume + 1, star + 1
            at = resume
        else:
            return False
    return all(part is None for part in parts[place:])


def folded(text: str) -> str:
    """Lower case as DuckDB does it, letter by letter."""
    return "".join("i" if letter == "\u0130" else letter.lower() for letter in text)
