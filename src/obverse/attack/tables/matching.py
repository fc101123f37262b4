"""Which released rows a known person may be: descriptions against classes, cell by cell, without comparing every
pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obverse.attack.tables.cells import standing
from obverse.attack.tables.classes import Classes, coded, column, joined, rows
from obverse.attack.targets import Table

Codes = NDArray[np.int64]


PAIRS_AT_ONCE = 4_000_000  # that are searched, and of those that fit how many are handed on
AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Level:
    """One column of the search: which cells each known value fits, and which cells follow each beginning of a class."""

    value: Codes  # of each description
    cell_start: Codes  # the cells that value v fits are cells[cell_start[v] : cell_start[v + 1]]
    cells: Codes
    child_start: Codes  # the longer beginnings of beginning b are child_start[b] : child_start[b + 1]
    children: Codes  # beginning * width + cell of each longer one, sorted
    fits: Codes  # value * width + cell, sorted
    width: int


@dataclass(frozen=True, slots=True)
class Matching:
    """Known people by their description, released rows by their class, and the pairs that may be one person."""

    people: Classes
    released: Classes
    levels: tuple[Level, ...]
    class_of: Codes  # of each complete beginning

    def pairs(self) -> Iterator[tuple[Codes, Codes]]:
        """Descriptions and classes that fit, some at a time."""
        if not len(self.released):
            return
        step = max(64, PAIRS_AT_ONCE // max(1, len(self.released)))
        for start in range(0, len(self.people), step):
            described = np.arange(start, min(start + step, len(self.people)))
            beginning = np.zeros(len(described), dtype=np.int64)
            for level in self.levels:
                described, beginning = _further(level, described, beginning)
            for some in range(0, len(described), AT_ONCE):
                yield described[some : some + AT_ONCE], self.class_of[beginning[some : some + AT_ONCE]]

    def counts(self) -> tuple[Codes, Codes, Codes]:
        """Of each description: how many rows fit, a class that fits; and of each class: how many people fit."""
        fitting = np.zeros(len(self.people), dtype=np.int64)
        some = np.full(len(self.people), -1, dtype=np.int64)
        by_class = np.zeros(len(self.released), dtype=np.int64)
        for described, found in self.pairs():
            np.add.at(fitting, described, self.released.sizes[found])
            np.add.at(by_class, found, self.people.sizes[described])
            some[described] = found
        return fitting, some, by_class

    def right_guesses(self, who: Codes, whose: Codes) -> float:
        """How many of the known a blind choice among the rows that fit each finds on average; who each is, whose
        each row.
        """
        order = np.argsort(whose, kind="stable")
        classes = len(self.released)
        first, last = (np.searchsorted(whose, who, side, sorter=order) for side in ("left", "right"))
        place, at = _spread(first, last - first)
        own, times = np.unique(self.people.codes[place] * classes + self.released.codes[order[at]], return_counts=True)
        fitting = self.counts()[0]
        right = 0.0
        for described, found in self.pairs():
            held, where = _look_up(own, described * classes + found)
            right += float((times[where[held]] / fitting[described[held]]).sum())
        return right

    @property
    def nobody(self) -> bool:
        """Whether no row fits anybody known, as where the tables write the same things in other ways."""
        return not any(len(described) for described, _ in self.pairs())

    def links(self, whose: Codes | None = None) -> Codes:
        """Of each known person: a row of the one released person who fits nobody else known, where nobody else fits;
        else -1.

        `whose`: the person of each released row; without it each row is a person.
        """
        if not len(self.released):
            return np.full(len(self.people.codes), -1, dtype=np.int64)
        _, some, by_class = self.counts()
        rows = self.released.codes
        low, high = _ends(np.arange(len(rows)) if whose is None else whose, rows, len(self.released))
        lowest = np.full(len(self.people), low.max(initial=0) + 1)
        highest = np.full(len(self.people), -1)
        most = np.zeros(len(self.people), dtype=np.int64)
        for described, found in self.pairs():
            np.minimum.at(lowest, described, low[found])
            np.maximum.at(highest, described, high[found])
            np.maximum.at(most, described, by_class[found])
        alone = (lowest == highest) & (most == 1) & (self.people.sizes == 1)
        linked = np.where(alone, self.released.first[some], -1)
        return np.asarray(linked[self.people.codes], dtype=np.int64)


def matched(released: Table, known: Table, on: Sequence[str]) -> Matching:
    """Prepare the search: columns whose values fit fewest cells come first, so that little is left for the others."""
    told = [coded(column(released, name)) for name in on]
    heard = [coded(column(known, name)) for name in on]
    found = joined([one.codes for one in told], rows(released))
    people = joined([one.codes for one in heard], rows(known))
    fits = [_fits(standing(t.texts, h.texts), len(h.texts)) for t, h in zip(told, heard)]
    order = sorted(range(len(on)), key=lambda i: len(fits[i][1]) / max(1, len(heard[i].texts)))
    beginning = np.zeros(len(found), dtype=np.int64)
    levels = []
    for i in order:
        cell = told[i].codes[found.first]
        value = heard[i].codes[people.first]
        level, beginning = _level(value, fits[i], beginning, cell, len(told[i].texts))
        levels.append(level)
    class_of = np.empty(len(found), dtype=np.int64)
    class_of[beginning] = np.arange(len(found))
    return Matching(people, found, tuple(levels), class_of)


def _ends(values: Codes, group: Codes, groups: int) -> tuple[Codes, Codes]:
    """The least and the largest value of each group; each has one."""
    low = np.full(groups, values.max(initial=0))
    high = np.full(groups, values.min(initial=0))
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    return low, high


def _fits(standing: Sequence[Codes], values: int) -> tuple[Codes, Codes]:
    """From cells to the values that they stand for, turned around: the cells of each value."""
    cells = np.repeat(np.arange(len(standing)), [len(places) for places in standing])
    value = np.concatenate(standing) if standing else np.zeros(0, dtype=np.int64)
    order = np.lexsort((cells, value))
    return np.searchsorted(value[order], np.arange(values + 1)), cells[order]


def _level(value: Codes, fits: tuple[Codes, Codes], beginning: Codes, cell: Codes, width: int) -> tuple[Level, Codes]:
    """The level of one column, and each class's beginning with this column."""
    start, cells = fits
    before = int(beginning.max(initial=-1)) + 1
    keys, longer = np.unique(beginning * width + cell, return_inverse=True)
    child_start = np.searchsorted(keys // width, np.arange(before + 1))
    pairs = np.repeat(np.arange(len(start) - 1), np.diff(start)) * width + cells
    return Level(
        value=value, cell_start=start, cells=cells, child_start=child_start, children=keys, fits=pairs, width=width
    ), longer


def _further(level: Level, described: Codes, beginning: Codes) -> tuple[Codes, Codes]:
    """Pairs of a description and a longer beginning: through the cells of the value, or through those that follow."""
    value = level.value[described]
    by_value = np.diff(level.cell_start)[value]
    by_child = np.diff(level.child_start)[beginning]
    if by_value.sum() <= by_child.sum():
        place, at = _spread(level.cell_start[value], by_value)
        held, where = _look_up(level.children, beginning[place] * level.width + level.cells[at])
        return described[place][held], where[held]
    place, at = _spread(level.child_start[beginning], by_child)
    held, _ = _look_up(level.fits, value[place] * level.width + level.children[at] % level.width)
    return described[place][held], at[held]


def _spread(starts: Codes, counts: Codes) -> tuple[Codes, Codes]:
    """For stretches of a list: which stretch each element is of, and where it stands."""
    place = np.repeat(np.arange(len(starts)), counts)
    within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place, starts[place] + within


def _look_up(keys: Codes, wanted: Codes) -> tuple[NDArray[np.bool_], Codes]:
    where = (
        np.minimum(np.searchsorted(keys, wanted), len(keys) - 1) if len(keys) else np.zeros(len(wanted), dtype=np.int64)
    )
    held = keys[where] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
    return held, where
