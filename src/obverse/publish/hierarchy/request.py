"""`publish hierarchy`: a spine from a public table, cells from a private one, and a share of the price for each
level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.catalog.model import AUTO, Limits
from obverse.core.errors import Refused
from obverse.core.numbers import exact
from obverse.core.types import Value
from obverse.publish.hierarchy.bounds import Bound, kept, limits_of, programs
from obverse.publish.hierarchy.method import CENSUS_2020, Hierarchy
from obverse.publish.hierarchy.spine import Spine
from obverse.publish.pipeline import Release, priced, terms_of
from obverse.publish.tables.request import Wanted, asked, quoted
from obverse.publish.workload import Workload, label
from obverse.session.session import Session

Integers = NDArray[np.int64]


PRESETS = {"census2020": CENSUS_2020}
ROOT = "all"
Path = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Along:
    """A table along a spine: the last level's column is in the private table too, all are in the public one."""

    table: str
    spine: tuple[str, ...]  # from the widest to the leaf
    places: str  # the public table that lists every leaf with what it lies in
    cells: tuple[str, ...] = ()
    bins: Mapping[str, str] | None = None
    shares: str = ""  # 1,2,3: of each level from the root down; or the name of a preset
    invariant: str = ""  # LEVEL=COLUMN of the public table
    where: str = ""
    at_least: tuple[str, ...] = ()  # LEVEL=COLUMN, or LEVEL=COLUMN@CELLS:VALUE
    at_most: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        cells = f", by {' x '.join(self.cells)}" if self.cells else ""
        return f"{self.table}: {' > '.join(self.spine)}{cells}" + (f", where {self.where}" if self.where else "")

    @property
    def recipe(self) -> dict[str, Any]:
        """What a release's folder keeps of it."""
        return {"verb": "hierarchy"} | asdict(self)

    @property
    def wanted(self) -> Wanted:
        """The table of its leaves."""
        return Wanted(self.table, ((self.spine[-1], *self.cells),), self.bins or {}, self.where)

    @property
    def note(self) -> str:
        """What the ledger keeps of it."""
        binned = "".join(f" --bins {name}={text}" for name, text in sorted((self.bins or {}).items()))
        held = f" --invariant {self.invariant}" if self.invariant else ""
        held += "".join(f" --at-least {one}" for one in self.at_least) + "".join(
            f" --at-most {one}" for one in self.at_most
        )
        return f"publish hierarchy {self.title}{binned}{held}"


def hierarchy_release(
    session: Session, along: Along, epsilon: Fraction | None = None, delta: Fraction | None = None
) -> Release:
    """Planned and priced; no private row is read. The spine is."""
    if not along.spine or len(set(along.spine)) < len(along.spine):
        raise Refused("bad_spine", "a spine names each level once.", fix="Write --spine state,county,tract.")
    if len({along.spine[-1], *along.cells}) <= len(along.cells):
        raise Refused(
            "bad_workload",
            "what is counted by is named once, and is not the leaf of the spine.",
            fix="Write --cells race,sex.",
        )
    _check_holds_all(session, along)
    workload, question = asked(session.catalog, along.wanted)
    leaves = workload.attributes[0]
    if None in leaves.values or session.catalog.tables[along.table].columns[along.spine[-1]].other:
        raise Refused(
            "bad_spine",
            f"{along.spine[-1]!r} may be missing or undeclared, and a row without a leaf has no place on the spine.",
            fix="declare `nullable = false, other = false` for it: such rows are then left out, as the statement says.",
        )
    rows = _listed(session, along)
    spine, nodes, paths = spine_of(along.spine, list(rows))
    number = {path[-1]: n for n, path in enumerate(paths)}
    if set(number) != set(leaves.values):
        raise Refused(
            "bad_spine",
            f"{along.places} does not list exactly the declared values of {along.spine[-1]!r}.",
            fix=f'declare {along.spine[-1]} = {{ type = ..., values = "{along.places}.{along.spine[-1]}" }}.',
        )
    leaf = np.array([number[value] for value in leaves.values], dtype=np.int64)
    told = [_numbers(along, column, [rows[path][n] for path in paths]) for n, column in enumerate(_columns(along))]
    held = (
        (at := spine.names.index(_named(along.invariant, along)[0]), spine.summed(told[0], at))
        if along.invariant
        else None
    )
    bounds = bounds_of(along, spine, workload, told[1:] if along.invariant else told)
    check_bounds(spine, bounds, held, math.prod(one.cells for one in workload.attributes[1:]))
    method = Hierarchy(workload, spine, nodes, leaf, shares_of(along.shares, len(spine.sizes)), held, bounds)
    draft = method.draft(terms_of(session))
    made = replace(priced(session, along.note, question, draft, epsilon, delta), within=method.within())
    return Release(along.title, method, made, along.recipe)


