"""People who do not exist, for targets with a planted leak and for honest ones; also for lectures and benchmarks.

Who is taken, of many: repeatable, so that a reviewer sees the same again. It protects nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.attack.tables.ratings import Clues, Ratings, by_item
from obverse.attack.targets import Table


def in_random_order(n: int, seed: int) -> NDArray[np.int64]:
    """The places 0 .. n - 1, all orders alike."""
    return np.random.default_rng(seed).permutation(n)


def made_up(seed: int) -> np.random.Generator:
    """What made-up people are drawn with, in examples and lessons. Never noise: whoever knows the seed knows it all."""
    return np.random.default_rng(seed)


SECRETS = ("flu", "cancer", "asthma", "ulcer", "gout", "AIDS", "fracture", "migraine")


def people_list(generator: np.random.Generator, people: int, zips: int = 7) -> Table:
    """A list as of a city's voters: id, ZIP code, birth date and sex."""
    born = np.datetime64("1915-01-01") + generator.integers(0, 60 * 365, people)
    codes = generator.choice(np.arange(2138, 2138 + zips), people)
    return {
        "id": np.array([f"p{i}" for i in range(people)], dtype=object),
        "zip": _texts([f"{code:05d}" for code in codes]),
        "birth": _texts([str(day) for day in born]),
        "sex": _texts(generator.choice(["F", "M"], people)),
    }


def patients(generator: np.random.Generator, people: int) -> Table:
    """The same with a secret, which depends a little on where one lives."""
    table = dict(people_list(generator, people))
    habit = [hash_of(code) for code in table["zip"]]
    drawn = generator.integers(0, len(SECRETS), people)
    local = generator.random(people) < 0.3
    table["secret"] = _texts([SECRETS[h if own else d] for h, d, own in zip(habit, drawn, local)])
    return table


def diverse_classes(generator: np.random.Generator, classes: int, size: int, secrets: int | None = None) -> Table:
    """A generalised table of so many classes, each of so many rows that hold as many secrets (all different unless
    told).
    """
    some = secrets if secrets is not None else size
    picked = np.argsort(generator.random((classes, len(SECRETS))), axis=1)[:, :some]
    secret = np.array(SECRETS, dtype=object)[np.tile(picked, (1, -(-size // some)))[:, :size]].reshape(-1)
    place = np.repeat(np.arange(classes), size)
    return {
        "zip": _texts([f"{100 + c // 6}**" for c in place]),
        "age": _texts([f"[{10 + 10 * (c % 6)}-{20 + 10 * (c % 6)})" for c in place]),
        "secret": secret,
    }


def two_hospitals(generator: np.random.Generator, both: int) -> tuple[Table, Table, Table]:
    """What two hospitals publish, cut at different ages, and the people who were in both with what is known of them."""
    others = 3 * both
    people = both + 2 * others
    zips = generator.integers(13000, 13000 + 4 * both, people)
    ages = generator.integers(20, 80, people)
    secret = np.array(SECRETS, dtype=object)[generator.integers(0, len(SECRETS), people)]

    def published(who: NDArray[np.int64], width: int, start: int) -> Table:
        low = start + (ages[who] - start) // width * width
        return {
            "zip": _texts([f"{code // 10}*" for code in zips[who]]),
            "age": _texts([f"[{a}-{a + width})" for a in low]),
            "secret": secret[who],
        }

    shared = np.arange(both)
    first = published(np.concatenate([shared, np.arange(both, both + others)]), 20, 20)
    second = published(np.concatenate([shared, np.arange(both + others, people)]), 20, 10)
    known = {"zip": _texts(zips[shared]), "age": _texts(ages[shared]), "secret": secret[shared]}
    return first, second, known


def pick(table: Table, which: Any) -> Table:
    """Some rows of a table."""
    return {name: values[which] for name, values in table.items()}


def masked(values: NDArray[Any], kept: int) -> NDArray[Any]:
    """Texts of which only the first signs are kept."""
    return _texts([f"{text[:kept]}{'*' * (len(text) - kept)}" for text in values])


def hash_of(code: str) -> int:
    return sum(map(ord, code)) % len(SECRETS)


def _texts(values: Any) -> NDArray[Any]:
    return np.array([str(value) for value in values], dtype=object)


@dataclass(frozen=True, slots=True)
class Film:
    """Ratings of films by made-up people, sorted by person: those of person p are the rows start[p] : start[p + 1]."""

    start: NDArray[np.int64]
    film: NDArray[np.int64]
    stars: NDArray[np.float64]
    day: NDArray[np.float64]
    films: int
    by_rank: NDArray[np.int64]  # films, the most popular first
    rank: NDArray[np.int64]  # of each film

    def released(self, people: int) -> Ratings:
        """The records of the first so many people."""
        end = int(self.start[people])
        person = np.repeat(np.arange(people), np.diff(self.start[: people + 1]))
        return by_item(person, self.film[:end], self.stars[:end], self.day[:end], people=people, items=self.films)


def film_ratings(generator: np.random.Generator, people: int, films: int, each: int, years: float = 6.0) -> Film:
    """Popularity falls with a film's rank; most people rate some, a few rate many; each over a stretch of time of
    their own.
    """
    appeal = (1 / (np.arange(films) + 20.0)).astype(np.float32)
    number = np.clip(generator.lognormal(np.log(each), 0.7, people).astype(int), 12, films // 2)
    picked = []
    days = []
    for count in number:
        # the smallest: drawn without replacement
        keys = generator.standard_exponential(films, dtype=np.float32) / appeal
        picked.append(np.argpartition(keys, count)[:count])
        joined = generator.uniform(0, 365 * years)
        stay = generator.exponential(300)
        days.append(joined + np.sort(generator.uniform(0, stay, count)) // 7 * 7 + generator.integers(0, 3, count))
    film = np.concatenate(picked)
    taste = generator.normal(0, 0.6, films)
    stars = np.clip(np.rint(3.6 + taste[film] + generator.normal(0, 1, len(film))), 1, 5)
    start = np.concatenate([[0], np.cumsum(number)])
    by_rank = np.argsort(-np.bincount(film, minlength=films), kind="stable")
    return Film(
        start=start,
        film=film,
        stars=stars,
        day=np.concatenate(days),
        films=films,
        by_rank=by_rank,
        rank=np.argsort(by_rank),
    )


def clues_about(
    generator: np.random.Generator,
    made: Film,
    person: int,
    *,
    known: int = 8,
    wrong: int = 2,
    days: float | None = 14,
    beyond: int = 0,
) -> Clues:
    """So many of a person's ratings, of which some are made up, and dates off by so many days at most, or none at all.

    Films are known of those beyond the first `beyond` by popularity, as far as the person has rated such.
    """
    own = np.arange(made.start[person], made.start[person + 1])
    rare = own[made.rank[made.film[own]] >= beyond]
    pool = rare if len(rare) >= known else own
    true = generator.choice(pool, min(known, len(pool)) - wrong, replace=False)
    drawn = generator.integers(beyond, made.films, 20 * wrong)
    false = made.by_rank[drawn][~np.isin(made.by_rank[drawn], made.film[own])][:wrong]
    stars = np.clip(made.stars[true] + generator.integers(-1, 2, len(true)), 1, 5)
    items = np.concatenate([made.film[true], false])
    rated = np.concatenate([stars, generator.integers(1, 6, len(false))]).astype(float)
    if days is None:
        return Clues(items, rated, np.full(len(items), np.nan))
    near = made.day[true] + generator.uniform(-days, days, len(true))
    return Clues(items, rated, np.concatenate([near, generator.choice(made.day, len(false))]))
