"""Counts along a spine of places, from one root to the leaves, as a census publishes them.

Estimates of every level of a spine, from noisy cells and totals and from totals that are known; with their deviations.

Claim:   `estimates` are unbiased and add up along the spine, in every cell; `spreads` are the standard deviations of a
         cell. A level whose totals are known has them without error, and so have the levels above it.
Proof:   noise of a node's cells splits into their mean and the rest, which are independent. The rest is fitted by
         itself. A node's total is its own measurement averaged with the sum of its cells by precision; a known total is
         a measurement of variance 0. Both trees: generalised least squares (publish/hierarchy/spine). A cell is its
         part of the rest plus its share of the total: var (1 - 1/cells) + var of the total / cells^2.
Assumes: noise is independent between entries; known totals are those of the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.answers.svg import BARS_MAX, bars
from obverse.core.errors import Refused, invariant
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.plan.strategy.matrix import Block, Kept, Linear, Merged, Strategy, Summed
from obverse.publish.hierarchy.bounds import Bound, Limits, bound_of, limits_of, without_room
from obverse.publish.hierarchy.spine import Spine, fitted, variances
from obverse.publish.hierarchy.topdown import constrained
from obverse.publish.method import Draft, Expected, Labels, Law, Measured, Outcome, Published, Terms, worth
from obverse.publish.workload import Workload, cell_labels, column_name, workload_json, workload_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Known = tuple[int, Integers] | None  # a level, and totals of its nodes


def spreads(spine: Spine, cells: int, measured: Measured, known: Known) -> list[Floats]:
    """The standard deviation of a cell's estimate, for each node of each level."""
    detail, totals = variances_of(spine, cells, measured, known)
    apart = zip(variances(spine, detail), variances(spine, totals))
    return [np.sqrt(one * (1 - 1 / cells) + total / cells**2) for one, total in apart]


def estimates(spine: Spine, cells: int, measured: Measured, known: Known) -> list[Floats]:
    """Of every level, cells by nodes."""
    levels = range(len(spine.sizes))
    detail: list[Any] = [None] * len(levels)
    totals: list[Any] = [None] * len(levels)
    given: dict[int, tuple[Any, float]] = {}
    own, joined = variances_of(spine, cells, measured, known)
    for entries in measured:
        kind, level = parsed(entries.block.name)
        if kind == "cells":
            detail[level] = entries.counts().reshape(spine.sizes[level], cells).T
        else:
            given[level] = entries.counts().reshape(-1), entries.variance
    for level in levels:
        totals[level] = detail[level].sum(axis=0) / (cells * own[level])
        if level in given:
            totals[level] = totals[level] + given[level][0] / given[level][1]
        totals[level] = totals[level] * joined[level]
    if known is not None:
        totals[known[0]] = known[1].astype(np.float64)
    sums = fitted(spine, totals, joined)
    found = fitted(spine, detail, own)
    return [one + (total - one.sum(axis=0)) / cells for one, total in zip(found, sums)]


def variances_of(spine: Spine, cells: int, measured: Measured, known: Known) -> tuple[list[float], list[float]]:
    """The variances of each level's cells, and of its nodes' totals with the sums of their cells."""
    own = [0.0] * len(spine.sizes)
    totals = [0.0] * len(spine.sizes)
    for entries in measured:
        kind, level = parsed(entries.block.name)
        (own if kind == "cells" else totals)[level] = entries.variance
    joined = [1 / (1 / (cells * variance) + (1 / total if total else 0.0)) for variance, total in zip(own, totals)]
    if known is not None:
        joined[known[0]] = 0.0
    return own, joined


def parsed(name: str) -> tuple[str, int]:
    """What a block measures, and of which level."""
    kind, _, level = name.partition(" ")
    invariant(kind in ("cells", "totals"), "a block of a hierarchy")
    return kind, int(level)


Array = np.ndarray[Any, Any]
Held = tuple[int, Integers]


