"""Classes counted by people: a person counts once in a class, however many rows they have there.

Counts of different people do not add up where a person is in two classes that are brought together, so each class is
counted from its own entries. People all of whose rows are in one entry need no name (code 0): they add up, here and
above.

A person who has several sensitive values in a class is one person all the same. For diversity (l, alpha) each counts
with whichever of their values makes the class least diverse; `fewest` bounds that choice. For closeness (t) each counts
one, shared evenly by their values.

What k, l, t, risks and attacks count: people, named by a column or by the unit that a project declares; or rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.anonymize.grouping import Classes, Grouped, Pairs, grouped
from obverse.anonymize.recoding import Recoded
from obverse.anonymize.table import Codes, Counts

EACH_ROW = "Each row is taken as a person: no column was named that says whose a row is."
DECLARED = "Each row is a person, as the project declares."


@dataclass(frozen=True, slots=True)
class Counted:
    """`by` names whose a row is, and is nothing where each row is a person; `nobody` rows name nobody.

    Of these nothing can be shown: they may be anybody's. `kept` says that they are still in the table.
    """

    rows: int
    people: int
    by: str | None = None
    declared: bool = False
    nobody: int = 0
    kept: bool = False

    @property
    def sentence(self) -> str:
        if self.by is None:
            return DECLARED if self.declared else EACH_ROW
        declared = ", the declared unit" if self.declared else ""
        said = (
            f"People are counted, named by {self.by}{declared}: {self.people:,} people with {self.rows:,} rows; in "
            "a class"
        )
        said += " a person counts once."
        if not self.nobody:
            return said
        some = "1 row names" if self.nobody == 1 else f"{self.nobody:,} rows name"
        return f"{said} {some} nobody: {'nothing is shown of them' if self.kept else 'they were left out'}."

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "what": "rows" if self.by is None else "people",
            "by": self.by,
            "declared": self.declared,
        }
        return told | {"rows": self.rows, "people": self.people, "nobody": self.nobody, "sentence": self.sentence}


SETTLED = 0.05  # share of people who came to be in one entry, from which on it pays to forget their names


@dataclass(frozen=True, slots=True)
class Entries:
    """The class of each entry, whose it is (`size` bounds the codes), and its people and rows; as `table.Persons` has
    them.

    `ordered` says that they are in the order of classes and codes.
    """

    index: NDArray[np.int64]
    codes: Codes
    size: int
    number: Counts
    rows: Counts
    population: Counts | None = None
    ordered: bool = False

    def people(self, classes: int) -> Counts:
        """How many different people each class has."""
        return self._different(self.number, classes)

    def others(self, classes: int) -> Counts | None:
        """How many different people of the population each class has."""
        if self.population is None:
            return None
        return self._different(self.population, classes)

    def _different(self, number: Counts, classes: int) -> Counts:
        if self.ordered:
            index = self.index
            first = (self.codes == 0) | _changed(self.codes) | _changed(self.index)
            once = np.where(first, _once(self.codes, number), 0)
        else:
            found = grouped((_short(self.index), self.codes), (max(classes, 1), self.size), (number,))
            index = found.columns[0].astype(np.int64)
            once = _once(found.columns[1], found.weights[0])
        return np.bincount(index, weights=once, minlength=classes).astype(np.int64)

    def among(self, some: NDArray[np.bool_]) -> int:
        """How many different people are in some of the classes."""
        here = some[self.index]
        codes = self.codes[here]
        number = self.number[here]
        spread = codes > 0
        return int(number[~spread].sum()) + len(np.unique(codes[spread & (number > 0)]))


@dataclass(frozen=True, slots=True)
class Held:
    """Who holds which value in which class, each once; `several` is how many values that person has in the class."""

    classes: NDArray[np.int64]
    codes: Codes
    values: NDArray[np.int64]
    number: Counts
    several: NDArray[np.int64]


def classes_of_people(entries: Entries, classes: int, columns: Sequence[tuple[Codes, int]]) -> Classes:
    """The classes of these entries, and for each sensitive column, its codes and how many there are, the pairs."""
    sizes = entries.people(classes)
    rows = np.bincount(entries.index, weights=entries.rows, minlength=classes).astype(np.int64)
    pairs = tuple(_pairs(held(entries, classes, codes, size), sizes, size) for codes, size in columns)
    return Classes(sizes, entries.others(classes), pairs, rows)


def held(entries: Entries, classes: int, values: Codes, size: int) -> Held:
    """Each person's different values in each class, in the order of classes, people and values."""
    found = grouped(
        (_short(entries.index), entries.codes, values), (max(classes, 1), entries.size, size), (entries.number,)
    )
    number = _once(found.columns[1], found.weights[0])
    here = number > 0
    index, codes, values = (column[here] for column in found.columns)
    fresh = np.flatnonzero(_changed(index) | _changed(codes))
    lengths = np.diff(np.append(fresh, len(index)))
    several = np.where(codes > 0, np.repeat(lengths, lengths), 1)
    return Held(index.astype(np.int64), codes, values.astype(np.int64), number[here], several)


