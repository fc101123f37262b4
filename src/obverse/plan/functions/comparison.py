"""Predicates: comparisons, IN, LIKE, IS NULL, and three-valued logic.

Claim:   each is total and gives TRUE, FALSE or NULL.
Proof:   comparisons of one common type never raise; a LIKE pattern is a literal, matched in time linear in the text for
         each of its at most 100 wildcards; AND, OR, NOT are the three-valued tables.
Assumes: the pattern and the members of an IN list are literals (held by resolve).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from obverse.core.bounds import UNBOUNDED
from obverse.core.types import Type, Value
from obverse.plan.expressions import ColumnFacts
from obverse.plan.functions.arithmetic import as_type
from obverse.plan.functions.base import Dialect, Facts, Function, Printed, any_null, common_type, need, tainted


def _truth(facts: Facts, null: bool) -> ColumnFacts:
    return ColumnFacts(Type.BOOLEAN, null, UNBOUNDED, None, tainted(facts))


def _compare(name: str, sign: str, f: Callable[..., bool]) -> Function:
    def derive(facts: Facts) -> ColumnFacts:
        common_type(facts, sign)
        return _truth(facts, any_null(facts))

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        left, right = as_type(args, facts, common_type(facts, sign), d)
        return f"({left} {sign} {right})"

    def reference(a: Value, b: Value) -> Value:
        return None if a is None or b is None else f(a, b)

    return Function(name, derive, printed, reference, "a comparison of one type never raises", f"a {sign} b")


eq = _compare("eq", "=", operator.eq)
ne = _compare("ne", "<>", operator.ne)
lt = _compare("lt", "<", operator.lt)
le = _compare("le", "<=", operator.le)
gt = _compare("gt", ">", operator.gt)
ge = _compare("ge", ">=", operator.ge)


def _distinct_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    left, right = as_type(args, facts, common_type(facts, "IS DISTINCT FROM"), d)
    return f"({left} IS DISTINCT FROM {right})"


def _distinct_facts(facts: Facts) -> ColumnFacts:
    common_type(facts, "IS DISTINCT FROM")
    return _truth(facts, False)


distinct_from = Function(
    "distinct_from",
    _distinct_facts,
    _distinct_sql,
    lambda a, b: (a is None) != (b is None) or (a is not None and a != b),
    "never NULL",
    "a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b",
)

is_null = Function(
    "is_null",
    lambda facts: _truth(facts, False),
    lambda args, facts, d: f"({args[0]} IS NULL)",
    lambda a: a is None,
    "never NULL",
    "a IS NULL, a IS NOT NULL",
)


def _in_facts(facts: Facts) -> ColumnFacts:
    common_type(facts, "IN")
    return _truth(facts, any_null(facts))


def _in_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    first, *rest = as_type(args, facts, common_type(facts, "IN"), d)
    return f"({first} IN ({', '.join(rest)}))"


def _in_meaning(x: Value, *members: Value) -> Value:
    if x is None:
        return None
    if any(m is not None and m == x for m in members):
        return True
    return None if None in members else False


in_list = Function("in_list", _in_facts, _in_sql, _in_meaning, "a disjunction of comparisons", "a IN (literal, ...)")


def like_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    """A LIKE pattern as a regular expression without nested repeats."""
    parts, i = [], 0
    while i < len(pattern):
        c = pattern[i]
        if escape is not None and c == escape and i + 1 < len(pattern):
            i += 1
            parts.append(re.escape(pattern[i]))
        else:
            parts.append(".*" if c == "%" else "." if c == "_" else re.escape(c))
        i += 1
    return re.compile("".join(parts), re.DOTALL)


def _like_facts(facts: Facts) -> ColumnFacts:
    need((Type.TEXT,), facts, "LIKE")
    return _truth(facts, any_null(facts))


def _like_sql(word: str) -> Callable[[Printed, Facts, Dialect], str]:
    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        escape = f" ESCAPE {args[2]}" if len(args) == 3 else ""
        return f"({args[0]} {word} {args[1]}{escape})"

    return printed


def _like_meaning(x: Value, pattern: Value, escape: Value = None) -> Value:
    if x is None or pattern is None:
        return None
    return like_pattern(str(pattern), None if escape is None else str(escape)).fullmatch(str(x)) is not None


def _ilike_meaning(x: Value, pattern: Value, escape: Value = None) -> Value:
    if x is None or pattern is None:
        return None
    return _like_meaning(str(x).lower(), str(pattern).lower(), escape)


LIKE_PROOF = "the pattern is a literal without nested repeats: no backtracking beyond its wildcards"
like = Function("like", _like_facts, _like_sql("LIKE"), _like_meaning, LIKE_PROOF, "a LIKE 'pattern'")
ilike = Function("ilike", _like_facts, _like_sql("ILIKE"), _ilike_meaning, LIKE_PROOF, "a ILIKE 'pattern'")


def _logic_facts(word: str) -> Callable[[Facts], ColumnFacts]:
    def derive(facts: Facts) -> ColumnFacts:
        need((Type.BOOLEAN,), facts, word)
        return _truth(facts, any_null(facts))

    return derive


def _and(*values: Value) -> Value:
    if any(v is False for v in values):
        return False
    return None if None in values else True


def _or(*values: Value) -> Value:
    if any(v is True for v in values):
        return True
    return None if None in values else False


conjunction = Function(
    "and", _logic_facts("AND"), lambda a, f, d: f"({' AND '.join(a)})", _and, "three-valued logic", "a AND b"
)
disjunction = Function("or", _logic_facts("OR"), lambda a, f, d: f"({' OR '.join(a)})", _or, "three-valued logic", "a OR b")
negation = Function(
    "not",
    _logic_facts("NOT"),
    lambda a, f, d: f"(NOT {a[0]})",
    lambda a: None if a is None else not a,
    "three-valued logic",
    "NOT a",
)

COMPARISON = (eq, ne, lt, le, gt, ge, distinct_from, is_null, in_list, like, ilike, conjunction, disjunction, negation)