NOTES_MAX = 20
TOTALS = Fraction(1, 5)  # of a level's share, for its nodes' totals
CENSUS_2020 = (104, 1440, 447, 687, 1256, 165)  # of 4099: nation, state, county, tract, block group, block


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """A histogram of cells at every node of a spine, and every node's total, with a share of the price for each level.

    Claim:   one loss for all levels, as the door charges it; estimates are unbiased and add up along the spine, each
             with its variance; whole numbers beside them add up too, and are not negative.
    Proof:   nodes of a level are disjoint, so a level is one block in which a unit that weighs one moves one entry
             (Merged). Noise of a node's cells splits into their mean and the rest, which are independent: two trees, of
             totals (each node's own, averaged with the sum of its cells by precision) and of cells, each by least
             squares (publish/hierarchy/method). Totals that are given as public cost nothing, and are known without
             error: least squares takes them so, and variances are those of what it gives. Whole numbers:
             publish/hierarchy/topdown; public bounds on places: publish/hierarchy/bounds.
    Assumes: each row has one leaf; the spine and what is held exact are public.
    """

    workload: Workload  # the leaf first, then the cells
    spine: Spine
    nodes: tuple[tuple[str, ...], ...]  # a name for each node of each level
    leaf: Integers  # for each value of the leaf attribute its number on the spine
    shares: tuple[Fraction, ...]  # of the levels
    held: Held | None = None  # a level, and the total of each of its nodes, from a public table
    bounds: tuple[Bound, ...] = ()  # public ones, on whole numbers
    conditional: bool = True  # estimates and errors take what is held as known; folders of before do not
    name: ClassVar[str] = "hierarchy"
    after: ClassVar[tuple[str, ...]] = (
        "least squares along the spine, up and down, so that children add up to their parents",
        "for the whole numbers: from the root down, projection on what is not negative, and controlled rounding",
    )

    def __post_init__(self) -> None:
        invariant(len(self.shares) == len(self.spine.sizes) == len(self.nodes), "a share and names for each level")
        invariant(sorted(self.leaf.tolist()) == list(range(self.spine.sizes[-1])), "each leaf is one value")

    @classmethod
    def example(cls, workload: Workload) -> Hierarchy:
        """What trials run on: the first attribute's values are leaves below one root."""
        leaves = workload.attributes[0].cells
        spine = Spine(("all", "leaf"), (np.zeros(leaves, dtype=np.int64),))
        names = (("all",), tuple(str(value) for value in workload.attributes[0].values))
        return cls(workload, spine, names, np.arange(leaves), (Fraction(1), Fraction(2)))

    @property
    def cells(self) -> int:
        return math.prod(one.cells for one in self.workload.attributes[1:])

    @property
    def levels(self) -> range:
        return range(len(self.spine.names))

    def draft(self, terms: Terms) -> Draft:
        if self.held is not None and terms.neighbours is not Neighbours.REPLACE:
            raise Refused(
                "invariant_needs_replace",
                "totals can be held exact only where neighbours are `replace`.",
                why="no two databases that differ by one unit more have the same totals.",
                fix='Write neighbours = "replace" in [privacy] of a new project, or leave --invariant out.',
            )
        total = TOTALS if self.cells > 1 else Fraction(0)
        weights = {}
        for level in self.levels:
            weights[f"cells {level}"] = self.shares[level] * (1 - total)
            if total:
                weights[f"totals {level}"] = self.shares[level] * total
        return self.weighted(terms, weights)

    def weighted(self, terms: Terms, weights: Mapping[str, Fraction]) -> Draft:
        rest = self.workload.attributes[1:]
        blocks = []
        for name, weight in weights.items():
            kind, level = parsed(name)
            place = Merged(self.spine.groups(level)[self.leaf], self.spine.sizes[level])
            maps: tuple[Linear, ...] = tuple((Kept if kind == "cells" else Summed)(one.cells) for one in rest)
            blocks.append(Block(name, 0, (place, *maps), weight))
        return Draft((tuple(range(len(self.workload.attributes))),), Strategy(tuple(blocks)))

    @property
    def known(self) -> Held | None:
        """A level, and totals of its nodes, that estimates take as known."""
        return self.held if self.conditional else None

    def spreads(self, measured: Measured) -> list[Floats]:
        """The standard deviation of a cell's estimate, for each node of each level."""
        return spreads(self.spine, self.cells, measured, self.known)

    def errors(self, measured: Measured, terms: Terms) -> tuple[Expected, ...]:
        found = []
        for level, spread in enumerate(self.spreads(measured)):
            mean = float(np.sqrt(np.mean(spread**2)))
            title = self.spine.names[level]
            count = self.spine.sizes[level] * self.cells
            half = float(terms.half(np.array(mean), worth(measured)))
            found.append(Expected(title, self.file(level), count, mean, half))
        return tuple(found)

    def file(self, level: int) -> str:
        word = "".join(c if c.isalnum() and c.isascii() else "_" for c in self.spine.names[level])
        return f"{level + 1:02d}-{word[:60]}"

    def estimates(self, measured: Measured) -> list[Floats]:
        """Unbiased estimates of every level, cells by nodes, that add up."""
        return estimates(self.spine, self.cells, measured, self.known)

    def finish(self, measured: Measured, terms: Terms) -> Outcome:
        near = self.estimates(measured)
        whole, missed = constrained(self.spine, near, self.held, self.limits())
        found = []
        for level, (spread, told) in enumerate(zip(self.spreads(measured), self.errors(measured, terms))):
            stddev = np.repeat(spread, self.cells)
            values = np.ascontiguousarray(near[level].T).reshape(-1)
            counts = np.ascontiguousarray(whole[level].T).reshape(-1)
            found.append(Published(told.title, told.file, values, stddev, terms.half(stddev, worth(measured)), counts))
        notes = [
            f"The bounds on places within {self.spine.names[level]} {self.nodes[level][node]} leave no room for its "
            "counts: "
            f"they miss them by {apart:,}, the least there is."
            for (level, node), apart in sorted(missed.items())[:NOTES_MAX]
        ]
        if len(missed) > NOTES_MAX:
            notes.append(f"{len(missed) - NOTES_MAX:,} more places are like this; verify.json names them.")
        return Outcome(tuple(found), agree=True, notes=tuple(notes))

    def limits(self) -> Limits:
        return limits_of(self.spine, self.bounds) if self.bounds else ()

    def block_title(self, name: str) -> str:
        kind, level = parsed(name)
        return f"{self.spine.names[level]}: {kind}"

    def block_labels(self, name: str) -> Labels:
        kind, level = parsed(name)
        return self._labels(level, with_cells=kind == "cells")

    def labels(self, place: int) -> Labels:
        return self._labels(place, with_cells=True)

    def _labels(self, level: int, *, with_cells: bool) -> Labels:
        """The node's name, then its cell."""
        columns, types = (
            cell_labels(self.workload, tuple(range(1, len(self.workload.attributes)))) if with_cells else ({}, {})
        )
        many = self.cells if with_cells else 1
        size = self.spine.sizes[level]
        names = np.array(self.nodes[level], dtype=object)
        place = column_name(self.spine.names[level])
        place += " (place)" if place in columns else ""
        found: dict[str, Array] = {place: np.repeat(names, many)}
        for name, values in columns.items():
            found[name] = np.ma.array(
                np.tile(np.ma.getdata(values), size), mask=np.tile(np.ma.getmaskarray(values), size)
            )
        return found, {place: Type.TEXT} | types

    def laws(self, tables: Sequence[Mapping[str, Array]], agree: bool) -> list[Law]:
        shaped = {n: [t[n].reshape(-1, self.cells).T for t in tables] for n in ("count", "estimate")}
        good = True
        without = without_room(self.spine, shaped["count"], self.limits())
        for level in self.levels[1:]:
            added = self.spine.added(shaped["estimate"][level], level)
            good = good and bool(np.allclose(added, shaped["estimate"][level - 1], atol=1e-3))
        words = "counts of children add up to their parents, in every cell"
        names = [
            f"{self.spine.names[level]} {self.nodes[level][node]}"
            for (level, node), room in without.items()
            if not room
        ]
        told = f"; bounds leave no room for it in {', '.join(names)}" if names else ""
        found = [
            Law("children", not any(without.values()), words + told),
            Law("sums", good, "estimates of children add up to their parents, in every cell"),
        ]
        if self.bounds:
            inside = all(not one.broken(c).any() for c, at in zip(shaped["count"], self.limits()) for one in at)
            found.append(Law("bounds", inside, "counts keep the bounds that were given"))
        if self.held is not None:
            level, given = self.held
            kept = bool((tables[level]["count"].reshape(-1, self.cells).sum(axis=1) == given).all())
            found.append(Law("invariants", kept, f"totals of each {self.spine.names[level]} are those that were given"))
        return found

    def within(self) -> str:
        """Between whom alone something is hidden; nothing where no total is held."""
        place = "" if self.held is None else self.spine.names[self.held[0]]
        return f"between people of the same invariant cell, here of the same {place}" if place else ""

    def invariants(self) -> str:
        bounds = "".join(f" Whole numbers keep public bounds: {one.words}." for one in self.bounds)
        if self.held is None:
            return f"No number of the data.{bounds}" if bounds else ""
        place = self.spine.names[self.held[0]]
        return (
            f"The number of units in each {place}, as given in a public table and never read from the data. What is "
            "hidden is "
            f"the difference {self.within()}; in which one somebody counts is not.{bounds}"
        )

    def pictures(self, outcome: Outcome) -> dict[str, tuple[str, str]]:
        """Totals of the nodes of levels that are small enough."""
        found = {}
        for level in self.levels:
            if 1 < self.spine.sizes[level] <= BARS_MAX:
                totals = outcome.tables[level].whole.reshape(-1, self.cells).sum(axis=1)
                title = f"{self.spine.names[level]}: totals"
                note = "whole numbers; their errors stand in errors.csv"
                found[f"{self.file(level)}.svg"] = title, bars(title, self.nodes[level], totals.tolist(), 0.0, note)
        return found

    def as_json(self) -> dict[str, Any]:
        held = None if self.held is None else [self.held[0], self.held[1].tolist()]
        known = {} if self.held is None else {"conditional": self.conditional}
        return workload_json(self.workload) | {
            "levels": list(self.spine.names),
            "parents": [parent.tolist() for parent in self.spine.parents],
            "nodes": [list(names) for names in self.nodes],
            "leaf": self.leaf.tolist(),
            "shares": [str(share) for share in self.shares],
            "held": held,
            "bounds": [one.as_json() for one in self.bounds],
            **known,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Hierarchy:
        parents = tuple(np.array(parent, dtype=np.int64) for parent in fields["parents"])
        held = None if fields["held"] is None else (int(fields["held"][0]), np.array(fields["held"][1], dtype=np.int64))
        return cls(
            workload_of(fields),
            Spine(tuple(fields["levels"]), parents),
            tuple(tuple(names) for names in fields["nodes"]),
            np.array(fields["leaf"], dtype=np.int64),
            tuple(Fraction(share) for share in fields["shares"]),
            held,
            tuple(bound_of(one) for one in fields.get("bounds", ())),
            bool(fields.get("conditional", held is None)),
        )
