"""All rows of several relations."""

from __future__ import annotations

from dataclasses import replace

from obverse.core.bounds import Unbounded
from obverse.core.errors import invariant
from obverse.core.sensitivity import Stability
from obverse.plan.expressions import ColumnFacts
from obverse.plan.functions.base import any_null, join_all, tainted
from obverse.plan.relation import Facts


def union(children: tuple[Facts, ...]) -> Facts:
    """Facts of all rows.

    Claim:   values lie in the join of the children's bounds; a unit has the rows that it has in all of them, and a
             public value those that it has in all of them.
    Proof:   a row of the union is a row of one child, with the same unit.
    Assumes: columns have the same names and types, and all children are private or all public.
    """
    first = children[0].columns
    columns = {name: _column(tuple(child.columns[name] for child in children)) for name in first}
    found = [child.stability for child in children]
    known = [stability for stability in found if stability is not None]
    invariant(len(known) in (0, len(found)), "a union of private and public rows")
    return Facts(columns, _stability(known) if known else None)


def _column(facts: tuple[ColumnFacts, ...]) -> ColumnFacts:
    invariant(len({f.type for f in facts}) == 1, "columns of a union have one type")
    kind = facts[0].type
    copies = [f.copies for f in facts if f.copies is not None]
    names = {f.names for f in facts}
    steps = {f.step for f in facts}
    return replace(
        facts[0],
        nullable=any_null(facts),
        bounds=join_all(facts, kind),
        step=steps.pop() if len(steps) == 1 else None,
        identifies=tainted(facts),
        names=names.pop() if len(names) == 1 else "",
        copies=sum(copies) if len(copies) == len(facts) else None,
        sum_cap=None,
    )


def _stability(found: list[Stability]) -> Stability:
    invariant(len({s.keyed for s in found}) == 1, "rows of one kind of unit")
    # those with a key are limited by it
    rows = [s.rows for s in found if not isinstance(s.rows, Unbounded) and not s.keyed]
    caps = [s.cap for s in found if s.cap is not None]
    return replace(
        found[0],
        rows=sum(rows) if len(rows) == len(found) else Unbounded(),
        always_present=False,
        cap=sum(caps) if len(caps) == len(found) else None,
        groups=None,
    )
