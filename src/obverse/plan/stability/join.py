"""Pairs of rows: a unit's own with its own, or with public ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from obverse.core.bounds import UNBOUNDED, Unbounded
from obverse.core.errors import invariant
from obverse.core.sensitivity import Stability
from obverse.core.types import Type
from obverse.plan.expressions import Call, ColumnFacts, Expr, Ref, number_bounds, refs
from obverse.plan.relation import Facts, JoinKind
from obverse.plan.stability.filter import EXACT_DOUBLES

MANY = 1 << 20  # more rows of one unit than anybody means


def join(left: Facts, right: Facts, kind: JoinKind, on: tuple[Expr, ...], copies: int | None) -> Facts:
    """Facts of the pairs.

    Claim:   the rows of a unit are a function of its own rows and of public ones; where each row of a table is a unit
             of its own, it has at most `rows` partners.
    Proof:   two private sides are joined on their units too, so a pair belongs to one unit, and so does a row without a
             partner (FULL: whichever side it comes from, or both where a condition fails). A public side is the same in
             both neighbours; it stands on the right, so a row without a unit never stays. A row's partners share the
             values of the equated columns, of which the emitted SQL keeps `copies` rows at most.
    Assumes: conditions read the two rows alone.
    """
    invariant(not left.columns.keys() & right.columns.keys(), "names of two joined sides are disjoint")
    columns = {
        **(nullable(left.columns) if kind is JoinKind.FULL else left.columns),
        **(nullable(right.columns) if kind is not JoinKind.INNER else right.columns),
    }
    if left.stability is None:
        invariant(right.stability is None, "a private side never stands right of a public one")
        return Facts(uncounted(columns), None)
    if right.stability is None:
        invariant(kind is not JoinKind.FULL, "a public row has no unit")
        return Facts(uncounted(columns), with_public(left.stability, right, on, copies))
    invariant(left.stability.keyed and right.stability.keyed, "rows that are units of their own have no key to join on")
    apart = kind is JoinKind.FULL and bool(on)
    return Facts(columns, together(left.stability, right.stability, apart=apart))


def with_public(stability: Stability, right: Facts, on: tuple[Expr, ...], copies: int | None) -> Stability:
    """One unit's reach once its rows are paired with public ones."""
    if copies is not None:
        invariant(not isinstance(stability.rows, Unbounded), "partners are counted where rows are")
        assert not isinstance(stability.rows, Unbounded)
        most = stability.rows * copies
        rows = UNBOUNDED if stability.keyed else most  # rows with a key are limited by it
        return replace(stability, rows=rows, cap=most, always_present=False, groups=None)
    invariant(stability.keyed, "partners of a row that is a unit are counted")
    many = partners(right, on)  # none where all are NULL: rows of the left may stay all the same
    cap = None if stability.cap is None else min(stability.cap * (MANY if many is None else max(1, many)), MANY)
    return replace(
        stability, rows=UNBOUNDED, cap=cap, always_present=False, groups=stability.groups if many == 1 else None
    )


def together(left: Stability, right: Stability, *, apart: bool) -> Stability:
    """One unit's reach in the pairs of its own rows; `apart`: rows of both sides may stay without a partner."""
    if apart:
        cap = (
            None
            if left.cap is None or right.cap is None
            else min(max(left.cap * right.cap, left.cap + right.cap), MANY)
        )
        return Stability(left.neighbours, UNBOUNDED, cap=cap)
    cap = None if left.cap is None or right.cap is None else min(left.cap * right.cap, MANY)
    single = left.rows == right.rows == 1
    return Stability(left.neighbours, 1 if single else UNBOUNDED, cap=cap, groups=_groups(left, right))


def _groups(left: Stability, right: Stability) -> int | None:
    """Keys of pairs: those of one side where the other has one row, else nothing is known but the rows."""
    if left.cap == 1:
        return right.groups
    return left.groups if right.cap == 1 else None


def partners(right: Facts, on: tuple[Expr, ...]) -> int | None:
    """Rows of a public side that can equal one row on the other: the least of what its columns tell."""
    counted = [right.columns[ref.name].copies for ref in equated(on, right.columns)]
    return min((copies for copies in counted if copies is not None), default=None)


def equated(on: tuple[Expr, ...], right: Collection[str]) -> tuple[Ref, ...]:
    """Columns of the right side that have one value in all partners of a row: set equal to what the right does not
    tell.
    """
    found = []
    for term in on:
        if isinstance(term, Call) and term.function == "eq":
            for one, other in (term.args, term.args[::-1]):
                pinned = (
                    isinstance(one, Ref) and one.name in right and not any(ref.name in right for ref in refs(other))
                )
                if pinned and isinstance(one, Ref) and not _rounded(one, other):
                    found.append(one)
    return tuple(found)


def _rounded(column: Ref, other: Expr) -> bool:
    """Whether different integers of the column may equal one value: beside a double, the engine reads them as
    doubles.
    """
    if column.facts.type is not Type.INTEGER or other.facts.type is not Type.DOUBLE:
        return False
    bounds = number_bounds(column.facts)
    return bounds is None or bounds.magnitude > EXACT_DOUBLES


def uncounted(columns: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
    """Pairs repeat values: how often is not known any more."""
    return {name: replace(facts, copies=None) for name, facts in columns.items()}


def nullable(columns: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
    return {name: replace(facts, nullable=True) for name, facts in columns.items()}


def mark(left: Facts, name: str, *, unknown: bool) -> Facts:
    """Facts once each row on the left is told whether it has a partner.

    Claim:   a row goes to one row; what it is told depends on its unit's own rows and public ones.
    Proof:   partners are looked up among different values, so none is found twice; a private right side is looked up
             by unit too.
    Assumes: no column on the left has the name.
    """
    invariant(name not in left.columns, "a look-up has a name of its own")
    return Facts({**left.columns, name: ColumnFacts(Type.BOOLEAN, nullable=unknown)}, left.stability)