def held_in(recoded: Recoded, place: int) -> Held:
    """Of a table as it is released."""
    column = recoded.table.sensitive[place]
    return held(entries_of(recoded), recoded.count, column.codes, column.size)


def entries_of(recoded: Recoded) -> Entries:
    persons = recoded.table.persons
    assert persons is not None
    number = np.where(recoded.rows > 0, persons.number, 0)
    return Entries(recoded.index, persons.codes, persons.size, number, recoded.rows, recoded.table.population)


def settled(rows: Grouped, place: int, least: float = SETTLED) -> Grouped:
    """Collapsed entries, with people who came to be in one entry alone unnamed; `place` is the column of codes.

    Weights are rows, people, and the population's where there is one.
    """
    codes = rows.column(place)
    found = replace(rows, weights=(rows.weights[0], *(_once(codes, weight) for weight in rows.weights[1:])))
    times = np.bincount(codes, minlength=rows.sizes[place])
    alone = times == 1
    alone[0] = False
    if alone.sum() <= least * (times[1:] > 0).sum():
        return found
    return found.recoded(place, np.where(alone[codes], 0, codes))


def fewest(counts: Counts, classes: NDArray[np.int64], sizes: Counts) -> Counts:
    """The least diverse that a class can be if each person counts with one of their values.

    The most frequent value gets all who hold it, the next all who hold it as long as people are left, and so on: the
    first j values together never get fewer than by any choice, so no choice has a larger share, fewer values, or less
    entropy. Where everybody has one value these are the counts.
    """
    order = np.lexsort((-counts, classes))
    sorted_counts = counts[order]
    sorted_classes = classes[order]
    running = np.cumsum(sorted_counts)
    starts = np.flatnonzero(_changed(sorted_classes))
    lengths = np.diff(np.append(starts, len(order)))
    running -= np.repeat(running[starts] - sorted_counts[starts], lengths)
    most = sizes[sorted_classes]
    found = np.empty_like(counts)
    found[order] = np.minimum(running, most) - np.minimum(running - sorted_counts, most)
    return found


def _pairs(found: Held, sizes: Counts, size: int) -> Pairs:
    """How many people of each class hold each value."""
    keys = found.classes * size + found.values
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    number = found.number[order]
    starts = np.flatnonzero(_changed(keys))
    counts = np.add.reduceat(number, starts) if len(starts) else number
    classes, values = np.divmod(keys[starts], size)
    firsts = np.flatnonzero(_changed(classes))
    several = found.several[order]
    if not (several > 1).any():
        return Pairs(classes=classes, values=values, counts=counts, starts=firsts, of=classes[firsts])
    shares = np.add.reduceat(number / several, starts)
    return Pairs(
        classes=classes,
        values=values,
        counts=counts,
        starts=firsts,
        of=classes[firsts],
        fewest=fewest(counts, classes, sizes),
        shared=shares,
    )


def _once(codes: Codes, number: Counts) -> Counts:
    """A person who is named counts once."""
    return np.where(codes > 0, np.minimum(number, 1), number)


def _short(index: NDArray[np.int64]) -> Codes:
    return index.astype(np.int32, copy=False)


def _changed(ordered: NDArray[np.int64] | Codes) -> NDArray[np.bool_]:
    found = np.ones(len(ordered), dtype=bool)
    found[1:] = ordered[1:] != ordered[:-1]
    return found
