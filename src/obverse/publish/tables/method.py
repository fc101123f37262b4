"""Histograms, contingency tables and sets of them, measured together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.answers.svg import BARS_MAX, SQUARES_MAX, bars, squares
from obverse.core.units import Neighbours
from obverse.plan.strategy.matrix import Block, Centred, Kept, Linear, Strategy, Summed
from obverse.publish.method import LEVEL, Draft, Expected, Labels, Law, Measured, Outcome, Published, Terms, worth
from obverse.publish.rounding import together
from obverse.publish.tables.effects import Effect, centred, of_effects, of_tables, pooled, pooled_variances, rebuilt
from obverse.publish.tables.public_knowledge import Derived, Frame, Rolled, Zeros, derived_of, zeros_of
from obverse.publish.workload import (
    Table,
    Workload,
    cell_labels,
    column_name,
    label,
    values_at,
    workload_json,
    workload_of,
)

Array = np.ndarray[Any, Any]
Floats = NDArray[np.float64]


FORCED = ("estimate", "count")
ONE_SET_MAX = 1 << 20  # cells that are read as one table, from which all others follow


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables over public cells, with the weights that make their errors least.

    Claim:   one loss for all tables, as the door charges it; estimates are unbiased, agree with each other, and each
             cell's variance is known beforehand.
    Proof:   under Gaussian noise each effect A is measured once: the product of (n I - 11') over A, whose squared L2
             norm is the product of n (n - 1) (plan/strategy/matrix). Centred and divided by the product of n it is e_A
             with covariance sigma_A^2 times the projection: noise in the space of the effect alone is paid for. Shares:
             weights.of_effects. Under Laplace noise whole tables are measured and pooled by least squares
             (effects.pooled). A table is the sum of its effects, the same ones in every table, so that tables agree.
             Cells that are publicly known to be empty are 0 by least squares under that knowledge
             (publish/tables/public_knowledge); tables over derived columns are sums of others.
    Assumes: each row has one cell in every table, and none in an empty one.
    """

    workload: Workload
    zeros: Zeros | None = None
    derived: tuple[Derived, ...] = ()
    rolled: tuple[Rolled, ...] = ()
    name: ClassVar[str] = "tables"
    after: ClassVar[tuple[str, ...]] = (
        "generalised least squares, so that all tables agree",
        "for the whole numbers: projection on non-negative tables of one total, raking, rounding",
    )

    @classmethod
    def example(cls, workload: Workload) -> Tables:
        """What trials run on."""
        return cls(workload)

    def draft(self, terms: Terms) -> Draft:
        """What is measured, with the best weights."""
        effects = self.workload.effects()
        if terms.accounting == "zcdp":
            return self._weighted(
                terms, of_effects(self.workload, effects, lambda part: self.norm(part, terms.neighbours))
            )
        return self._weighted(terms, of_tables(self.workload, effects))

    def weighted(self, terms: Terms, weights: Mapping[str, Fraction]) -> Draft:
        """Effects, or whole tables."""
        return self._weighted(terms, {part_of(name): weight for name, weight in weights.items()})

    def _weighted(self, terms: Terms, shares: Mapping[Table, Fraction]) -> Draft:
        kind = Centred if terms.accounting == "zcdp" else Kept
        sets = self.sets(tuple(shares))
        blocks = []
        for part, share in shares.items():
            of = min(
                (n for n, one in enumerate(sets) if set(part) <= set(one)), key=lambda n: self.workload.cells(sets[n])
            )
            maps = tuple(self.map(i, kind if i in part else Summed) for i in sets[of])
            blocks.append(Block(name_of(part), of, maps, share))
        return Draft(sets, Strategy(tuple(blocks)))

    def sets(self, parts: tuple[Table, ...]) -> tuple[Table, ...]:
        """What rows are counted by: one table of everything where that is small, else the largest tables there are."""
        everything = tuple(sorted({i for part in (*parts, *self.workload.tables) for i in part}))
        if self.workload.cells(everything) <= ONE_SET_MAX:
            return (everything,)
        among = {*self.workload.largest(), *parts}
        return tuple(sorted(t for t in among if not any(set(t) < set(other) for other in among)))

    def map(self, attribute: int, kind: type[Centred] | type[Kept] | type[Summed]) -> Linear:
        return kind(self.workload.attributes[attribute].cells)

    def norm(self, part: Table, neighbours: Neighbours) -> float:
        """The squared norm of a unit's move of e_A, in units of its noise."""
        block = Block("", 0, tuple(self.map(i, Centred) for i in part), Fraction(1))
        return block.norms(neighbours).squares / math.prod(self.workload.attributes[i].cells ** 2 for i in part)

    def variances(self, measured: Measured, terms: Terms) -> dict[Table, float]:
        """Of each effect, from noise alone."""
        found = {part_of(entries.block.name): entries.variance for entries in measured}
        if terms.accounting == "zcdp":
            return {part: variance / self.workload.cells(part) ** 2 for part, variance in found.items()}
        return pooled_variances(self.workload, found, self.workload.effects())

    def frame(self, measured: Measured, terms: Terms) -> Frame:
        return Frame(self.workload, self.variances(measured, terms), self.zeros)

    def spreads(self, measured: Measured, terms: Terms) -> list[Floats]:
        """The standard deviation of each cell of each published table."""
        frame = self.frame(measured, terms)
        workload = self.workload
        found = [np.sqrt(frame.variances(table).reshape(-1)) for table in workload.tables]
        for one in self.rolled:
            groups = one.groups(workload, self.derived)
            many = math.prod(one.shape(workload, self.derived))
            found.append(np.sqrt(frame.of_sums(one.base, groups, many)))
        return found

    def errors(self, measured: Measured, terms: Terms) -> tuple[Expected, ...]:
        found = []
        for place, spread in enumerate(self.spreads(measured, terms)):
            stddev = float(np.sqrt(np.mean(spread**2)))
            title, file = self.title(place)
            half = float(terms.half(np.array(stddev), self.step(place, measured, terms)))
            found.append(Expected(title, file, len(spread), stddev, half))
        return tuple(found)

    def step(self, place: int, measured: Measured, terms: Terms) -> float:
        """The coarsest steps of the noise of a table's cells: under Gaussian noise, of the total, spread over all of
        them.
        """
        whole = terms.accounting != "zcdp" or place >= len(self.workload.tables)
        return worth(measured) / (1 if whole else self.workload.cells(self.workload.tables[place]))

    def title(self, place: int) -> tuple[str, str]:
        """The title of a published table, and its file."""
        tables = self.workload.tables
        if place < len(tables):
            return self.workload.title(tables[place]), self.workload.file_name(tables[place])
        title = self.rolled[place - len(tables)].title(self.workload, self.derived)
        words = "".join(c if c.isalnum() and c.isascii() else "_" for c in title.replace(" x ", "-"))
        return title, f"{place + 1:02d}-{words[:80]}"

    def finish(self, measured: Measured, terms: Terms) -> Outcome:
        workload = self.workload
        parts = [(part_of(entries.block.name), entries) for entries in measured]
        if terms.accounting == "zcdp":
            effects = {p: Effect(self.effect(e.counts(), p), e.variance / workload.cells(p) ** 2) for p, e in parts}
        else:
            tables = {
                part: (entries.counts().reshape(workload.shape(part)), entries.variance) for part, entries in parts
            }
            effects = pooled(workload, tables, workload.effects())
        effects = self.frame(measured, terms).forced(effects)
        values = {table: rebuilt(workload, table, effects) for table in workload.tables}
        for table in workload.tables if self.zeros is not None else ():
            values[table][self.empty(table)] = 0.0
        rounded, agree = together(workload, values, float(effects[()].values), self.empty if self.zeros else None)
        found: list[tuple[Any, Any]] = [(values[t].reshape(-1), rounded[t].reshape(-1)) for t in workload.tables]
        for one in self.rolled:
            groups = one.groups(workload, self.derived)
            many = math.prod(one.shape(workload, self.derived))
            at = workload.tables.index(one.base)
            sums = np.bincount(groups, found[at][0], many), np.bincount(groups, found[at][1], many)
            found.append((sums[0], sums[1].astype(np.int64)))
        spreads = self.spreads(measured, terms)
        published = []
        for n, (estimates, counts) in enumerate(found):
            half = terms.half(spreads[n], self.step(n, measured, terms))
            published.append(Published(*self.title(n), estimates, spreads[n], half, counts))
        return Outcome(tuple(published), agree)

    def empty(self, table: Table) -> NDArray[np.bool_]:
        """Cells that are known to be."""
        assert self.zeros is not None
        return self.zeros.within(self.workload, table)

    def effect(self, counts: Floats, part: Table) -> Floats:
        """e_A of n times e_A and noise."""
        return centred(counts.reshape(self.workload.shape(part))) / self.workload.cells(part)

    def block_title(self, name: str) -> str:
        return self.workload.title(part_of(name))

    def block_labels(self, name: str) -> Labels:
        return cell_labels(self.workload, part_of(name))

    def labels(self, place: int) -> Labels:
        tables = self.workload.tables
        if place >= len(tables):
            return self.rolled[place - len(tables)].labels(self.workload, self.derived)
        columns, types = cell_labels(self.workload, tables[place])
        for one in self.derived:
            if set(one.of) <= set(tables[place]):
                codes = one.within(self.workload, tables[place]).reshape(-1)
                columns[column_name(one.name)] = values_at(one.attribute, codes)
                types[column_name(one.name)] = one.type
        return columns, types

    def laws(self, tables: Sequence[Mapping[str, Array]], agree: bool) -> list[Law]:
        """One total; every two tables agree on what they share: estimates always, counts where it is said so."""
        totals = {int(table["count"].sum()) for table in tables}
        good = True
        shapes = [self.workload.shape(table) for table in self.workload.tables]
        for (n, a), (m, b) in combinations(enumerate(self.workload.tables), 2):
            for name in ("estimate", "count") if agree else ("estimate",):
                here = _shared(tables[n][name].reshape(shapes[n]), a, b)
                good = good and bool(np.allclose(here, _shared(tables[m][name].reshape(shapes[m]), b, a), atol=1e-3))
        for place, one in enumerate(self.rolled, len(shapes)):
            base = tables[self.workload.tables.index(one.base)]
            groups = one.groups(self.workload, self.derived)
            for name in ("estimate", "count"):
                added = np.bincount(groups, base[name].astype(float), len(tables[place][name]))
                good = good and bool(np.allclose(added, tables[place][name], atol=1e-3))
        found = [
            Law("totals", len(totals) == 1, "all tables have the same total"),
            Law("sums", good, "tables agree with each other on what they share"),
        ]
        if self.zeros is not None:
            held = [
                tables[n][name][self.empty(t).reshape(-1)]
                for n, t in enumerate(self.workload.tables)
                for name in FORCED
            ]
            found.append(Law("zeros", not any(one.any() for one in held), "cells that are known to be empty are 0"))
        return found

    def invariants(self) -> str:
        if self.zeros is None:
            return ""
        return (
            f"Cells for all of whose values this holds are 0, as is publicly known and was not read from the data: "
            f"`{self.zeros.words}`. It cost nothing. Rows for which it holds, were there any, are counted nowhere."
        )

    def pictures(self, outcome: Outcome) -> dict[str, tuple[str, str]]:
        """Tables that are small enough to be looked at."""
        found = {}
        for table, one in zip(self.workload.tables, outcome.tables):
            names = [[label(value) for value in self.workload.attributes[i].values] for i in table]
            half = float(one.half_width.max())
            note = f"unbiased estimates; noise within ± {half:,.3g} with {LEVEL * 100:.0f} %"
            if len(names) == 1 and len(names[0]) <= BARS_MAX:
                found[f"{one.file}.svg"] = one.title, bars(one.title, names[0], one.values.tolist(), half, note)
            elif len(names) == 2 and max(map(len, names)) <= SQUARES_MAX:
                values = one.values.reshape(self.workload.shape(table)).tolist()
                found[f"{one.file}.svg"] = one.title, squares(one.title, names[0], names[1], values, note)
        return found

    def as_json(self) -> dict[str, Any]:
        more: dict[str, Any] = {"zeros": None if self.zeros is None else self.zeros.as_json()}
        more["derived"] = [one.as_json() for one in self.derived]
        more["rolled"] = [{"base": one.base, "kept": one.kept, "derived": one.derived} for one in self.rolled]
        return workload_json(self.workload) | more

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Tables:
        workload = workload_of(fields)
        derived = tuple(derived_of(one, workload) for one in fields.get("derived", ()))
        places = ("base", "kept", "derived")
        rolled = tuple(Rolled(*(tuple(one[name]) for name in places)) for one in fields.get("rolled", ()))
        return cls(workload, zeros_of(fields.get("zeros"), workload), derived, rolled)


def part_of(name: str) -> Table:
    """The attributes that a block keeps, from its name."""
    return tuple(int(place) for place in name.split(",") if place)


def name_of(part: Table) -> str:
    return ",".join(map(str, part))


def _shared(values: Array, table: Table, other: Table) -> Array:
    """Added up to what the other table has too."""
    found: Array = values.sum(axis=tuple(axis for axis, i in enumerate(table) if i not in other))
    return found
