"""Where one text stands in another: STARTS_WITH, ENDS_WITH, CONTAINS, POSITION.

Claim:   each is total and gives TRUE, FALSE, or a place from 0 to the length of the text.
Proof:   the text that is looked for is a literal, so a row is searched in time that is linear in it. The SQL counts and
         compares characters only.
Assumes: arguments lie within their facts.
"""

from __future__ import annotations

from collections.abc import Callable

from obverse.core.bounds import UNBOUNDED
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts
from obverse.plan.functions.base import ANY, Facts, Function, Printed, literal_text, need, tainted
from obverse.plan.functions.categorical import over_lists
from obverse.plan.functions.text import Print, literal_texts, strict

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
contains = _found("contains", lambda args, facts, d: f"({d.call('strpos', args[0], args[1])} > 0)", lambda x, part: part in x)


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
