"""How likely a row is tied to its person: by one who knows that the person is in the table, by one who does not, by one who
wants many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.anonymize.grouping import numbered
from obverse.anonymize.persons import entries_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.classes import Classes
    from obverse.anonymize.recoding import Recoded
    from obverse.anonymize.table import Counts

BINS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


@dataclass(frozen=True, slots=True)
class Risk:
    """Chances of re-identification by the quasi-identifiers; `contributions` is what the marketer's loses without a column.

    Where people have several rows, the prosecutor's is the largest share that one person has of the rows of a class.
    """

    prosecutor: float
    prosecutor_rows: float  # the share of rows, or of people, with that chance
    journalist: float | None
    marketer: float
    unique: float  # share of rows that look like no other, or of people whom somewhere nobody looks like
    contributions: dict[str, float]
    sizes: dict[str, int]  # rows by the size of their class
    personal: bool = False  # people may have several rows

    @property
    def sentences(self) -> dict[str, str]:
        most = max(self.contributions.items(), key=lambda item: item[1], default=("", 0.0))
        prosecutor, exposed, unique = "finds their row", "rows are that exposed", "rows look like no other"
        if self.personal:
            prosecutor = "and takes a row that looks like them, takes one of theirs"
            exposed, unique = "people are that exposed", "people have rows that look like nobody else's"
        found = {
            "prosecutor": f"Who knows that somebody is in the table{',' if self.personal else ''} {prosecutor} with a chance of"
            f" at most {_share(self.prosecutor)}; {_share(self.prosecutor_rows)} of {exposed}.",
            "marketer": "Who guesses every row's person among those that look alike is right for"
            f" {_share(self.marketer)} of rows.",
            "unique": f"{_share(self.unique)} of {unique}.",
            "contributions": f"Without {most[0]} the share of right guesses would fall by {_share(most[1])}."
            if most[0]
            else "",
        }
        if self.journalist is not None:
            tied = "looks for them in the population, finds their row"
            if self.personal:
                tied = "guesses the person of a row among the people of the population who look like it, is right"
            found["journalist"] = (
                f"Who does not know whether somebody is in the table, and {tied} with a chance of at most"
                f" {_share(self.journalist)}."
            )
        return found

    def as_json(self) -> dict[str, Any]:
        told = {field: getattr(self, field) for field in self.__slots__ if field != "personal"}
        return told | {"sentences": self.sentences}


def _share(share: float) -> str:
    return f"{100 * share:.3g} %"


def risk(recoded: Recoded) -> Risk:
    classes = recoded.classes()
    here = classes.sizes > 0
    sizes, rows = classes.sizes[here], max(int(classes.rows.sum()), 1)
    exposed = _largest_shares(recoded, classes)
    most = float(exposed.max(initial=0.0))
    journalist = None
    if classes.population is not None and len(sizes):
        people = np.maximum(classes.population, classes.sizes)[here]
        journalist = 1 / int(people.min())
    marketer = _guessed(sizes, classes.rows[here]) / rows
    return Risk(
        prosecutor=most,
        prosecutor_rows=_people_share(recoded, exposed >= most) if most else 0.0,
        journalist=journalist,
        marketer=marketer,
        unique=_people_share(recoded, classes.sizes == 1),
        contributions={name: marketer - without / rows for name, without in _guessed_without(recoded).items()},
        sizes=_binned(sizes, classes.rows[here]),
        personal=recoded.table.persons is not None,
    )


def _guessed(sizes: Counts, rows: Counts) -> float:
    """How many rows are rightly guessed if each is guessed to be anybody's of its class."""
    return float((rows / sizes).sum())


def _largest_shares(recoded: Recoded, classes: Classes) -> NDArray[np.float64]:
    """For each class the largest share that one person has of its rows."""
    persons = recoded.table.persons
    if persons is None:
        return np.where(classes.sizes > 0, 1 / np.maximum(classes.sizes, 1), 0.0)
    most = np.zeros(recoded.count, dtype=np.int64)
    alike = (persons.codes == 0) & (recoded.rows > 0)
    np.maximum.at(most, recoded.index[alike], persons.most[alike])
    named = (persons.codes > 0) & (recoded.rows > 0)
    if named.any():
        keys = recoded.index[named] * persons.size + persons.codes[named]
        found, where = np.unique(keys, return_inverse=True)
        np.maximum.at(most, found // persons.size, np.bincount(where, weights=recoded.rows[named]).astype(np.int64))
    return most / np.maximum(classes.rows, 1)


def _people_share(recoded: Recoded, some: NDArray[np.bool_]) -> float:
    """The share of people who are in one of these classes."""
    if recoded.table.persons is None:
        sizes = recoded.classes().sizes
        return float(sizes[some].sum() / max(int(sizes.sum()), 1))
    return entries_of(recoded).among(some) / max(recoded.people, 1)


def _guessed_without(recoded: Recoded) -> dict[str, float]:
    """How many rows are rightly guessed if a column were not there; counted over classes, which are fewer than rows."""
    people = np.bincount(recoded.index, weights=recoded.rows, minlength=recoded.count)
    first = np.zeros(recoded.count, dtype=np.int64)
    first[recoded.index] = np.arange(len(recoded.index))
    there = people > 0
    first = first[there]
    places = [(c.name, c.places[first].astype(np.int32), len(c.labels)) for c in recoded.columns]
    found: dict[str, float] = {}
    for name, _, _ in places:
        others = [(at, size) for other, at, size in places if other != name]
        index, count = np.zeros(len(first), dtype=np.int64), 1
        if others and len(first):
            index, count = numbered([at for at, _ in others], [size for _, size in others])
        found[name] = float(count) if recoded.table.persons is None else _guessed_by(recoded, there, index, count)
    return found


def _guessed_by(recoded: Recoded, there: NDArray[np.bool_], index: NDArray[np.int64], count: int) -> float:
    """The same where classes that are there are brought together under new numbers."""
    moved = np.zeros(recoded.count, dtype=np.int64)
    moved[there] = index
    entries = entries_of(recoded)
    rows = np.bincount(moved[recoded.index], weights=recoded.rows, minlength=count)
    entries = type(entries)(moved[recoded.index], entries.codes, entries.size, entries.number, entries.rows)
    return _guessed(np.maximum(entries.people(count), 1), rows.astype(np.int64))


def _binned(sizes: Counts, rows: Counts) -> dict[str, int]:
    found = {}
    for low, high in zip(BINS, [*BINS[1:], None]):
        here = rows[(sizes >= low) & (sizes < high if high is not None else True)]
        label = f"{low}" if high == low + 1 else f"{low}+" if high is None else f"{low}-{high - 1}"
        found[label] = int(here.sum())
    return found
