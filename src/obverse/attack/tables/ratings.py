"""Sparse dated ratings, and the scoreboard of Narayanan and Shmatikov: which record looks most like what is known?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.attack.tables.classes import coded, column
from obverse.attack.targets import Table
from obverse.core.errors import Refused

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]
Names = tuple[str, str, str, str | None]


# how far off a rating or a date may be, in the paper
STARS = 1.5
DAYS = 30.0


@dataclass(frozen=True, slots=True)
class Ratings:
    """Released ratings sorted by item: those of item i are the rows start[i] : start[i + 1]."""

    people: int
    start: Codes
    person: Codes
    stars: Numbers
    day: Numbers  # not a number where no date is released

    @property
    def support(self) -> Codes:
        """How many people rated each item."""
        return np.diff(self.start)

    def weights(self) -> Numbers:
        """Rare items tell more: 1 / ln(support)."""
        return np.asarray(1 / np.log(np.maximum(self.support, 2)))


@dataclass(frozen=True, slots=True)
class Clues:
    """What is known of one person: items, about how they were rated, and about when; not a number where that is
    unknown.
    """

    items: Codes
    stars: Numbers
    days: Numbers


@dataclass(frozen=True, slots=True)
class Match:
    """The best record, one of them by chance where several are, and how far it is ahead of the second in deviations of
    all
    scores; its score and that of a person's own record, as parts of a perfect one. Person -1: all records fit alike."""

    person: int
    eccentricity: float
    fit: float
    own: float


def by_item(person: Codes, item: Codes, stars: Numbers, day: Numbers, *, people: int, items: int) -> Ratings:
    order = np.argsort(item, kind="stable")
    start = np.searchsorted(item[order], np.arange(items + 1))
    return Ratings(people, start, person[order], stars[order], day[order])


def scoreboard(
    ratings: Ratings, clues: Clues, weights: Numbers, generator: np.random.Generator, person: int | None = None
) -> Match:
    """The record with the largest sum over clues of w (exp(-|stars| / 1.5) + exp(-|days| / 30)); what is missing scores
    0.

    `person` says whose record is their own."""
    counts = ratings.support[clues.items]
    clue = np.repeat(np.arange(len(counts)), counts)
    rows = np.arange(len(clue)) + np.repeat(ratings.start[clues.items] - np.cumsum(counts) + counts, counts)
    alike = np.nan_to_num(np.exp(-np.abs(ratings.stars[rows] - clues.stars[clue]) / STARS))
    alike += np.nan_to_num(np.exp(-np.abs(ratings.day[rows] - clues.days[clue]) / DAYS))
    weight = weights[clues.items]
    scores = np.bincount(ratings.person[rows], weight[clue] * alike, ratings.people)
    perfect = float(weight @ (np.isfinite(clues.stars).astype(float) + np.isfinite(clues.days)))
    deviation = float(scores.std())
    if deviation == 0 or len(scores) < 2:
        return Match(-1, 0.0, 0.0, 0.0)
    second, best = np.partition(scores, -2)[-2:].tolist()
    chosen = int(generator.choice(np.flatnonzero(scores == best)))
    own = float(scores[person]) if person is not None else 0.0
    return Match(chosen, (best - second) / deviation, best / perfect, own / perfect)


def of_table(table: Table, names: Names) -> tuple[Ratings, list[str], dict[str, int]]:
    """Ratings from columns (person, item, stars, date), the names of people, and the number of each item."""
    who = coded(column(table, names[0]))
    what = coded(column(table, names[1]))
    items = {str(name): place for place, name in enumerate(what.texts)}
    stars = numbers_of(column(table, names[2]))
    day = days_of(table, names[3])
    made = by_item(who.codes, what.codes, stars, day, people=len(who.texts), items=len(items))
    return made, [str(name) for name in who.texts], items


def clues_of(table: Table, names: Names, items: dict[str, int]) -> dict[str, Clues]:
    """What is known of each person; of items that nobody rated nothing is to be learned."""
    who = coded(column(table, names[0]))
    what = coded(column(table, names[1]))
    number = np.array([items.get(str(name), -1) for name in what.texts], dtype=np.int64)[what.codes]
    stars = numbers_of(column(table, names[2]))
    day = days_of(table, names[3])
    rated = np.flatnonzero(number >= 0)
    order = rated[np.argsort(who.codes[rated], kind="stable")]
    parts = np.split(order, np.searchsorted(who.codes[order], np.arange(1, len(who.texts))))
    return {str(name): Clues(number[own], stars[own], day[own]) for name, own in zip(who.texts, parts)}


def numbers_of(values: NDArray[Any]) -> Numbers:
    """Not a number where nothing is written."""
    try:
        return np.array([np.nan if v is None or v == "" else float(v) for v in values], dtype=np.float64)
    except ValueError:
        raise Refused("not_numbers", "a column that is to hold numbers holds something else.") from None


def days_of(table: Table, name: str | None) -> Numbers:
    """Dates as days; numbers are days already. Not a number where there is none."""
    if name is None:
        return np.full(len(next(iter(table.values()))), np.nan)
    texts = [str(v) if v is not None else "" for v in column(table, name)]
    if all(text.replace(".", "", 1).lstrip("-").isdigit() for text in texts if text):
        return np.array([float(text) if text else np.nan for text in texts])
    try:
        stamps = np.array([text[:10] if text else "NaT" for text in texts], dtype="datetime64[D]")
    except ValueError:
        raise Refused(
            "not_dates", f"{name!r} holds neither dates nor days.", fix="Write 2000-09-27, or a number."
        ) from None
    return np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64))
