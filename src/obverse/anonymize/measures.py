"""Secrets guessed from a release: by the most frequent of a class, and by what two releases of the same people both
allow.

How far a table satisfies each model: the k, l, t ... that it reaches, by one GROUP BY.

How likely a row is tied to its person: by one who knows that the person is in the table, by one who does not, by one
who wants many.

What was lost: discernibility, average class, and the loss of each column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obverse.anonymize.grouping import Classes, Pairs, numbered, whole_of
from obverse.anonymize.hierarchies import Recipe, built
from obverse.anonymize.models import distinct, entropies, equal, hierarchical, ordered, tails
from obverse.anonymize.persons import Held, entries_of, held_in
from obverse.anonymize.recoding import Recoded
from obverse.anonymize.table import Counts

RECURSIVE_L = 2


def measured(recoded: Recoded) -> dict[str, Any]:
    """Of the worst class: k; for each sensitive column l, t and the largest share of one value; presence."""
    classes = recoded.classes()
    here = classes.sizes > 0
    found: dict[str, Any] = {"k": int(classes.sizes[here].min()) if here.any() else 0, "classes": int(here.sum())}
    if classes.population is not None and here.any():
        share = classes.sizes / np.maximum(np.maximum(classes.population, classes.sizes), 1)
        found["presence"] = [float(share.min()), float(share.max())]
    found["sensitive"] = {
        column.name: _of_column(classes, place, here, whole_of(recoded.table, place, recoded.rows))
        for place, column in enumerate(recoded.table.sensitive)
        if here.any()
    }
    return found


def closeness_on_trees(recoded: Recoded, recipes: Mapping[str, Recipe]) -> dict[str, float]:
    """For each sensitive column that has a hierarchy the t of its worst class, by the distance over that hierarchy."""
    classes = recoded.classes()
    found = {}
    here = classes.sizes > 0
    for place, column in enumerate(recoded.table.sensitive):
        if column.name in recipes and here.any():
            levels = tuple(one.groups for one in built(recipes[column.name], column.name, column.values).levels[:-1])
            whole = whole_of(recoded.table, place, recoded.rows)
            found[column.name] = float(hierarchical(classes, place, whole, levels)[here].max())
    return found


def _of_column(classes: Classes, place: int, here: NDArray[np.bool_], whole: NDArray[np.float64]) -> dict[str, float]:
    largest, tail = (part[here] for part in tails(classes, place, RECURSIVE_L))
    with np.errstate(divide="ignore"):
        ratio = float(np.max(largest / tail))
    return {
        "distinct_l": int(distinct(classes, place)[here].min()),
        "entropy_l": max(float(np.exp(entropies(classes, place)[here].min())), 1.0),
        "recursive_c": ratio if np.isfinite(ratio) else None,  # type: ignore[dict-item]
        "t_equal": float(equal(classes, place, whole)[here].max()),
        "t_ordered": float(ordered(classes, place, whole)[here].max()),
        "alpha": float((largest / classes.sizes[here]).max()),
    }


BINS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


@dataclass(frozen=True, slots=True)
class Risk:
    """Chances of re-identification by the quasi-identifiers; `contributions` is what the marketer's loses without a
    column.

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
        prosecutor = "finds their row"
        exposed = "rows are that exposed"
        unique = "rows look like no other"
        if self.personal:
            prosecutor = "and takes a row that looks like them, takes one of theirs"
            exposed = "people are that exposed"
            unique = "people have rows that look like nobody else's"
        found = {
            "prosecutor": f"Who knows that somebody is in the table{',' if self.personal else ''} {prosecutor} with a "
            "chance of"
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
    sizes = classes.sizes[here]
    rows = max(int(classes.rows.sum()), 1)
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
        index = np.zeros(len(first), dtype=np.int64)
        count = 1
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


@dataclass(frozen=True, slots=True)
class Utility:
    """Of the released table; `columns` are losses from 0, as it was, to 1, nothing left, suppressed rows included.

    Classes are counted by people; `people_suppressed` are those of whom a row was left out. They are none where each
    row is taken as a person.
    """

    rows: int
    suppressed: int
    classes: int
    discernibility: float
    average_class: float
    average_over_k: float | None
    columns: dict[str, float]
    people: int | None = None
    people_suppressed: int | None = None

    @property
    def sentences(self) -> dict[str, str]:
        lost = max(self.columns.items(), key=lambda item: item[1], default=("", 0.0))
        average = f"{self.average_class:.3g}" if self.average_class < 100 else f"{self.average_class:,.0f}"
        share = self.suppressed / max(self.rows + self.suppressed, 1)
        whose = "" if self.people_suppressed is None else f" of {self.people_suppressed:,} people"
        alike = "rows" if self.people is None else "people"
        return {
            "suppressed": f"{self.suppressed:,} rows{whose} ({100 * share:.3g} %) were left out.",
            "average_class": f"There are {self.classes:,} classes of {average} {alike} on average.",
            "discernibility": "The sum over rows of how many rows each cannot be told from; a suppressed one counts as "
            "all.",
            "columns": f"Most was lost in {lost[0]}: {100 * lost[1]:.3g} % of what it told." if lost[0] else "",
        }

    def as_json(self) -> dict[str, Any]:
        told = {field: getattr(self, field) for field in self.__slots__}
        if self.people is None:
            del told["people"], told["people_suppressed"]
        return told | {"sentences": self.sentences}


def utility(recoded: Recoded, k: int | None) -> Utility:
    found = recoded.classes()
    sizes = found.rows.astype(np.float64)
    classes = int((sizes > 0).sum())
    rows = int(sizes.sum())
    suppressed = recoded.suppressed
    average = float(found.sizes.sum()) / classes if classes else 0.0
    whose = (None, None) if recoded.table.persons is None else (recoded.people, recoded.people_suppressed)
    everyone = max(rows + suppressed, 1)
    columns = {}
    for c in recoded.columns:
        people = np.bincount(c.places, weights=recoded.rows, minlength=len(c.labels))  # whole numbers, so in any order
        columns[c.name] = float(((c.spread * people).sum() + suppressed) / everyone)
    discernibility = float((sizes**2).sum()) + float(suppressed) * (rows + suppressed)
    return Utility(rows, suppressed, classes, discernibility, average, average / k if k else None, columns, *whose)


PAIRS_AT_ONCE = 200_000


class Guessed(NamedTuple):
    """Right guesses of people's secrets, the same if each person's own rows were not there, and how many people there
    are.

    Somebody with rows in several classes is guessed in each. A guess is right that is one of the person's secrets
    there.
    """

    right: int
    without_own: int
    people: int


def by_class(recoded: Recoded, place: int) -> Guessed:
    """The most frequent secret of each class, guessed for everybody in it; the first of several, and alone the usual
    one.
    """
    classes = recoded.classes()
    pairs = classes.pairs[place]
    if not len(pairs.starts):
        return Guessed(0, 0, 0)
    lengths = _lengths(pairs)
    most = np.maximum.reduceat(pairs.counts, pairs.starts)
    top = _first(pairs.counts == np.repeat(most, lengths), pairs, lengths)
    others = pairs.counts.copy()
    others[top] = 0
    second = np.maximum.reduceat(others, pairs.starts)
    rival = _first((others == np.repeat(second, lengths)), pairs, lengths)
    usual = int(np.bincount(pairs.values, weights=pairs.counts).argmax())
    alone = classes.sizes[pairs.of] == 1
    if recoded.table.persons is not None:
        rivals = (others == np.repeat(most, lengths)) | (
            (others == np.repeat(most, lengths) - 1) & (np.arange(len(others)) < np.repeat(top, lengths))
        )
        rivals[top] = False
        without = _without_own(held_in(recoded, place), pairs, (top, rivals), usual, classes.sizes)
        return Guessed(int(most.sum()), without, int(classes.sizes.sum()))
    still = np.where(alone, pairs.values[top] == usual, (most - 1 > second) | ((most - 1 == second) & (top < rival)))
    return Guessed(int(most.sum()), int(most[still].sum()), int(classes.sizes.sum()))


def by_both(one: Recoded, other: Recoded, place: int) -> int:
    """People released by one and by the other who are left with one secret by both together, and with several by each.

    Of somebody with several rows one such row is enough: whoever knows what it says of them knows the secret that it
    has.
    """
    people = np.where(other.kept, one.rows, 0)
    here = people > 0
    keys, where = np.unique(one.index[here] * other.count + other.index[here], return_inverse=True)
    weight = np.bincount(where, weights=people[here], minlength=len(keys))
    first = one.classes().pairs[place]
    second = other.classes().pairs[place]
    size = one.table.sensitive[place].size
    known = second.classes * size + second.values  # in order
    (starts, lengths), (_, others) = (
        _by_class(pairs, count) for pairs, count in ((first, one.count), (second, other.count))
    )
    won = np.zeros(len(keys), dtype=bool)
    for begin in range(0, len(keys), PAIRS_AT_ONCE):
        mine, theirs = np.divmod(keys[begin : begin + PAIRS_AT_ONCE], other.count)
        each = lengths[mine]
        owner = np.repeat(np.arange(len(mine)), each)
        at = np.arange(len(owner)) - np.repeat(np.cumsum(each) - each, each) + starts[mine][owner]
        wanted = theirs[owner] * size + first.values[at]
        place_of = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        common = np.bincount(owner[known[place_of] == wanted], minlength=len(mine))
        left = (common == 1) & (each > 1) & (others[theirs] > 1)
        won[begin : begin + PAIRS_AT_ONCE] = left
    if one.table.persons is None:
        return int(weight[won].sum())
    decided = np.zeros(len(here), dtype=bool)
    decided[here] = won[where]
    return one.table.people_of(decided)


def by_several(recoded: Recoded, place: int) -> int:
    """People with rows in several classes, of several secrets each, of which all have the person's own alone in
    common.
    """
    mine = held_in(recoded, place)
    pairs = recoded.classes().pairs[place]
    size = recoded.table.sensitive[place].size
    starts, lengths = _by_class(pairs, recoded.count)
    spread = mine.codes > 0
    most = int(mine.codes.max(initial=0)) + 1
    owners, classes = np.divmod(
        np.unique(mine.codes[spread] * np.int64(recoded.count) + mine.classes[spread]), recoded.count
    )
    secrets = np.unique(mine.codes[spread] * np.int64(size) + mine.values[spread]) // size
    number = np.bincount(owners, minlength=most)
    least = np.full(most, np.iinfo(np.int64).max)
    np.minimum.at(least, owners, lengths[classes])
    tried = (np.bincount(secrets, minlength=most) == 1) & (number > 1) & (least > 1)
    classes = classes[tried[owners]]
    owners = owners[tried[owners]]
    each = lengths[classes]
    fresh = np.flatnonzero(_changes(owners))
    begins = fresh[_changes((np.cumsum(each) - each)[fresh] // PAIRS_AT_ONCE)]
    won = 0
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(owners)]):
        here = owners[begin:end]
        there = classes[begin:end]
        many = each[begin:end]
        at = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many) + np.repeat(starts[there], many)
        keys, times = np.unique(np.repeat(here, many) * size + pairs.values[at], return_counts=True)
        common = np.unique((keys // size)[times == number[keys // size]], return_counts=True)[1]
        won += int((common == 1).sum())
    return won


def _without_own(
    mine: Held, pairs: Pairs, guess: tuple[NDArray[np.int64], NDArray[np.bool_]], usual: int, sizes: NDArray[np.int64]
) -> int:
    """Right guesses of people whose own rows are left out: the first guess is still made, or what is made instead is
    theirs.

    Rivals are values that are guessed first once somebody is gone who held the first guess and not the rival. Of a
    class of one person nothing is left, and the usual value is guessed.
    """
    top, rivals = guess
    classes = len(sizes)
    first = np.full(classes, -1, dtype=np.int64)
    first[pairs.of] = pairs.values[top]
    width = int(pairs.values.max(initial=0)) + 1
    keys = pairs.classes * width + pairs.values
    rival = rivals[np.searchsorted(keys, mine.classes * width + mine.values)]
    number = np.bincount(pairs.classes, weights=rivals, minlength=classes)
    fresh = _changes(mine.codes) | _changes(mine.classes) | (mine.codes == 0)
    who = np.cumsum(fresh) - 1  # a person in a class; of people who are not named, all with one value
    own = np.bincount(who, weights=rival)[who]
    alone = sizes[mine.classes] == 1
    guessed = np.where(
        alone, mine.values == usual, (mine.values == first[mine.classes]) & (own == number[mine.classes])
    )
    return int(mine.number[guessed].sum())


def _lengths(pairs: Pairs) -> NDArray[np.int64]:
    return np.diff(np.append(pairs.starts, len(pairs.classes)))


def _first(held: NDArray[np.bool_], pairs: Pairs, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """In each class the first pair of which something holds."""
    places = np.where(held, np.arange(len(held)), len(held))
    return np.asarray(np.minimum.reduceat(places, pairs.starts), dtype=np.int64)


def _by_class(pairs: Pairs, classes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the secrets of each class begin, and how many there are."""
    starts = np.zeros(classes, dtype=np.int64)
    lengths = np.zeros(classes, dtype=np.int64)
    starts[pairs.of] = pairs.starts
    lengths[pairs.of] = _lengths(pairs)
    return starts, lengths


def _changes(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a value begins that the entry before does not have."""
    found = np.ones(len(ordered), dtype=bool)
    found[1:] = ordered[1:] != ordered[:-1]
    return found
