"""Texts in Spark: literals, patterns, and functions whose edges differ from those of other engines."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping

from obverse.core.errors import invariant
from obverse.plan.dialects.letters import letters
from obverse.plan.dialects.patterns import folded as fold
from obverse.plan.dialects.patterns import like_parts, pieces

PLACE_MAX = 2**31 - 1
SMALL_ASCII = string.ascii_lowercase
PLAIN = re.compile(r"[A-Za-z0-9]|[^\x00-\x7f]")


def quoted(value: str) -> str:
    """A literal; a dollar sign is written by its number, so that nothing can be read as a variable."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024") + "'"


def number(printed: str) -> int:
    """The integer of a literal as the dialect prints it: bare, or inside a cast."""
    found = re.fullmatch(r"(?:CAST\()?(-?\d+)(?: AS BIGINT\))?", printed)
    invariant(found is not None, "places are literals")
    assert found is not None
    return int(found[1])


def left(x: str, count: str) -> str:
    n = number(count)
    return f"left({x}, {n})" if n >= 0 else f"left({x}, length({x}) - {-n})"


def right(x: str, count: str) -> str:
    n = number(count)
    return f"right({x}, {n})" if n >= 0 else f"substring({x}, {min(1 - n, PLACE_MAX)})"


def substring(x: str, start: str, count: str) -> str:
    return f"substring({x}, {number(start)}, {number(count)})"


def split_part(x: str, separator: str, place: str) -> str:
    return f"split_part({x}, {separator}, {number(place)})"


def trimmed(side: str) -> Callable[[str, str], str]:
    return lambda x, signs: x if signs == "''" else f"trim({side} {signs} FROM {x})"


def lower(x: str) -> str:
    """Letter by letter: Java maps only two otherwise, a dotted I to two letters and a sigma by where it stands."""
    return f"lower(translate({x}, '\u0130\u03a3', 'i\u03c3'))"


def upper(x: str) -> str:
    """Letter by letter, by a table where not all is ASCII: Java maps some letters to several."""
    small, large = letters("upper")
    plain = f"translate({x}, '{SMALL_ASCII}{small}', '{SMALL_ASCII.upper()}{large}')"
    return f"(CASE WHEN octet_length({x}) = length({x}) THEN upper({x}) ELSE {plain} END)"


CALLS: Mapping[str, Callable[..., str]] = {
    "left": left,
    "right": right,
    "substring": substring,
    "split_part": split_part,
    "ltrim": trimmed("LEADING"),
    "rtrim": trimmed("TRAILING"),
    "lower": lower,
    "upper": upper,
    "strpos": lambda x, part: f"instr({x}, {part})",
    "concat": lambda *parts: f"concat_ws('', {', '.join(parts)})",  # passes NULLs over
}


def like(text: str, pattern: str, escape: str, *, folded: bool) -> str:
    """Whether the text is of the pattern.

    Spark's own LIKE tries every way to place what stands between two wildcards, which takes time beyond bounds. The first
    place that fits is as good as any later one, so that here each stretch but the last is placed once and for all.
    """
    if folded:
        text, pattern, escape = lower(text), fold(pattern), fold(escape)
    parts = like_parts(pattern, escape or None)
    invariant(parts is not None, "a pattern does not end in its escape sign")
    assert parts is not None
    stretches: list[list[str]] = [[]]
    for part in parts:
        if part is None:
            stretches.append([])
        else:
            stretches[-1].append(part)
    if "" not in parts and len(stretches) <= 2:
        return _plain(text, ["".join(stretch) for stretch in stretches])
    first, *others = ["".join(map(_letter, stretch)) for stretch in stretches]
    between = "".join(f"(?>.*?{stretch})" for stretch in others[:-1] if stretch)
    last = f".*{others[-1]}" if others else ""
    whole = f"(?s)\\A{first}{between}{last}\\z"
    return f"({text} RLIKE {quoted(whole)})"


def _plain(text: str, stretches: list[str]) -> str:
    """Texts with at most one wildcard and no open letter are compared as they are."""
    if len(stretches) == 1:
        return f"({text} = {quoted(stretches[0])})"
    first, last = stretches
    if not last:
        return f"startswith({text}, {quoted(first)})"
    if not first:
        return f"endswith({text}, {quoted(last)})"
    ends = f"startswith({text}, {quoted(first)}) AND endswith({text}, {quoted(last)})"
    return f"({ends} AND length({text}) >= {len(first) + len(last)})"


def _letter(sign: str) -> str:
    if not sign:
        return "."
    return sign if PLAIN.fullmatch(sign) else f"\\x{ord(sign):02x}"


def date_pattern(pattern: str, formats: Mapping[str, str]) -> str:
    """A pattern of strftime in Java's signs; all other text in quotes."""
    return "".join(formats.get(piece) or "'" + piece.replace("'", "''") + "'" for piece in pieces(pattern))
