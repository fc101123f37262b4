"""Mondrian: the table cut at medians into boxes, as long as both halves satisfy the models (strict, multidimensional).

All parts of one depth are cut together: rows of a part lie side by side, and each step is one pass over all rows. The
column with the widest range, as a share of the column's own, is tried first; its cut is the one nearest to the part's
median. Where a half fails, the next widest is tried. A part that no column cuts is a class. Ties go to the column that
is named first.

Where people have several rows the median is that of the rows, and both halves must have k different people (cuts.py):
of all cuts that leave them, the one nearest to the median is made. Somebody may be in both halves.

Where parts may be cut so that both halves have k different people, of whom each may have rows on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obverse.anonymize.grouping import BITS, Classes, classes_by
from obverse.anonymize.hierarchies import Hierarchy
from obverse.anonymize.models import Large, Model, all_hold
from obverse.anonymize.table import Codes, Counts, Table
from obverse.core.errors import Refused

Integers = NDArray[np.int64]


NOWHERE = np.iinfo(np.int64).max // 2


@dataclass(frozen=True, slots=True)
class Rows:
    """The part and the value of each entry, and whose it is, as `table.Persons` has it."""

    part: Integers
    values: NDArray[np.int32]
    codes: Codes
    number: Counts


def between(rows: Rows, parts: int, k: int) -> tuple[Integers, Integers]:
    """For each part the least and the greatest value that may end its left half; the least is above where there is
    none.

    A person is in the left half from their least value on, and in the right half as long as the cut is below their
    greatest.
    """
    part, least, greatest, number = _ranges(rows)
    low = _reached(part, least, number, parts, k)
    high = -_reached(part, -greatest, number, parts, k) - 1
    return low, high


def _ranges(rows: Rows) -> tuple[Integers, Integers, Integers, Counts]:
    """Part, least and greatest value, and number: of each person who is named once for each part, of others as they
    are.
    """
    here = rows.number > 0
    named = here & (rows.codes > 0)
    alike = here & ~named
    part = rows.part[named]
    codes = rows.codes[named]
    values = rows.values[named]
    order = np.lexsort((codes, part))
    part = part[order]
    codes = codes[order]
    values = values[order].astype(np.int64)
    fresh = np.ones(len(part), dtype=bool)
    fresh[1:] = (part[1:] != part[:-1]) | (codes[1:] != codes[:-1])
    starts = np.flatnonzero(fresh)
    least, greatest = (f.reduceat(values, starts) if len(starts) else values for f in (np.minimum, np.maximum))
    others = rows.values[alike].astype(np.int64)
    return (
        np.concatenate((rows.part[alike], part[starts])),
        np.concatenate((others, least)),
        np.concatenate((others, greatest)),
        np.concatenate((rows.number[alike], np.ones(len(starts), dtype=np.int64))),
    )


def _reached(part: Integers, values: Integers, number: Counts, parts: int, k: int) -> Integers:
    """For each part the value up to which k people are, from the least on."""
    order = np.lexsort((values, part))
    part = part[order]
    values = values[order]
    running = np.cumsum(number[order])
    before = np.concatenate(([0], running))[np.searchsorted(part, np.arange(parts))]
    place = np.searchsorted(running, before + k)
    found = np.full(parts, NOWHERE)
    there = place < np.searchsorted(part, np.arange(parts), side="right")
    found[there] = values[place[there]]
    return found


@dataclass(frozen=True, slots=True)
class Boxes:
    """The class of each row, and for each class and quasi-identifier the least and the greatest rank in it."""

    classes: Integers
    low: NDArray[np.int32]  # class by column
    high: NDArray[np.int32]


def mondrian(
    table: Table,
    hierarchies: Sequence[Hierarchy],
    models: Sequence[Model],
    told: Callable[[float], None] = lambda share: None,
) -> Boxes:
    """Cut until nothing can be cut."""
    work = _Work(table, hierarchies, models)
    if not bool(all_hold(models, work.whole()).all()):
        raise Refused(
            "not_reachable",
            "the table as a whole does not satisfy the models, so no part of it does.",
            fix="Ask for less, or leave out sensitive columns.",
        )
    while work.active:
        work.step()
        told(1 - work.active / max(len(table.counts), 1))
    return work.boxes()


class _Work:
    """Rows in the order of their parts. Parts that are final leave the work."""

    def __init__(self, table: Table, hierarchies: Sequence[Hierarchy], models: Sequence[Model]) -> None:
        self._models = models
        self._k = max([model.k for model in models if isinstance(model, Large)], default=1)
        self._others = [model for model in models if not isinstance(model, Large)]
        n = len(table.counts)
        short = np.int16 if max(c.size for c in table.quasi) < 1 << 15 else np.int32  # half the memory to move
        ranks = [h.ranks.astype(short)[c.codes] for h, c in zip(hierarchies, table.quasi)]
        self._columns = np.array(ranks)
        self._spans = np.array([max(c.size - 2, 1) for c in table.quasi], dtype=np.float64)
        self._bits = max(int(self._columns.max(initial=0)).bit_length(), 1)
        self._counts = table.counts.astype(np.int64)
        self._weight_bits = max(int(self._counts.max(initial=1)).bit_length(), 1)
        self._table = table
        self._persons = table.persons
        self._rows = np.arange(n)
        self._starts = np.zeros(1 if n else 0, dtype=np.int64)
        self._tried = np.zeros((len(ranks), len(self._starts)), dtype=bool)
        self._classes = np.zeros(n, dtype=np.int64)
        self._low: list[NDArray[np.int32]] = []
        self._high: list[NDArray[np.int32]] = []
        self._found = 0

    @property
    def active(self) -> int:
        return len(self._rows)

    def whole(self) -> Classes:
        return self._judged(np.zeros(len(self._rows), dtype=np.int64), 1)

    def step(self) -> None:
        """One column tried for every part."""
        lengths = np.diff(np.append(self._starts, len(self._rows)))
        people = np.add.reduceat(self._counts, self._starts)
        low, high = (
            np.array([f.reduceat(column, self._starts) for column in self._columns], dtype=np.int32)
            for f in (np.minimum, np.maximum)
        )
        width = (high - low) / self._spans[:, None]
        width[self._tried] = 0.0
        width[:, people < 2 * self._k] = 0.0
        chosen = width.argmax(axis=0)
        final = width[chosen, np.arange(len(chosen))] <= 0.0
        part = np.repeat(np.arange(len(chosen)), lengths)
        if final.any():
            self._leave(final, part, low, high)
            if not self.active:
                return
            kept = ~final
            chosen = chosen[kept]
            people = people[kept]
            lengths = lengths[kept]
            part = np.repeat(np.arange(len(chosen)), lengths)
        values = self._columns.ravel().take((chosen * len(part))[part] + np.arange(len(part)))
        cut, possible = self._cuts(part, values, people)
        right = values > cut[part]
        if self._others:
            holds = all_hold(self._others, self._judged(2 * part + right, 2 * len(chosen)))
            possible &= holds[0::2] & holds[1::2]
        self._split(chosen, right & possible[part], possible, lengths)

    def _leave(self, final: NDArray[np.bool_], part: Integers, low: NDArray[np.int32], high: NDArray[np.int32]) -> None:
        """Final parts become classes, and their rows are set aside."""
        number = self._found + np.cumsum(final) - 1
        gone = final[part]
        self._classes[self._rows[gone]] = number[part[gone]]
        self._low.append(low[:, final])
        self._high.append(high[:, final])
        self._found += int(final.sum())
        stay = ~gone
        lengths = np.diff(np.append(self._starts, len(self._rows)))[~final]
        self._starts = np.cumsum(lengths) - lengths
        self._rows = self._rows[stay]
        self._counts = self._counts[stay]
        self._columns = np.array([column[stay] for column in self._columns])
        self._tried = self._tried[:, ~final]

    def _cuts(self, part: Integers, values: NDArray[np.int32], people: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """For each part the last value of the left half, and whether both halves have k people.

        The sorted word of a row holds its part, its value and its count. The cut is before or after the value at the
        middle, whichever is nearer; if neither leaves k on both sides, none does.
        """
        beside = self._weight_bits
        keys = (part << self._bits) | values
        if len(people).bit_length() + self._bits + beside <= BITS:
            words = np.sort((keys << beside) | self._counts)
            keys = words >> beside
            counts = words & ((1 << beside) - 1)
        else:
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            counts = self._counts[order]
        running = np.cumsum(counts)
        fresh = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))  # each value of each part
        ends = running[np.append(fresh[1:], len(keys)) - 1]
        before = np.cumsum(people) - people
        middle = np.searchsorted(ends, before + (people + 1) // 2)
        after = ends[middle] - before
        ahead = np.where(middle > 0, ends[middle - 1], 0) - before
        left = people - 2 * ahead < 2 * after - people  # the cut ahead of the middle value is nearer
        fits_ahead = ahead >= self._k
        fits_after = people - after >= self._k
        value = (keys[fresh] & ((1 << self._bits) - 1))[middle]
        if self._persons is not None:
            here = Rows(part, values, self._persons.codes[self._rows], self._persons.number[self._rows])
            low, high = between(here, len(people), self._k)
            return np.clip(np.where(left, value - 1, value), low, np.maximum(low, high)), low <= high
        take_ahead = fits_ahead & (left | ~fits_after)
        return np.where(take_ahead, value - 1, value), fits_ahead | fits_after

    def _judged(self, index: Integers, classes: int) -> Classes:
        return classes_by(index, classes, self._table, self._counts, self._rows)

    def _split(
        self, chosen: Integers, right: NDArray[np.bool_], possible: NDArray[np.bool_], lengths: Integers
    ) -> None:
        """Rows move to their half, each in the order it had; a part that was not cut remembers what was tried."""
        self._tried[chosen, np.arange(len(chosen))] = True
        rights = np.add.reduceat(right, self._starts, dtype=np.int64)
        lefts = lengths - rights
        order = np.empty(len(right), dtype=np.int64)
        going = np.flatnonzero(right)
        staying = np.flatnonzero(~right)
        order[np.arange(len(staying)) + np.repeat(np.cumsum(rights) - rights, lefts)] = staying
        order[np.arange(len(going)) + np.repeat(np.cumsum(lefts), rights)] = going
        self._rows = self._rows[order]
        self._counts = self._counts[order]
        self._columns = np.array([column[order] for column in self._columns])
        halves = np.repeat(np.arange(len(chosen)), np.where(possible, 2, 1))
        self._tried = self._tried[:, halves] & ~possible[halves]
        pieces = np.where(possible, lefts, lengths)[halves]
        second = np.concatenate(([False], halves[1:] == halves[:-1]))
        pieces[second] = rights[halves[second]]
        self._starts = np.cumsum(pieces) - pieces

    def boxes(self) -> Boxes:
        low, high = (np.concatenate(parts, axis=1).T if parts else np.zeros((0, 0), dtype=np.int32)
                     for parts in (self._low, self._high))  # fmt: skip
        return Boxes(self._classes, low, high)
