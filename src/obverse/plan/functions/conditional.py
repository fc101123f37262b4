"""Choices between values: CASE, COALESCE, NULLIF.

Claim:   each is total and its value is one of its branches, so it lies in the join of their bounds.
Proof:   the join of the branches' bounds holds each of them (law 1); only total branches exist, so evaluation order
         cannot matter.
Assumes: branches were read as one common type.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from obverse.core.types import Type, Value
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts
from obverse.plan.functions.arithmetic import as_type
from obverse.plan.functions.base import (
    Facts,
    Function,
    Printed,
    always_null,
    common_type,
    join_all,
    mismatch,
    need,
    tainted,
)
from obverse.plan.functions.comparison import differ


def _join(facts: Facts, branches: Facts, what: str, null: bool) -> ColumnFacts:
    kind = common_type(branches, what)
    steps = {b.step for b in branches if not always_null(b)}
    step = steps.pop() if len(steps) == 1 else Fraction(1) if kind is Type.INTEGER else None
    return ColumnFacts(kind, null, join_all(branches, kind), step, tainted(facts))


def _branches(facts: Facts) -> Facts:
    """Of (condition, value, condition, value, ..., otherwise) the values."""
    return facts[1:-1:2] + facts[-1:]


def _case_facts(facts: Facts) -> ColumnFacts:
    need((Type.BOOLEAN,), facts[0:-1:2], "CASE WHEN")
    branches = _branches(facts)
    return _join(facts, branches, "CASE", any(b.nullable for b in branches))


def _case_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    kind = common_type(_branches(facts), "CASE")
    values = as_type(_branches_text(args), _branches(facts), kind, d)
    conditions = as_type(args[0:-1:2], facts[0:-1:2], Type.BOOLEAN, d)
    arms = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(conditions, values[:-1]))
    return f"(CASE {arms} ELSE {values[-1]} END)"


def _branches_text(args: Printed) -> Printed:
    return args[1:-1:2] + args[-1:]


def _case_meaning(*values: Value) -> Value:
    for condition, value in zip(values[0:-1:2], values[1:-1:2]):
        if condition is True:
            return value
    return values[-1]


SPOKEN = "CASE WHEN c THEN x ... ELSE y END, CASE a WHEN b THEN x END"
case = Function("case", _case_facts, _case_sql, _case_meaning, "one of the branches", SPOKEN)


def _coalesce_facts(facts: Facts) -> ColumnFacts:
    return _join(facts, facts, "COALESCE", all(f.nullable for f in facts))


coalesce = Function(
    "coalesce",
    _coalesce_facts,
    lambda args, facts, d: f"COALESCE({', '.join(as_type(args, facts, common_type(facts, 'COALESCE'), d))})",
    lambda *values: next((v for v in values if v is not None), None),
    "one of the arguments",
    "COALESCE(a, b, ...), IFNULL(a, b)",
)


def _nullif_facts(facts: Facts) -> ColumnFacts:
    common_type(facts, "NULLIF")
    if always_null(facts[0]):
        raise mismatch("NULLIF's first argument is always NULL")
    return replace(facts[0], nullable=True, identifies=tainted(facts), names="", copies=None, sum_cap=None)


def _nullif_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    left, right = as_type(args, facts, common_type(facts, "NULLIF"), d)
    return f"(CASE WHEN {left} = {right} THEN NULL ELSE {args[0]} END)"


nullif = Function(
    "nullif",
    _nullif_facts,
    _nullif_sql,
    lambda a, b: None if a is not None and b is not None and not differ(a, b) else a,
    "the first argument or NULL",
    "NULLIF(a, b)",
)

CONDITIONAL = (case, coalesce, nullif)
