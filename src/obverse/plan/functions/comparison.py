"""Predicates: comparisons, IN, LIKE, IS NULL, and three-valued logic.

Claim:   each is total and gives TRUE, FALSE or NULL.
Proof:   comparisons of one common type never raise; a LIKE pattern is a literal, matched in time linear in the text for
         each of its at most 100 wildcards; AND, OR, NOT are the three-valued tables.
Assumes: the pattern and the members of an IN list are literals (held by resolve).
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from obverse.core.bounds import UNBOUNDED
from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.dialects.patterns import folded, like_parts, matches
from obverse.plan.expressions import ColumnFacts
from obverse.plan.functions.arithmetic import as_type
from obverse.plan.functions.base import (
    Facts,
    Function,
    Printed,
    aligned,
    any_null,
    common_type,
    literal_text,
    mismatch,
    need,
    ranked,
    tainted,
)


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
        return None if a is None or b is None else f(*map(ranked, aligned(a, b)))

    return Function(name, derive, printed, reference, "a comparison of one type never raises", f"a {sign} b")


eq = _compare("eq", "=", operator.eq)
ne = _compare("ne", "<>", operator.ne)
lt = _compare("lt", "<", operator.lt)
le = _compare("le", "<=", operator.le)
gt = _compare("gt", ">", operator.gt)
ge = _compare("ge", ">=", operator.ge)


def differ(a: Value, b: Value) -> bool:
    """Whether two values that are not NULL differ, once read as one type."""
    left, right = map(ranked, aligned(a, b))
    return left != right


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
    lambda a, b: (a is None) != (b is None) or (a is not None and differ(a, b)),
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
    x, *listed = aligned(x, *members)
    if x is None:
        return None
    if any(m is not None and ranked(m) == ranked(x) for m in listed):
        return True
    return None if None in members else False


in_list = Function("in_list", _in_facts, _in_sql, _in_meaning, "a disjunction of comparisons", "a IN (literal, ...)")


def _like_facts(fold: Callable[[str], str]) -> Callable[[Facts], ColumnFacts]:
    def derive(facts: Facts) -> ColumnFacts:
        need((Type.TEXT,), facts, "LIKE")
        pattern, *escape = (literal_text(fact) for fact in facts[1:])
        if pattern is None or any(sign is None or len(sign.encode()) != 1 for sign in escape):
            raise mismatch("LIKE takes a literal pattern, and one ASCII sign as its escape", "Write LIKE 'abc%'.")
        if like_parts(fold(pattern), fold(escape[0] or "") if escape else None) is None:
            raise mismatch("this pattern ends in its escape sign", "Put a sign behind it, or leave it out.")
        return _truth(facts, facts[0].nullable)

    return derive


def _like_sql(*, fold: bool) -> Callable[[Printed, Facts, Dialect], str]:
    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        pattern, escape = (literal_text(fact) or "" for fact in (*facts, facts[1])[1:3])
        return d.like(args[0], pattern, escape if len(args) == 3 else "", folded=fold)

    return printed


def _like_meaning(fold: Callable[[str], str]) -> Callable[..., Value]:
    def reference(x: Value, pattern: Value, escape: Value = None) -> Value:
        if x is None or pattern is None:
            return None
        parts = like_parts(fold(str(pattern)), None if escape is None else fold(str(escape)))
        return parts is not None and matches(fold(str(x)), parts)

    return reference


LIKE_PROOF = "the pattern is a literal that no text can make the engine refuse; each text is matched in bounded time"
like = Function("like", _like_facts(str), _like_sql(fold=False), _like_meaning(str), LIKE_PROOF, "a LIKE 'pattern'")
ilike = Function(
    "ilike", _like_facts(folded), _like_sql(fold=True), _like_meaning(folded), LIKE_PROOF, "a ILIKE 'pattern'"
)


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


def _logic_sql(word: str) -> Callable[[Printed, Facts, Dialect], str]:
    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        return f"({f' {word} '.join(as_type(args, facts, Type.BOOLEAN, d))})"

    return printed


conjunction = Function("and", _logic_facts("AND"), _logic_sql("AND"), _and, "three-valued logic", "a AND b")
disjunction = Function("or", _logic_facts("OR"), _logic_sql("OR"), _or, "three-valued logic", "a OR b")
negation = Function(
    "not",
    _logic_facts("NOT"),
    lambda a, f, d: f"(NOT {a[0]})",
    lambda a: None if a is None else not a,
    "three-valued logic",
    "NOT a",
)

COMPARISON = (eq, ne, lt, le, gt, ge, distinct_from, is_null, in_list, like, ilike, conjunction, disjunction, negation)
