"""Rows that no person stands behind, drawn from a model of noisy tables of two and three columns."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.core.types import Type
from obverse.plan.strategy.matrix import Block, Strategy
from obverse.publish.method import Draft, Expected, Labels, Law, Measured, Outcome, Published, Terms, worth
from obverse.publish.synthetic.figures import pictures
from obverse.publish.synthetic.fitting import Estimated, Noisy, estimated, network, pooled
from obverse.publish.synthetic.model import Clique, Network
from obverse.publish.synthetic.sampling import Shuffle, sampled
from obverse.publish.synthetic.selection import Picking, part_of, squeezed
from obverse.publish.workload import Workload, cell_labels, column_name, label, values_at, workload_json, workload_of

Array = np.ndarray[Any, Any]
Integers = NDArray[np.int64]


LEAST = 1e-12  # variance, so that weights stay finite where noise is next to nothing
# values that are too few to stand by themselves in a pair; the first name that no value has
RARE = ("(other)", "(rare)")
MISSING = ("missing", "(missing)")


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What follows from the measurements: unbiased columns and tables, the model, and its rows as places of values."""

    columns: tuple[Estimated, ...]
    pairs: Mapping[Clique, Noisy]
    model: Network
    rows: tuple[Integers, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Synthetic:
    """Rows with the columns' distributions, and with those of the pairs and triples that hang together most.

    Claim:   one loss for all steps, as the door charges it; estimates of columns and of chosen tables are averages of
             unbiased ones, with their variances. What rows tell of other tables follows from the model, near to
             independence.
    Proof:   steps are a course (publish/synthetic/selection) that the door holds to its price (plan/strategy/adaptive).
             All
    columns are measured; then
             tables are chosen by the exponential mechanism with integer scores (plan/strategy/candidates) and measured,
             round by round. The rest reads noisy numbers: least squares (fitting.estimated), shrinking towards
             independence, projection, raking (fitting.linked, triples.third), cliques (junction), balanced rows
             (sampling). Weights of the averages follow from what was chosen, and groups from the first noise: what bias
             this leaves is not told.
    Assumes: each row has one value in every column.
    """

    workload: Workload  # a table for each column
    edges: tuple[Clique, ...] = ()  # chosen
    groups: tuple[Integers, ...] = ()  # of each column's values, in pairs
    choices: tuple[int, ...] = ()  # as they were released
    given: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # columns held at some of their values
    wanted: int = 0  # rows of the sample beside; nought: as many as the model has
    name: ClassVar[str] = "synthetic"
    after: ClassVar[tuple[str, ...]] = (
        "least squares for every column, from its own measurements and from those of its tables",
        "pairs are shrunk towards independence (James and Stein), made non-negative, and raked to their columns",
        "what three columns tell that no pair does is shrunk towards nothing, and raked to their pairs",
        "all tables are fitted together, as near to independence as they allow",
        "rows are drawn clique by clique, as many of each kind as it says",
    )

    @classmethod
    def example(cls, workload: Workload) -> Synthetic:
        """What trials run on."""
        return cls(replace(workload, tables=tuple((i,) for i in range(len(workload.attributes)))))

    @property
    def course(self) -> Picking:
        return Picking(tuple(one.cells for one in self.workload.attributes))

    def draft(self, terms: Terms) -> Draft:
        """The first step: all columns."""
        course = self.course
        return Draft(course.sets, Strategy(tuple(course.column(i, str(i)) for i in range(len(course.sizes)))))

    def weighted(self, terms: Terms, weights: Mapping[str, Fraction]) -> Draft:
        """Columns and pairs that were measured, by name: each column at least once, and the chosen pairs."""
        pairs = {part for part in map(part_of, weights) if len(part) > 1}
        if pairs != {*self.edges} or not {str(i) for i in range(len(self.workload.attributes))} <= {*weights}:
            raise ValueError("what was measured does not fit the forest")
        blocks = [self.block(name, weight) for name, weight in weights.items()]
        return Draft(self.course.sets, Strategy(tuple(blocks)))

    def block(self, name: str, weight: Fraction) -> Block:
        part = part_of(name)
        if len(part) == 1:
            return self.course.column(part[0], name, weight)
        return self.course.table(part, self.groups, weight, name.removeprefix(",".join(map(str, part))))

    def errors(self, measured: Measured, terms: Terms) -> tuple[Expected, ...]:
        columns, pairs = self.estimates(measured)
        found = []
        for i, one in enumerate(columns):
            stddev = float(np.sqrt(one.variances.mean()))
            found.append(self._expected((i,), len(one.counts), stddev, terms, worth(measured)))
        for edge, pair in pairs.items():
            found.append(self._expected(edge, pair.counts.size, pair.variance**0.5, terms, worth(measured)))
        return tuple(found)

    def _expected(self, table: tuple[int, ...], cells: int, stddev: float, terms: Terms, step: float) -> Expected:
        words = [
            "".join(c if c.isalnum() and c.isascii() else "_" for c in self.workload.attributes[i].name) for i in table
        ]
        kind = ("column", "pair", "triple")[len(table) - 1]
        file = f"{kind}-{'-'.join(str(i + 1) for i in table)}-{'-'.join(words)[:80]}"
        return Expected(self.workload.title(table), file, cells, stddev, float(terms.half(np.array(stddev), step)))

    def estimates(self, measured: Measured) -> tuple[tuple[Estimated, ...], dict[Clique, Noisy]]:
        """Unbiased columns and pairs; without values, noughts with the same variances."""
        ones, pairs = self._noisy(measured)
        found = tuple(estimated(i, one, self.groups_of(i), pairs) for i, one in enumerate(ones))
        return found, pairs

    def groups_of(self, place: int) -> Integers:
        return self.groups[place] if self.groups else np.arange(self.workload.attributes[place].cells)

    def _noisy(self, measured: Measured) -> tuple[list[Noisy], dict[Clique, Noisy]]:
        ones: dict[int, list[Noisy]] = {i: [] for i in range(len(self.workload.attributes))}
        tables: dict[Clique, list[Noisy]] = {}
        for entries in measured:
            counts = entries.counts() if entries.values is not None else np.zeros(entries.block.shape)
            part = part_of(entries.block.name)
            variance = max(entries.variance, LEAST)
            if len(part) == 1:
                ones[part[0]].append(Noisy(counts.reshape(-1), variance))
            else:
                tables.setdefault(part, []).append(Noisy(counts.reshape(squeezed(entries.block)), variance))
        found = {part: pooled(tables[part]) for part in self.edges}
        return [pooled(several) for several in ones.values()], found

    def fitted(self, measured: Measured) -> Fitted:
        ones, pairs = self._noisy(measured)
        columns, _ = self.estimates(measured)
        model = network([self.groups_of(i) for i in range(len(ones))], ones, pairs, columns)
        rows, _ = sampled(model, max(1, round(model.total)), shuffle_of(measured, b"all"))
        return Fitted(columns, pairs, model, rows)

    def finish(self, measured: Measured, terms: Terms) -> Outcome:
        found = self.fitted(measured)
        told = self.errors(measured, terms)
        step = worth(measured)
        tables = []
        for one, place, spread in zip(found.columns, range(len(found.columns)), told):
            stddev = np.sqrt(one.variances)
            counts = np.bincount(found.rows[place], minlength=len(one.counts))
            tables.append(Published(spread.title, spread.file, one.counts, stddev, terms.half(stddev, step), counts))
        for (edge, pair), spread in zip(found.pairs.items(), told[len(tables) :]):
            stddev = np.full(pair.counts.size, spread.stddev)
            shape = pair.counts.shape
            codes = np.ravel_multi_index([self.groups_of(i)[found.rows[i]] for i in edge], shape)
            counts = np.bincount(codes, minlength=pair.counts.size)
            half = terms.half(stddev, step)
            tables.append(Published(spread.title, spread.file, pair.counts.reshape(-1), stddev, half, counts))
        files = {"synthetic": self.values(found.rows)}
        if self.given or self.wanted:
            held = {place: np.array(values) for place, values in self.given.items()}
            many = self.wanted or self.likely(found.model, held)
            files["sample"] = self.values(sampled(found.model, many, shuffle_of(measured, b"sample"), held)[0])
        return Outcome(tuple(tables), agree=True, rows=files)

    def likely(self, model: Network, held: dict[int, Integers]) -> int:
        """As many rows as the model has of what is given."""
        return max(1, round(model.total * sampled(model, 1, Shuffle(b""), held)[1]))

    def values(self, rows: tuple[Integers, ...]) -> Labels:
        """Rows as columns of values."""
        attributes = self.workload.attributes
        found = {one.name: values_at(one, places) for one, places in zip(attributes, rows)}
        return found, {one.name: one.type for one in attributes}

    def block_title(self, name: str) -> str:
        _, blank, when = name.partition(" ")
        return self.workload.title(part_of(name)) + blank + when

    def block_labels(self, name: str) -> Labels:
        part = part_of(name)
        return cell_labels(self.workload, part) if len(part) == 1 else self._pair_labels(part)

    def labels(self, place: int) -> Labels:
        columns = len(self.workload.attributes)
        return (
            cell_labels(self.workload, (place,)) if place < columns else self._pair_labels(self.edges[place - columns])
        )

    def _pair_labels(self, edge: Clique) -> Labels:
        """Groups by the name of their one value, or as others."""
        told = [self.group_names(i) for i in edge]
        places = np.unravel_index(np.arange(math.prod(map(len, told))), [len(one) for one in told])
        names = [column_name(self.workload.attributes[i].name) for i in edge]
        found: dict[str, Any] = {n: np.array(one, dtype=object)[at] for n, one, at in zip(names, told, places)}
        return found, dict.fromkeys(names, Type.TEXT)

    def group_names(self, place: int) -> list[str]:
        """Different names: a group of several values, or of none, has one that no value has."""
        groups = self.groups_of(place)
        values = self.workload.attributes[place].values
        known = {label(value) for value in values if value is not None}
        missing = _name_beside(MISSING, known)
        rare = _name_beside(RARE, {*known, missing})
        members: list[list[str]] = [[] for _ in range(int(groups.max()) + 1)]
        for group, value in zip(groups.tolist(), values):
            members[group].append(missing if value is None else label(value))
        return [one[0] if len(one) == 1 else rare for one in members]

    def laws(self, tables: Sequence[Mapping[str, Array]], agree: bool) -> list[Law]:
        """Counts are of the same rows."""
        totals = {int(table["count"].sum()) for table in tables}
        good = True
        for edge, table in zip(self.edges, tables[len(self.workload.attributes) :]):
            counts = table["count"].reshape([int(self.groups_of(i).max()) + 1 for i in edge])
            for axis, i in enumerate(edge):
                own = np.bincount(self.groups_of(i), weights=tables[i]["count"])
                rest = tuple(other for other in range(len(edge)) if other != axis)
                good = good and bool(np.array_equal(own, counts.sum(axis=rest)))
        return [
            Law("totals", len(totals) == 1, "all tables count the same rows"),
            Law("sums", good, "pairs add up to their columns"),
        ]

    def invariants(self) -> str:
        return ""

    def pictures(self, outcome: Outcome) -> dict[str, tuple[str, str]]:
        return pictures(self.workload, self.edges, outcome)

    def as_json(self) -> dict[str, Any]:
        return workload_json(self.workload) | {
            "edges": [list(edge) for edge in self.edges],
            "groups": [of.tolist() for of in self.groups],
            "choices": list(self.choices),
            "given": {str(place): list(values) for place, values in self.given.items()},
            "wanted": self.wanted,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Synthetic:
        made = cls(
            workload_of(fields),
            tuple(tuple(map(int, part)) for part in fields["edges"]),
            tuple(np.array(of, dtype=np.int64) for of in fields["groups"]),
            tuple(int(one) for one in fields["choices"]),
            {int(place): tuple(map(int, values)) for place, values in fields["given"].items()},
            int(fields["wanted"]),
        )
        if not made.fits():
            raise ValueError("columns, groups and pairs do not fit each other")
        return made

    def fits(self) -> bool:
        """Whether groups, pairs and conditions are of the workload's columns, and no pair stands twice."""
        sizes = self.course.sizes
        there = {*self.course.tables}
        grouped = [
            of.shape == (n,) and {*of.tolist()} == {*range(int(of.max()) + 1)} for of, n in zip(self.groups, sizes)
        ]
        held = [
            0 <= i < len(sizes) and values and min(values) >= 0 and max(values) < sizes[i]
            for i, values in self.given.items()
        ]
        paired = {*self.edges} <= there and len({*self.edges}) == len(self.edges)
        return len(self.groups) == len(sizes) and all(grouped) and all(held) and paired


def _name_beside(names: tuple[str, str], taken: Collection[str]) -> str:
    """The first of the names that is not taken; numbered where both are."""
    numbered = (f"{names[1][:-1]} {n})" for n in itertools.count(2))
    return next(name for name in itertools.chain(names, numbered) if name not in taken)


def shuffle_of(measured: Measured, of: bytes) -> Shuffle:
    """From the released integers, so that the same rows are made of them anywhere."""
    seed = hashlib.sha256(of)
    for entries in measured:
        assert entries.values is not None
        seed.update(entries.values.astype("<i8").tobytes())
    return Shuffle(seed.digest())
