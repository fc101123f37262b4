"""Pairs of rows: a unit's own with its own, or with public ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from obverse.core.bounds import UNBOUNDED, Unbounded
from obverse.core.errors import invariant
from obverse.core.sensitivity import Stability
from obverse.core.types import Type
from obverse.plan.expressions import Call, ColumnFacts, Expr, refs
from obverse.plan.facts import Facts
from obverse.plan.nodes import JoinKind

MANY = 1 << 20  # more rows of one unit than anybody means


def join(left: Facts, right: Facts, kind: JoinKind, on: tuple[Expr, ...], copies: int | None) -> Facts:
    """Facts of the pairs.

    Claim:   the rows of a unit are a function of its own rows and of public ones; where each row of a table is a unit of
             its own, it has at most `rows` partners.
    Proof:   two private sides are joined on their units too, so a pair belongs to one unit, and so does a row without a
             partner (FULL: whichever side it comes from). A public side is the same in both neighbours; it stands on
             the right, so a row without a unit never stays. `copies` partners are kept at most, by the emitted SQL.
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
    return Facts(columns, together(left.stability, right.stability))


def with_public(stability: Stability, right: Facts, on: tuple[Expr, ...], copies: int | None) -> Stability:
    """One unit's reach once its rows are paired with public ones."""
    if copies is not None:
        invariant(not isinstance(stability.rows, Unbounded), "partners are counted where rows are")
        assert not isinstance(stability.rows, Unbounded)
        return replace(stability, rows=stability.rows * copies, cap=stability.rows * copies, always_present=False)
    invariant(stability.keyed, "partners of a row that is a unit are counted")
    many = partners(right, on)
    cap = None if stability.cap is None else min(stability.cap * (MANY if many is None else many), MANY)
    return replace(stability, rows=UNBOUNDED, cap=cap, always_present=False)


def together(left: Stability, right: Stability) -> Stability:
    """One unit's reach in the pairs of its own rows."""
    cap = None if left.cap is None or right.cap is None else min(left.cap * right.cap, MANY)
    single = left.rows == right.rows == 1
    return Stability(left.neighbours, 1 if single else UNBOUNDED, cap=cap)


def partners(right: Facts, on: tuple[Expr, ...]) -> int | None:
    """Rows of a public side that can equal one row on the other: the least of what its columns tell."""
    found = None
    for term in on:
        if isinstance(term, Call) and term.function == "eq":
            for ref in refs(term):
                copies = right.columns[ref.name].copies if ref.name in right.columns else None
                if copies is not None and ref in term.args:
                    found = copies if found is None else min(found, copies)
    return found


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
    Assumes: nothing.
    """
    return Facts({**left.columns, name: ColumnFacts(Type.BOOLEAN, nullable=unknown)}, left.stability)
