"""Texts that do not grow: case, parts, blanks.

Claim:   each is total, and gives at most as many characters as it reads.
Proof:   letters change one by one, or some are left out. Numbers and separators are literals within ranges on which no
         engine raises. Characters are Unicode code points, in the engines as in Python; only the case of some letters
         differs, so public lists are mapped by `lower` and `upper` only where they are ASCII.
Assumes: arguments lie within their facts.

Texts that may grow: CONCAT, ||, CONCAT_WS, REPLACE, LPAD, RPAD.

Claim:   each is total and gives at most 4,096 characters, and no more than 16 times that stand in memory for a row.
Proof:   at most 4,096 characters of each of at most 16 arguments are read, and of the whole as many are given. A
         literal that is put in is at most 16 times as long as the one it replaces; a padded text is as long as its
         literal says. So nesting does not multiply lengths.
Assumes: arguments lie within their facts.

Where one text stands in another: STARTS_WITH, ENDS_WITH, CONTAINS, POSITION.

Claim:   each is total and gives TRUE, FALSE, or a place from 0 to the length of the text.
Proof:   the text that is looked for is a literal, so a row is searched in time that is linear in it. The SQL counts and
         compares characters only.
Assumes: arguments lie within their facts.
"""

from __future__ import annotations

from collections.abc import Callable

from obverse.core.bounds import UNBOUNDED
from obverse.core.errors import Refused
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts
from obverse.plan.functions.arithmetic import as_type
from obverse.plan.functions.base import (
    ANY,
    Arguments,
    Facts,
    Function,
    Printed,
    literal_integer,
    literal_number,
    literal_text,
    mismatch,
    need,
    tainted,
)
from obverse.plan.functions.categorical import Known, anything, ascii_only, over_lists, with_nulls

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


LENGTH_MAX = 4096
GROWTH_MAX = 16


def cut(text: str) -> str:
    return text[:LENGTH_MAX]


def _cut(sql: str, d: Dialect) -> str:
    return d.call("left", sql, str(LENGTH_MAX))


def _pieces(args: Printed, facts: Facts, d: Dialect) -> Printed:
    """The arguments as texts, each cut; a short literal stays as it is."""
    typed = as_type(args, facts, Type.TEXT, d)
    return tuple(arg if _short(literal_text(fact)) else _cut(arg, d) for arg, fact in zip(typed, facts))


def _short(text: str | None) -> bool:
    return text is not None and len(text) <= LENGTH_MAX


def _need_texts(facts: Facts, what: str) -> None:
    need((Type.TEXT,), facts, what)
    if len(facts) > GROWTH_MAX:
        raise mismatch(f"{what} takes at most {GROWTH_MAX} texts", "Join fewer texts.")


def _joined(*values: Value) -> Value:
    return cut("".join(cut(str(v)) for v in values if v is not None))


def _concat_facts(facts: Facts) -> ColumnFacts:
    _need_texts(facts, "CONCAT")
    return with_nulls(facts, Type.TEXT, _joined)


concat = Function(
    "concat",
    _concat_facts,
    lambda args, facts, d: _cut(d.call("concat", *_pieces(args, facts, d)), d),
    _joined,
    "cut before and after; NULLs are passed over",
    "CONCAT(s, t, ...)",
    (ANY,),
    more=True,
)


def _join_facts(facts: Facts) -> ColumnFacts:
    _need_texts(facts, "||")
    return over_lists(facts, Type.TEXT, strict(_joined))


join_texts = Function(
    "join_texts",
    _join_facts,
    lambda args, facts, d: _cut(f"({' || '.join(_pieces(args, facts, d))})", d),
    strict(_joined),
    "cut before and after",
    "s || t",
    (ANY, ANY),
    more=True,
)


def _joined_with(separator: Value, *values: Value) -> Value:
    return cut(str(separator).join(cut(str(v)) for v in values if v is not None))


def _concat_ws_facts(facts: Facts) -> ColumnFacts:
    _need_texts(facts, "CONCAT_WS")
    separator = literal_text(facts[0])
    if separator is None or len(separator) > GROWTH_MAX:
        raise mismatch(
            f"CONCAT_WS takes a literal separator of at most {GROWTH_MAX} characters", "Write CONCAT_WS('-', s, t)."
        )
    return with_nulls(facts, Type.TEXT, _joined_with)


concat_ws = Function(
    "concat_ws",
    _concat_ws_facts,
    lambda args, facts, d: _cut(d.call("concat_ws", *_pieces(args, facts, d)), d),
    _joined_with,
    "cut before and after; NULLs are passed over",
    "CONCAT_WS('separator', s, t, ...)",
    (("-", "", "é, "), ANY),
    more=True,
)


