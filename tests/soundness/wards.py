"""Synthetic projects in which nobody exceeds a limit: a chain of wards (three private tables along a path, two public
ones,
NULLs in most columns), and a table of which each row is a unit."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from obverse.testing import synthetic

WARDS_TOML = """\
[project]
name = "wards"
[privacy]
delta = 1e-8
[budget]
epsilon = 100
delta = 1e-4
[tables.people]
source = "people.parquet"
unit = "person"
[tables.people.columns]
person = { type = "integer" }
born = { type = "date", bounds = ["1920-01-01", "2020-12-31"] }
sex = { type = "text", values = ["F", "M", "X", "?"], nullable = true }
weight = { type = "double", bounds = [0, 300] }
smoker = { type = "boolean" }
town = { type = "text" }
score = { type = "integer", bounds = [-50, 50] }
[tables.visits]
source = "visits.parquet"
unit = "person -> people.person"
limits = { rows = 12 }
[tables.visits.columns]
person = { type = "integer" }
visit = { type = "integer" }
ward = { type = "text", values = "wards.ward", nullable = true }
cost = { type = "double", bounds = [-100, 1000], grid = 0.25 }
at = { type = "timestamp", bounds = ["2019-01-01", "2021-12-31"] }
nurse = { type = "text" }
[tables.items]
source = "items.csv"
unit = "visit -> visits.visit -> people.person"
limits = { rows = 40 }
[tables.items.columns]
visit = { type = "integer" }
n = { type = "integer", bounds = [-3, 9] }
drug = { type = "text", values = "drugs.drug", nullable = true }
[tables.wards]
source = "wards.csv"
public = true
[tables.drugs]
source = "drugs.parquet"
public = true
"""
ROWS_TOML = """\
[project]
name = "rows"
[privacy]
delta = 1e-8
[budget]
epsilon = 100
delta = 1e-4
[tables.trips]
source = "trips.parquet"
unit = "row"
[tables.trips.columns]
zone = { type = "text", values = ["north", "south", "east", "west", "sea"], nullable = true }
km = { type = "double", bounds = [0, 100] }
fare = { type = "double", bounds = [0, 500], grid = 0.01 }
seats = { type = "integer", bounds = [0, 6] }
paid = { type = "boolean" }
day = { type = "date", bounds = ["2021-01-01", "2021-12-31"] }
driver = { type = "text" }
[tables.zones]
source = "zones.csv"
public = true
"""
WARDS = {
    "ward": ["eye", "ear", "heart", "lung", "skin", "birth"],
    "floor": [1, 1, 2, 2, 3, None],
    "beds": [10, 12, 30, 25, 8, 20],
    "wing": ["east", "east", "west", "west", None, "east"],
}
DRUGS = {
    "drug": ["a", "b", "c", "d"],
    "kind": ["oral", "oral", "skin", None],
    "price": [1.5, 20.25, 7.0, None],
    "since": [dt.date(2001, 1, 1), dt.date(2010, 5, 5), None, dt.date(2020, 2, 29)],
}
ZONES = {
    "zone": ["north", "south", "east", "west", "west"],
    "tariff": ["a", "b", "a", "b", "c"],
    "rate": [1, 2, 3, 4, 5],
}


def write_wards(folder: Path) -> Path:
    """400 people, at most 10 visits each and 3 items of each visit; nobody was ever in `birth`."""
    rng = random.Random(5)
    often = _maybe(rng)
    people: dict[str, list[Any]] = {name: [] for name in ("person", "born", "sex", "weight", "smoker", "town", "score")}
    visits: dict[str, list[Any]] = {name: [] for name in ("person", "visit", "ward", "cost", "at", "nurse")}
    items: dict[str, list[Any]] = {name: [] for name in ("visit", "n", "drug")}
    for person in range(1, 401):
        born = dt.date(1930, 1, 1) + dt.timedelta(days=rng.randrange(33_000))
        _add(
            people,
            person,
            often(born),
            often(rng.choice("FFMMX")),
            often(round(rng.gauss(70, 15), rng.randrange(4))),
            often(rng.random() < 0.3),
            often(rng.choice(["Ulm", "Bonn", "Kiel", "Trier", "Jena"])),
            often(rng.randint(-40, 40)),
        )
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3, 4, 6, 10))):
            visit = len(visits["visit"]) + 1
            at = dt.datetime(2019, 1, 1) + dt.timedelta(seconds=rng.randrange(94_000_000))
            _add(
                visits, person, visit, often(rng.choice(WARDS["ward"][:5])), often(rng.randrange(-400, 3600) / 4),
                often(at), often(rng.choice(["Ann", "Bob", "Cyd"])),
            )  # fmt: skip
            for _ in range(rng.choice((0, 1, 1, 2, 3))):
                _add(items, visit, often(rng.randint(-3, 9)), often(rng.choice(DRUGS["drug"])))
    tables = {"people": people, "visits": visits, "items": items, "wards": WARDS, "drugs": DRUGS}
    return synthetic(tables, WARDS_TOML, folder)


def write_rows(folder: Path) -> Path:
    """1,500 trips; nobody ever went to the sea."""
    rng = random.Random(6)
    often = _maybe(rng)
    trips: dict[str, list[Any]] = {name: [] for name in ("zone", "km", "fare", "seats", "paid", "day", "driver")}
    for _ in range(1500):
        _add(
            trips,
            often(rng.choice(["north", "south", "east", "west"])),
            often(rng.random() * 100),
            often(rng.randrange(50_000) / 100),
            often(rng.randint(0, 6)),
            often(rng.random() < 0.9),
            often(dt.date(2021, 1, 1) + dt.timedelta(days=rng.randrange(365))),
            often(rng.choice(["Ada", "Ben", "Cleo"])),
        )
    return synthetic({"trips": trips, "zones": ZONES}, ROWS_TOML, folder)


def _maybe(rng: random.Random) -> Callable[[Any], Any]:
    """The value, or NULL one time in twelve."""
    return lambda value: None if rng.randrange(12) == 0 else value


def _add(columns: dict[str, list[Any]], *row: Any) -> None:
    for values, value in zip(columns.values(), row, strict=True):
        values.append(value)