def _check_holds_all(session: Session, along: Along) -> None:
    """Refuse totals that are not those of what is counted: they would be published as exact, and be wrong."""
    if along.invariant and along.where:
        raise Refused(
            "bad_invariant",
            "--where leaves rows out of the totals that --invariant holds.",
            why="they are totals of all rows: the release would be that far off, and state no error.",
            fix="Leave --where out, and count by its columns: --cells. Or leave --invariant out.",
        )
    table = session.catalog.tables.get(along.table)
    limits = None if table is None else table.limits
    if along.invariant and (limits == AUTO or (isinstance(limits, Limits) and limits.rows > 1)):
        raise Refused(
            "bad_invariant",
            f"--invariant holds numbers of units, and one unit of {along.table} counts with several rows.",
            why="rows of a place are then neither as many as its units, nor the same whoever is replaced by another.",
            fix="Leave --invariant out, or publish a table that has one row of each unit.",
        )


def _listed(session: Session, along: Along) -> dict[Path, tuple[Value, ...]]:
    """Every leaf with what it lies in, and its part of what is held exact or bounded: an exact answer of a public
    table.
    """
    table = session.catalog.tables.get(along.places)
    if table is None or not table.public:
        raise Refused(
            "bad_spine",
            f"{along.places!r} is not a public table.",
            why="places that are read from private rows would tell where somebody is.",
            fix="declare a table with a row for each leaf, with public = true.",
        )
    names = ", ".join(f"{quoted(name)} AS c{n}" for n, name in enumerate((*along.spine, *_columns(along))))
    found: dict[Path, tuple[Value, ...]] = {}
    for row in session.ask(f"SELECT {names} FROM {quoted(along.places)}").rows:
        path = tuple(row[: len(along.spine)])
        if path in found or None in path:
            raise Refused("bad_spine", f"{along.places} lists a leaf twice, or without its place.")
        found[path] = tuple(row[len(along.spine) :])
    return found


def spine_of(names: tuple[str, ...], paths: list[Path]) -> tuple[Spine, tuple[tuple[str, ...], ...], list[Path]]:
    """The spine of leaves with what they lie in; the names of its nodes; the leaves in its order.

    A root is put on top.
    """
    paths = sorted(paths, key=lambda path: tuple((str(type(value)), value) for value in path))
    if not paths or len({path[-1] for path in paths}) < len(paths):
        raise Refused("bad_spine", "a leaf lies in several places, or there is none.", fix="List each leaf once.")
    parents: list[Any] = []
    nodes: list[tuple[str, ...]] = [(ROOT,)]
    above: dict[Path, int] = {(): 0}
    for depth in range(1, len(names) + 1):
        here = {prefix: n for n, prefix in enumerate(dict.fromkeys(path[:depth] for path in paths))}
        parents.append(np.array([above[prefix[:-1]] for prefix in here], dtype=np.int64))
        nodes.append(tuple(label(prefix[-1]) for prefix in here))
        above = here
    levels: tuple[str, ...] = (ROOT, *names)
    if len(parents[0]) == 1 and len(parents) > 1:  # the widest level is the root
        levels = names
        nodes = nodes[1:]
        parents = parents[1:]
    return Spine(levels, tuple(parents)), tuple(nodes), paths


