"""The exact vectors that mechanisms see, and what two neighbours reach of a plan's claims: for all forms of emitted
SQL.

Sums, different values and units have one entry per cell, a tree one per cell and node of every level, a choice one per
cell and value. A cell is told by the values of the discovered keys and its number among the public ones; absent entries
are zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from obverse.core.units import Neighbours
from obverse.plan.measures import Measure
from obverse.plan.sensitivity import MeasuredPlan
from obverse.testing.conformance.aggregate import Claimed

Found = tuple[str, ...]  # values of the discovered keys, told apart as far as an answer shows them
Entry = tuple[Found, int, int, int]  # keys, public cell, level, node
KEYS = -2  # stands for the discovered keys where a claim names its measure


@dataclass(frozen=True, slots=True)
class Exact:
    """All that one database gives to the mechanisms: units that vote for each discovered key, and each measure's
    vector.
    """

    votes: Mapping[Found, int]
    vectors: tuple[Mapping[Entry, int], ...]

    @property
    def totals(self) -> tuple[int, ...]:
        return tuple(sum(vector.values()) for vector in self.vectors)


def exact(plan: MeasuredPlan, columns: Mapping[str, Any]) -> Exact:
    """What the engine's columns stand for; that no entry stands twice is checked."""
    if plan.root.keyed:
        told = _told(plan, columns, len(columns["n"]))
        keyed = [_once([((found, 0, 0, 0), m) for found, m in zip(told, columns[f"m{i}"].tolist())])
                 for i in range(len(plan.measures))]  # fmt: skip
        return Exact(_once(list(zip(told, columns["n"].tolist()))), tuple(keyed))
    if "part" not in columns:
        vectors = [_once([(((), int(k), 0, 0), int(m)) for k, m in zip(columns["k"], columns[f"m{i}"])])
                   for i in range(len(plan.measures))]  # fmt: skip
        return Exact({}, tuple(vectors))
    told = _told(plan, columns, len(columns["part"]))
    rows = list(
        zip(columns["part"].tolist(), told, columns["k"].tolist(), columns["leaf"].tolist(), columns["m"].tolist())
    )
    votes = _once([(found, m) for part, found, _, _, m in rows if part == -1])
    found_vectors: list[Mapping[Entry, int]] = []
    for i, measure in enumerate(plan.measures):
        mine = _once([((found, k, 0, leaf), m) for part, found, k, leaf, m in rows if part == i])
        assert all(0 <= k < plan.setting.cells for _, k, _, _ in mine)
        found_vectors.append(_tree(mine, measure) if measure.term.kind == "tree" else mine)
    return Exact(votes, tuple(found_vectors))


def _told(plan: MeasuredPlan, columns: Mapping[str, Any], rows: int) -> list[Found]:
    discovered = len(plan.root.discovered)
    return [tuple(repr(columns[f"f{n}"][row]) for n in range(discovered)) for row in range(rows)]


def _once(entries: list[tuple[Any, int]]) -> dict[Any, int]:
    made = dict(entries)
    assert len(made) == len(entries), "an entry stands twice"
    return made


