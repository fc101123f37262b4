"""Texts that do not grow: case, parts, blanks.

Claim:   each is total, and gives at most as many characters as it reads.
Proof:   letters change one by one, or some are left out. Numbers and separators are literals within ranges on which no
         engine raises. Characters are Unicode code points, in the engines as in Python; only the case of some letters
         differs, so public lists are mapped by `lower` and `upper` only where they are ASCII.
Assumes: arguments lie within their facts.
"""

from __future__ import annotations

from collections.abc import Callable

from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts
from obverse.plan.functions.base import (
    ANY,
    Arguments,
    Facts,
    Function,
    Printed,
    literal_integer,
    literal_text,
    mismatch,
    need,
)
from obverse.plan.functions.categorical import Known, anything, ascii_only, over_lists

PLACE_MAX = 2**31 - 1
Print = Callable[[Printed, Facts, Dialect], str]
Check = Callable[[Facts], None]


def strict(meaning: Callable[..., Value]) -> Callable[..., Value]:
    """The meaning, NULL where an argument is."""

    def reference(*values: Value) -> Value:
        return None if None in values else meaning(*values)

    return reference


def plain_call(name: str) -> Print:
    return lambda args, facts, d: d.call(name, *args)


def of_text(
    name: str,
    meaning: Callable[..., Value],
    proof: str,
    spoken: str,
    *,
    sql: Print | None = None,
    check: Check = lambda facts: None,
    known: Known = anything,
    arguments: Arguments = (ANY,),
    kind: Type = Type.TEXT,
) -> Function:
    """A function of a text and literals, NULL where the text is."""
    reference = strict(meaning)

    def derive(facts: Facts) -> ColumnFacts:
        need((Type.TEXT,), facts[:1], spoken.split("(")[0])
        check(facts)
        return over_lists(facts, kind, reference, known)

    return Function(name, derive, sql or plain_call(name), reference, proof, spoken, arguments)


def literal_places(what: str, *lows: int) -> Check:
    """The arguments after the first are literal integers, from these lows on."""

    def check(facts: Facts) -> None:
        for fact, low in zip(facts[1:], lows):
            literal_integer(fact, low, PLACE_MAX, f"{what}'s number")

    return check


def literal_texts(what: str, least: int = 0) -> Check:
    """The arguments after the first are literal texts, of so many characters at least."""

    def check(facts: Facts) -> None:
        for fact in facts[1:]:
            text = literal_text(fact)
            if text is None or len(text) < least:
                wanted = "literal texts" if least == 0 else "literal texts that are not empty"
                raise mismatch(f"{what} takes {wanted} after the first", "Write 'text'.")

    return check


CASE_PROOF = "letter by letter; listed where all is ASCII"
lower = of_text("lower", lambda x: x.lower(), CASE_PROOF, "LOWER(s)", known=ascii_only)
upper = of_text("upper", lambda x: x.upper(), CASE_PROOF, "UPPER(s)", known=ascii_only)


reverse = of_text("reverse", lambda x: x[::-1], "the same characters", "REVERSE(s)")
length = of_text(
    "length",
    len,
    "the number of characters",
    "LENGTH(s), CHAR_LENGTH(s)",
    sql=lambda args, facts, d: d.cast(d.call("length", args[0]), Type.INTEGER),
    kind=Type.INTEGER,
)

PLACES: tuple[Value, ...] = (0, 1, 2, 3, -1, -2, 7, 301, PLACE_MAX)
left = of_text(
    "left",
    lambda x, n: x[:n],
    "the first n characters, or all but the last -n",
    "LEFT(s, n)",
    check=literal_places("LEFT", -PLACE_MAX),
    arguments=(ANY, PLACES),
)
right = of_text(
    "right",
    lambda x, n: x[-n:] if n else "",
    "the last n characters, or all but the first -n",
    "RIGHT(s, n)",
    check=literal_places("RIGHT", -PLACE_MAX),
    arguments=(ANY, PLACES),
)
substring = of_text(
    "substring",
    lambda x, start, count: x[start - 1 : start - 1 + count],
    "characters of the text, from a place that is counted from 1",
    "SUBSTRING(s, start, count), SUBSTRING(s FROM start FOR count), SUBSTR(s, start)",
    check=literal_places("SUBSTRING", 1, 0),
    arguments=(ANY, (1, 2, 3, 7, 301, PLACE_MAX), (0, 1, 2, 5, PLACE_MAX)),
)

BLANKS: tuple[Value, ...] = (" ", "a", "aA", "éß", "")
trim = of_text(
    "trim",
    lambda x, signs: x.strip(signs) if signs else x,
    "characters left out at both ends",
    "TRIM(s), TRIM(BOTH 'signs' FROM s), BTRIM(s, 'signs')",
    sql=lambda args, facts, d: d.call("ltrim", d.call("rtrim", args[0], args[1]), args[1]),
    check=literal_texts("TRIM"),
    arguments=(ANY, BLANKS),
)
ltrim = of_text(
    "ltrim",
    lambda x, signs: x.lstrip(signs) if signs else x,
    "characters left out at the start",
    "LTRIM(s), LTRIM(s, 'signs')",
    check=literal_texts("LTRIM"),
    arguments=(ANY, BLANKS),
)
rtrim = of_text(
    "rtrim",
    lambda x, signs: x.rstrip(signs) if signs else x,
    "characters left out at the end",
    "RTRIM(s), RTRIM(s, 'signs')",
    check=literal_texts("RTRIM"),
    arguments=(ANY, BLANKS),
)


def _part(x: str, separator: str, place: int) -> str:
    parts = x.split(separator)
    place = place - 1 if place > 0 else len(parts) + place
    return parts[place] if 0 <= place < len(parts) else ""


def _split_check(facts: Facts) -> None:
    literal_texts("SPLIT_PART", 1)(facts[:2])
    if literal_integer(facts[2], -PLACE_MAX, PLACE_MAX, "SPLIT_PART's number") == 0:
        raise mismatch("SPLIT_PART counts parts from 1", "Write 1 for the first part, -1 for the last.")


split_part = of_text(
    "split_part",
    lambda x, separator, place: _part(x, separator, place),
    "a stretch of the text between two separators, or nothing",
    "SPLIT_PART(s, 'separator', n)",
    check=_split_check,
    arguments=(ANY, ("a", "aA", " ", "é", "%"), (1, 2, -1, -2, 7, PLACE_MAX)),
)

TEXTS = (lower, upper, reverse, length, left, right, substring, trim, ltrim, rtrim, split_part)