def _replace_facts(facts: Facts) -> ColumnFacts:
    need((Type.TEXT,), facts, "REPLACE")
    literal_texts("REPLACE", 1)(facts[:2])
    literal_texts("REPLACE")(facts[::2])
    old = literal_text(facts[1]) or ""
    new = literal_text(facts[2]) or ""
    if len(new) > GROWTH_MAX * len(old):
        raise mismatch(f"REPLACE puts in at most {GROWTH_MAX} times the characters that it takes out", "Put in less.")
    return over_lists(facts, Type.TEXT, strict(_replaced))


def _replaced(x: str, old: str, new: str) -> str:
    return x.replace(old, new) if len(new) <= len(old) else cut(cut(x).replace(old, new))


def _replace_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    old = literal_text(facts[1]) or ""
    new = literal_text(facts[2]) or ""
    if len(new) <= len(old):
        return d.call("replace", *args)
    return _cut(d.call("replace", _cut(args[0], d), args[1], args[2]), d)


replaced = Function(
    "replace",
    _replace_facts,
    _replace_sql,
    strict(_replaced),
    "shorter or as long where less is put in than taken out, else cut before and after",
    "REPLACE(s, 'old', 'new')",
    (ANY, ("a", "aA", "é", "x", " "), ("", "b", "ßé", "0123456789abcdef")),
)


def _literal_length(fact: ColumnFacts, what: str) -> int:
    number = literal_number(fact) if fact.type is Type.INTEGER else None
    if number is None or not 0 <= number <= LENGTH_MAX:
        raise Refused(
            "function_not_allowed",
            f"{what} is allowed only with a literal length from 0 to {LENGTH_MAX}",
            why="a length from a row would let one row take any amount of memory",
            fix=f"Write {what}(s, 10, ' ').",
        )
    return int(number)


def _pad_facts(what: str, meaning: Callable[..., Value]) -> Callable[[Facts], ColumnFacts]:
    def derive(facts: Facts) -> ColumnFacts:
        need((Type.TEXT,), facts[::2], what)
        _literal_length(facts[1], what)
        literal_texts(what, 1)(facts[1:])
        return over_lists(facts, Type.TEXT, strict(meaning))

    return derive


def _pad(name: str, meaning: Callable[[str, str], str]) -> Function:
    def padded(x: str, length: int, fill: str) -> str:
        missing = length - len(x)
        return x[:length] if missing <= 0 else meaning(x, (fill * missing)[:missing])

    return Function(
        name,
        _pad_facts(name.upper(), padded),
        lambda args, facts, d: d.call(name, args[0], str(_literal_length(facts[1], name)), args[2]),
        strict(padded),
        "as long as its literal says",
        f"{name.upper()}(s, n), {name.upper()}(s, n, 'fill')",
        (ANY, (0, 1, 3, 7, 301), (" ", "ab", "é")),
    )


lpad = _pad("lpad", lambda x, fill: fill + x)
rpad = _pad("rpad", lambda x, fill: x + fill)

GROWING = (concat, join_texts, concat_ws, replaced, lpad, rpad)


NEEDLES: tuple[Value, ...] = ("", "a", "aA", "k1", "é", "ß", "%", "x" * 300)


def _found(name: str, sql: Print, meaning: Callable[[str, str], bool]) -> Function:
    """A question about the text that is answered with yes or no."""

    def derive(facts: Facts) -> ColumnFacts:
        need((Type.TEXT,), facts, name.upper())
        literal_texts(name.upper())(facts)
        return ColumnFacts(Type.BOOLEAN, facts[0].nullable, UNBOUNDED, None, tainted(facts))

    proof = "a comparison of characters"
    return Function(name, derive, sql, strict(meaning), proof, f"{name.upper()}(s, 'text')", (ANY, NEEDLES))


def _end(side: str) -> Print:
    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        return f"({d.call(side, args[0], str(len(literal_text(facts[1]) or '')))} = {args[1]})"

    return printed


starts_with = _found("starts_with", _end("left"), lambda x, part: x.startswith(part))
ends_with = _found("ends_with", _end("right"), lambda x, part: x.endswith(part))
contains = _found(
    "contains", lambda args, facts, d: f"({d.call('strpos', args[0], args[1])} > 0)", lambda x, part: part in x
)


def _place(x: str, part: str) -> int:
    return x.find(part) + 1


def _position_facts(facts: Facts) -> ColumnFacts:
    need((Type.TEXT,), facts, "POSITION")
    literal_texts("POSITION")(facts)
    return over_lists(facts, Type.INTEGER, strict(_place))


position = Function(
    "position",
    _position_facts,
    lambda args, facts, d: d.cast(d.call("strpos", args[0], args[1]), Type.INTEGER),
    strict(_place),
    "0 where it is not found, else the place of its first character",
    "POSITION('text' IN s), STRPOS(s, 'text'), INSTR(s, 'text')",
    (ANY, NEEDLES),
)

SEARCH = (starts_with, ends_with, contains, position)