def _tree(leaves: Mapping[Entry, int], measure: Measure) -> dict[Entry, int]:
    """Every node of levels 1 to the height; the root is not told."""
    assert measure.term.leaves is not None
    height = measure.term.leaves.height
    branching = measure.term.leaves.branching
    nodes: dict[Entry, int] = {}
    for (found, k, _, leaf), weight in leaves.items():
        assert 0 <= leaf < measure.term.leaves.count
        for level in range(1, height + 1):
            node = (found, k, level, leaf // branching ** (height - level))
            nodes[node] = nodes.get(node, 0) + weight
    return nodes


def moved(plan: MeasuredPlan, left: Exact, right: Exact) -> tuple[Claimed, ...]:
    """What two neighbours reach of each claim of the plan.

    Measures are compared over the keys that both have: a key that one of them lacks is the threshold's own matter.
    """
    found: list[Claimed] = []
    joint_l1 = joint_l2 = Fraction(0)
    shared = left.votes.keys() & right.votes.keys() if plan.setting.discovered else {()}
    for i, measure in enumerate(plan.measures):
        claim = measure.proven
        changes = _changes(left.vectors[i], right.vectors[i], shared)
        sizes = [abs(change) for change in changes.values()]
        total = sum(sizes)
        squares = sum(s * s for s in sizes)
        largest = max(sizes, default=0)
        found += [
            Claimed(i, "l0", Fraction(len(sizes), max(claim.l0, 1))),
            Claimed(i, "l1", total / claim.l1),
            Claimed(i, "l2", squares / claim.l2**2),
            Claimed(i, "linf", largest / claim.linf),
        ]
        if measure.noised:
            joint_l1 += total / claim.linf
            joint_l2 += squares / claim.linf**2
        if measure.term.kind == "choice":
            found += _ranges(plan, i, changes)
    if any(measure.noised for measure in plan.measures):
        found += [
            Claimed(-1, "joint l1", joint_l1 / plan.joint.l1),
            Claimed(-1, "joint l2", joint_l2 / plan.joint.l2_squared),
        ]
    return (*found, *(_keys(plan, left.votes, right.votes) if plan.setting.discovered else ()))


def _changes(left: Mapping[Entry, int], right: Mapping[Entry, int], keys: Set[Found]) -> dict[Entry, int]:
    entries = [entry for entry in left.keys() | right.keys() if entry[0] in keys]
    changes = {entry: right.get(entry, 0) - left.get(entry, 0) for entry in entries}
    return {entry: change for entry, change in changes.items() if change}


def _ranges(plan: MeasuredPlan, i: int, changes: Mapping[Entry, int]) -> list[Claimed]:
    """What allocate._choice assumes: all cells' ranges of changes, which have one sign in a cell when a unit comes
    or goes.
    """
    setting = plan.setting
    cells: dict[tuple[Found, int], list[int]] = {}
    for (found, k, _, _), change in changes.items():
        cells.setdefault((found, k), [0]).append(change)
    ranges = sum(max(moves) - min(moves) for moves in cells.values())
    add_remove = setting.neighbours is Neighbours.ADD_REMOVE
    most = plan.measures[i].proven.linf * setting.sets * (1 if add_remove else 2)
    mixed = any(min(moves) < 0 < max(moves) for moves in cells.values())
    return [Claimed(i, "range", ranges / most), Claimed(i, "sign", Fraction(2 if add_remove and mixed else 0))]


def _keys(plan: MeasuredPlan, left: Mapping[Found, int], right: Mapping[Found, int]) -> list[Claimed]:
    """What KeyThreshold assumes of one unit's votes."""
    setting = plan.setting
    groups = plan.root.child.child.groups
    moves = [abs(left.get(found, 0) - right.get(found, 0)) for found in left.keys() | right.keys()]
    lone = [[side[found] for found in side.keys() - other.keys()] for side, other in ((left, right), (right, left))]
    reach = groups if setting.neighbours is Neighbours.ADD_REMOVE else 2 * groups
    return [
        Claimed(KEYS, "votes", Fraction(sum(moves), reach)),
        Claimed(KEYS, "votes of a key", Fraction(max(moves, default=0))),
        Claimed(KEYS, "votes of a key that one has", Fraction(max((v for votes in lone for v in votes), default=0))),
        Claimed(KEYS, "keys that one has", Fraction(max(map(len, lone)), groups)),
    ]


def own_votes(plan: MeasuredPlan, without: Exact, with_it: Exact) -> tuple[Claimed, ...]:
    """The keys that a unit by itself votes for; nobody's votes become fewer by it."""
    if not plan.setting.discovered:
        return ()
    groups = plan.root.child.child.groups
    moves = [with_it.votes.get(f, 0) - without.votes.get(f, 0) for f in without.votes.keys() | with_it.votes.keys()]
    return (Claimed(KEYS, "own votes", Fraction(2) if min(moves, default=0) < 0 else Fraction(sum(moves), groups)),)
