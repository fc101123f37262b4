"""Aggregation within each unit: what a subquery grouped by the unit gives."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from obverse.core.bounds import Interval, interval
from obverse.core.errors import invariant
from obverse.core.sensitivity import Stability
from obverse.core.types import Type
from obverse.plan.expressions import ColumnFacts, Expr, domain, empty_bounds, key_named
from obverse.plan.functions.base import always_null
from obverse.plan.measures import Term, bounded, sum_term
from obverse.plan.relation import Facts, Fold

PUBLIC_ROWS = 1 << 31
LEARNING_ROWS = 1 << 16  # of a unit whose limits are still to be learned


def reduce(facts: Facts, keys: tuple[tuple[str, Expr], ...], folds: tuple[Fold, ...], unit: str) -> Facts:
    """Facts of one row per unit and combination of keys.

    Claim:   every value lies within the returned facts; a unit's rows are a function of its own; it has one row where
             the keys are the unit's own key alone.
    Proof:   rows are grouped by unit and keys, of which the unit's own key tells no rows of one unit apart: it stands
             in all of them (one that an outer join may have left NULL is a value like any other). Counts are clamped to
             the rows that are meant, sums are added as integers on their grid, in any order the same, and clamped as a
             unit's own total is; AVG, MIN and MAX lie between their argument's bounds, AVG clamped to them. A unit has
             no more groups than rows.
    Assumes: the child's rows of a unit are its own.
    """
    columns = {name: replace(expr.facts, names=key_named(expr), copies=None) for name, expr in keys}
    stability = facts.stability
    there = bool(keys) or stability is not None  # all public rows together are one group, be there any or none
    columns |= {fold.name: fold_facts(fold, always_there=there) for fold in folds}
    if stability is None:
        if len(keys) == 1:
            columns[keys[0][0]] = replace(columns[keys[0][0]], copies=1)
        return Facts(columns, None)
    invariant(stability.keyed, "rows that are units of their own are not grouped by them")
    others = [expr for _, expr in keys if key_named(expr) != unit]
    if not others:
        return Facts(columns, Stability(stability.neighbours, 1))
    sizes = [_size(expr) for expr in others]
    known = [size for size in sizes if size is not None]
    cap = stability.cap
    if cap is not None and len(known) == len(sizes):
        cap = min(cap, math.prod(known))
    return Facts(columns, Stability(stability.neighbours, stability.rows, cap=cap))


def _size(expr: Expr) -> int | None:
    values = domain(expr.facts, 1 << 16)
    return None if values is None else max(1, len(values) + expr.facts.nullable)


def fold_facts(fold: Fold, *, always_there: bool) -> ColumnFacts:
    """Facts of one aggregate within a unit; a group has a row, so only its argument can make it NULL."""
    argument = fold.expr
    if fold.kind in ("count", "count_distinct"):
        least = 1 if always_there and (argument is None or not argument.facts.nullable) else 0
        return ColumnFacts(Type.INTEGER, False, interval(least, fold.rows), Fraction(1))
    assert argument is not None
    nullable = argument.facts.nullable or not always_there
    if always_null(argument.facts):
        return ColumnFacts(argument.facts.type, True, empty_bounds(argument.facts.type))
    if fold.kind in ("min", "max"):
        return replace(argument.facts, nullable=nullable, names="", copies=None, sum_cap=None)
    if fold.kind == "avg":
        bounds = bounded(argument)
        return ColumnFacts(Type.DOUBLE, nullable, doubled(bounds))
    term, low, high = fold_range(fold)
    kind = sum_type(argument, term)
    step = term.unit if kind is Type.INTEGER or argument.facts.step is not None else None
    if kind is Type.INTEGER:
        return ColumnFacts(kind, nullable, Interval(low * term.unit, high * term.unit), step)
    lo, hi = (Fraction(float(end) * float(term.unit)) for end in (low, high))  # rounded twice, as the engine does
    return ColumnFacts(kind, nullable, Interval(lo, hi), step)


def sum_type(argument: Expr, term: Term) -> Type:
    """Whole numbers stay whole where their grid is one."""
    return Type.INTEGER if argument.facts.type is Type.INTEGER and term.unit == 1 else Type.DOUBLE


def fold_range(fold: Fold) -> tuple[Term, int, int]:
    """The integers that a unit's sum is clamped to."""
    assert fold.expr is not None
    term = sum_term(fold.expr, fold.rows, most=fold.expr.facts.sum_cap, bits=fold.bits)
    low = min(0, fold.rows * term.lo)
    high = max(0, fold.rows * term.hi)
    if fold.expr.facts.sum_cap is not None:
        cap = max(1, int(fold.expr.facts.sum_cap / term.unit))
        low = max(low, -cap)
        high = min(high, cap)
    return term, low, high


def doubled(bounds: Interval) -> Interval:
    return Interval(Fraction(float(bounds.lo)), Fraction(float(bounds.hi)))
