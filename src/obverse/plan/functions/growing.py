"""Texts that may grow: CONCAT, ||, CONCAT_WS, REPLACE, LPAD, RPAD.

Claim:   each is total and gives at most 4,096 characters, and no more than 16 times that stand in memory for a row.
Proof:   at most 4,096 characters of each of at most 16 arguments are read, and of the whole as many are given. A literal
         that is put in is at most 16 times as long as the one it replaces; a padded text is as long as its literal says.
         So nesting does not multiply lengths.
Assumes: arguments lie within their facts.
"""

from __future__ import annotations

from collections.abc import Callable

from obverse.core.errors import Refused
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts
from obverse.plan.functions.arithmetic import as_type
from obverse.plan.functions.base import (
    ANY,
    Facts,
    Function,
    Printed,
    literal_number,
    literal_text,
    mismatch,
    need,
)
from obverse.plan.functions.categorical import over_lists, with_nulls
from obverse.plan.functions.text import literal_texts, strict

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
        raise mismatch(f"CONCAT_WS takes a literal separator of at most {GROWTH_MAX} characters", "Write CONCAT_WS('-', s, t).")
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
    old, new = literal_text(facts[1]) or "", literal_text(facts[2]) or ""
    if len(new) > GROWTH_MAX * len(old):
        raise mismatch(f"REPLACE puts in at most {GROWTH_MAX} times the characters that it takes out", "Put in less.")
    return over_lists(facts, Type.TEXT, strict(_replaced))


def _replaced(x: str, old: str, new: str) -> str:
    return x.replace(old, new) if len(new) <= len(old) else cut(cut(x).replace(old, new))


def _replace_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    old, new = literal_text(facts[1]) or "", literal_text(facts[2]) or ""
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