def shares_of(text: str, levels: int) -> tuple[Fraction, ...]:
    """Equal shares, those of a preset, or those that are written."""
    if not text:
        return (Fraction(1, levels),) * levels
    try:
        told = (
            [Fraction(part) for part in PRESETS[text]]
            if text in PRESETS
            else [exact(part.strip()) for part in text.split(",")]
        )
    except Refused:
        told = []
    if len(told) != levels or min(told) <= 0:
        raise Refused(
            "bad_shares",
            f"this spine has {levels} levels, and each needs a share above 0.",
            fix="Write --shares "
            + ",".join("1" for _ in range(levels))
            + ("" if levels != len(CENSUS_2020) else " or census2020"),
        )
    return tuple(share / sum(told) for share in told)


def _columns(along: Along) -> tuple[str, ...]:
    """Columns of the public table that hold numbers: what is held exact first, then bounds."""
    return tuple(_named(text, along)[1] for text in (along.invariant, *along.at_least, *along.at_most) if text)


def _named(text: str, along: Along) -> tuple[str, str, str]:
    """LEVEL=COLUMN@CELLS: a level of the spine, a column of the public table, and of which cells."""
    level, equals, rest = text.partition("=")
    column, _, cells = rest.partition("@")
    if not equals or level not in along.spine:
        code = "bad_invariant" if text == along.invariant else "bad_bounds"
        raise Refused(code, "a number of places names a level and a column.", fix=f"Write {along.spine[0]}=population.")
    return level, column, cells


def _numbers(along: Along, column: str, values: list[Value]) -> Integers:
    if not all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in values):
        code = "bad_invariant" if along.invariant.endswith(f"={column}") else "bad_bounds"
        raise Refused(code, f"{along.places}.{column} holds something else than whole numbers.")
    return np.array(values, dtype=np.int64)


def bounds_of(along: Along, spine: Spine, workload: Workload, told: list[Integers]) -> tuple[Bound, ...]:
    """Bounds on the levels' nodes: of each leaf's own number in the public table, added up."""
    found = []
    shape = [one.cells for one in workload.attributes[1:]]
    for n, (text, numbers) in enumerate(zip((*along.at_least, *along.at_most), told, strict=True)):
        level, column, cells = _named(text, along)
        chosen = np.ones(shape, dtype=bool)
        if cells:
            name, _, value = cells.partition(":")
            axis = next((i for i, one in enumerate(workload.attributes[1:]) if one.name == name), None)
            labels = [] if axis is None else [label(one) for one in workload.attributes[1 + axis].values]
            if axis is None or value not in labels:
                raise Refused(
                    "bad_bounds", f"{cells!r} is not a value of what is counted by.", fix="Write COLUMN@CELLS:VALUE."
                )
            chosen[:] = np.isin(np.indices(shape)[axis], labels.index(value))
        at = spine.names.index(level)
        least = n < len(along.at_least)
        of = f", of {cells}" if cells else ""
        words = f"at {'least' if least else 'most'} {column} of {along.places} in each {level}{of}"
        found.append(Bound(words, at, chosen.reshape(-1), spine.summed(numbers, at), least))
    return tuple(found)


def check_bounds(spine: Spine, bounds: tuple[Bound, ...], held: tuple[int, Integers] | None, cells: int) -> None:
    """Refuse bounds that contradict each other, or what is held exact. All of it is public, so this is free."""
    if not bounds:
        return
    programs()
    limits = limits_of(spine, bounds)
    if held is None:
        return

    level, totals = held
    at = np.zeros((cells, len(totals)), dtype=np.int64)
    at[0] = totals
    if any(one.level < level for one in bounds) or kept(at, limits[level], totals)[1]:
        raise Refused("bad_bounds", "the bounds contradict the totals that are held exact, or lie above them.")
