"""A file of several questions, cut at its semicolons; those inside strings, quoted names and comments stay."""

from __future__ import annotations

import re

_PIECE = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|;|[^;'\"/-]+|.", re.DOTALL)


def statements(text: str) -> list[str]:
    """The questions, without those that are blank or nothing but comments."""
    found: list[str] = []
    parts: list[str] = []
    meant = False
    for match in _PIECE.finditer(text):
        piece = match.group()
        if piece == ";":
            found += ["".join(parts).strip()] if meant else []
            parts, meant = [], False
            continue
        parts.append(piece)
        meant = meant or (bool(piece.strip()) and not piece.startswith(("--", "/*")))
    return found + (["".join(parts).strip()] if meant else [])
