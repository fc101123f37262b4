"""Named expressions over a relation's rows, and a bounded number of each unit's rows."""

from __future__ import annotations

from dataclasses import replace

from obverse.plan.expressions import Expr, key_named
from obverse.plan.relation import Facts


def project(facts: Facts, columns: tuple[tuple[str, Expr], ...]) -> Facts:
    """Facts of the named expressions.

    Claim:   every value lies within its expression's facts; each unit keeps its rows.
    Proof:   an expression's facts were derived over those of the columns it reads; a row goes to one row.
    Assumes: expressions are total and read their row alone.
    """
    named = {name: replace(expr.facts, names=key_named(expr)) for name, expr in columns}
    return Facts(named, facts.stability)


def trim(facts: Facts, rows: int) -> Facts:
    """Facts once each unit keeps at most `rows` rows.

    Claim:   a unit's rows are some of its own, and no more than `rows`.
    Proof:   they are chosen by a hash of the row and a key that is drawn for the question, within the unit; rows that
             are alike are interchangeable.
    Assumes: nothing.
    """
    if facts.stability is None:
        return facts
    cap = None if facts.stability.cap is None else min(facts.stability.cap, rows)
    kept = replace(facts.stability, always_present=False, cap=cap)
    return Facts(facts.columns, replace(kept, rows=1, cap=1) if rows == 1 else kept)
