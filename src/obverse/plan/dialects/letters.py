"""Letters and their other case, one for one: what LOWER, UPPER and ILIKE mean on every engine, whatever its locale."""

from __future__ import annotations

import functools

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
