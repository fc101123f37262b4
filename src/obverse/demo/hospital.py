"""A synthetic hospital: people, their visits, the public list of clinics. Made from a seed; nobody in it exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from obverse.core.types import Type

NAME = "obverse.sample.hospital"
VERSION = 1
SEED = 20_110_527
PEOPLE = 20_000
VISITS_MEAN = 4.7
FIRST_DAY = np.datetime64("2015-01-01")
LAST_DAY = np.datetime64("2025-12-31")

FIRST_NAMES = (
    "Ada Amir Anna Bea Ben Carla Chen Dana David Elif Emma Eva Farid Femi Greta Hana Hugo Ines Ivan Jana Jonas Karim "
    "Lea Lin Luca Maja Marco Mei Mila Nadia Nils Noor Olga Omar Paula Pedro Rosa Sami Sara Tara Theo Uma Vera Yuki Zoe"
)
LAST_NAMES = (
    "Abe Adler Baker Berg Bianchi Costa Dietz Dumont Ek Farkas Fischer Garcia Haas Haddad Ito Jansen Kaya Khan Klein "
    "Kowalski Lang Lopez Maier Moreau Nagy Novak Okafor Olsen Park Petrov Quist Rossi Roth Sato Silva Singh Stein Tan "
    "Toth Urban Vogel Wagner Weber Wong Yilmaz Zhang"
)
CLINICS = {  # clinic: (city, share of visits, middle cost)
    "Cardiology": ("Northfield", 0.11, 620.0),
    "Dermatology": ("Northfield", 0.08, 140.0),
    "Emergency": ("Northfield", 0.15, 480.0),
    "Gastroenterology": ("Lakeside", 0.06, 390.0),
    "General Practice": ("Lakeside", 0.27, 75.0),
    "Infectious Diseases": ("Lakeside", 0.03, 310.0),
    "Neurology": ("Northfield", 0.05, 540.0),
    "Oncology": ("Northfield", 0.04, 1450.0),
    "Ophthalmology": ("Hillcrest", 0.06, 160.0),
    "Orthopaedics": ("Hillcrest", 0.07, 700.0),
    "Paediatrics": ("Hillcrest", 0.06, 95.0),
    "Psychiatry": ("Lakeside", 0.02, 210.0),
}


@dataclass(frozen=True, slots=True)
class SampleTable:
    """Columns of equal length with the type of each; NULLs are masks, dates and timestamps datetime64."""

    name: str
    columns: Mapping[str, np.ndarray[Any, Any]]
    types: Mapping[str, Type]


def hospital(seed: int = SEED, people: int = PEOPLE) -> tuple[SampleTable, SampleTable, SampleTable]:
    """The tables people, visits and clinics; the same seed gives the same values."""
    rng = np.random.default_rng(seed)
    persons = _people(rng, people)
    return persons, _visits(rng, persons), _clinics()


def _people(rng: np.random.Generator, count: int) -> SampleTable:
    age = np.clip(np.where(rng.random(count) < 0.2, rng.integers(0, 18, count), rng.normal(49, 19, count)), 0, 103)
    age = np.where(age < 0.5, rng.integers(0, 18, count), age).astype(np.int64)
    sex = rng.choice(np.array(["F", "M", "X"], dtype=object), count, p=(0.507, 0.486, 0.007))
    names = _pick(rng, FIRST_NAMES, count) + " " + _pick(rng, LAST_NAMES, count)
    zips = np.array([f"{code:05d}" for code in 10_115 + 137 * np.arange(48)], dtype=object)
    crowded = 1.0 / np.arange(3, 3 + len(zips))
    experience = np.clip(age - 18, 0, 40)
    salary = np.exp(rng.normal(10.35, 0.55, count) + 0.012 * experience - 0.09 * (sex == "F"))
    salary = np.round(np.minimum(salary, 500_000.0), 2)
    risk = np.where((age >= 18) & (age < 70), 0.009, 0.0008)
    joined = np.datetime64("2010-01-01") + rng.integers(0, 365 * 15, count)
    columns = {
        "person_id": 100_000 + rng.permutation(count).astype(np.int64),
        "name": names,
        "age": _missing(rng, age, 0.003),
        "zip": _missing(rng, rng.choice(zips, count, p=crowded / crowded.sum()), 0.004),
        "sex": sex,
        "salary": np.ma.masked_array(salary, mask=(age < 18) | (rng.random(count) < 0.02)),
        "hiv": _missing(rng, rng.random(count) < risk, 0.01),
        "joined": joined,
    }
    types = (Type.INTEGER, Type.TEXT, Type.INTEGER, Type.TEXT, Type.TEXT, Type.DOUBLE, Type.BOOLEAN, Type.DATE)
    return SampleTable("people", columns, dict(zip(columns, types, strict=True)))


def _visits(rng: np.random.Generator, people: SampleTable) -> SampleTable:
    """Most people come a few times, a few come hundreds of times; older people come more often and cost more."""
    ages = np.ma.getdata(people.columns["age"])
    frail = rng.gamma(1.1, 1.0, len(ages)) * (0.55 + ages / 100.0) * VISITS_MEAN
    frequent = rng.random(len(ages)) < 0.002
    often = np.where(frequent, np.minimum(30 * (1 + rng.pareto(1.6, len(ages))), 400), frail)
    who = np.repeat(np.arange(len(ages)), rng.poisson(often))
    start = np.maximum(people.columns["joined"][who], FIRST_DAY)
    day = start + (rng.random(len(who)) * ((LAST_DAY - start).astype(np.int64) + 1)).astype(np.int64)
    seconds = (rng.normal(12.5, 2.8, len(who)).clip(0.5, 23.4) * 3600).astype(np.int64)
    moment = day.astype("datetime64[us]") + (seconds * 1_000_000).astype("timedelta64[us]")
    clinic = _clinic_of(rng, ages[who])
    middle = np.array([cost for _, _, cost in CLINICS.values()])[clinic]
    cost = np.exp(np.log(middle) + 0.006 * (ages[who] - 45) + rng.normal(0, 0.6, len(who)))
    order = np.argsort(moment, kind="stable")
    columns = {
        "visit_id": np.arange(1, len(who) + 1, dtype=np.int64),
        "person_id": people.columns["person_id"][who][order],
        "clinic": np.array(list(CLINICS), dtype=object)[clinic][order],
        "cost": _missing(rng, np.round(np.minimum(cost, 10_000.0), 2)[order], 0.01),
        "at": moment[order],
    }
    types = (Type.INTEGER, Type.INTEGER, Type.TEXT, Type.DOUBLE, Type.TIMESTAMP)
    return SampleTable("visits", columns, dict(zip(columns, types, strict=True)))


def _clinic_of(rng: np.random.Generator, ages: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The place in CLINICS of each visit; children go to Paediatrics, and nobody else does."""
    names = list(CLINICS)
    shares = np.array([share for _, share, _ in CLINICS.values()])
    paediatrics = names.index("Paediatrics")
    practice = names.index("General Practice")
    clinic = rng.choice(len(names), len(ages), p=shares / shares.sum())
    clinic = np.where((ages < 16) & (rng.random(len(ages)) < 0.6), paediatrics, clinic)
    return np.where((ages >= 18) & (clinic == paediatrics), practice, clinic)


def _clinics() -> SampleTable:
    columns = {
        "clinic": np.array(list(CLINICS), dtype=object),
        "city": np.array([city for city, _, _ in CLINICS.values()], dtype=object),
    }
    return SampleTable("clinics", columns, {"clinic": Type.TEXT, "city": Type.TEXT})


def _pick(rng: np.random.Generator, words: str, count: int) -> np.ndarray[Any, Any]:
    return rng.choice(np.array(words.split(), dtype=object), count)


def _missing(rng: np.random.Generator, values: np.ndarray[Any, Any], share: float) -> np.ndarray[Any, Any]:
    """The values with a share of them NULL."""
    return np.ma.masked_array(values, mask=rng.random(len(values)) < share)
