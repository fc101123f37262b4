"""Governor Weld and the Netflix prize: what is not a name and still names people."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from obverse.attack.attacks import FuzzyLinkage, Linkage
from obverse.attack.examples import clues_about, film_ratings, made_up, people_list, pick
from obverse.learn.exercises import Choice, Exercise
from obverse.learn.lesson import Lesson, Shown, Slider, Step, Text, table

VOTERS = 20_000
PATIENTS = 4_000
VIEWERS = 700
STRANGERS = 150
FILMS = 3_000
EACH = 60
FOUND = 60
ON = (("sex",), ("birth", "sex"), ("zip", "birth", "sex"))


@cache
def town() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """A made-up voter list with names' numbers, the governor first, and a hospital's file of some of them without."""
    generator = made_up(1997)
    voters = {name: values.copy() for name, values in people_list(generator, VOTERS, zips=7).items()}
    voters["birth"][voters["birth"] == "1945-07-31"] = "1945-07-30"
    voters["birth"][:6] = "1945-07-31"
    voters["sex"][:6] = list("MMMFFF")
    voters["zip"][:6] = ["02138", "02139", "02140", "02138", "02139", "02141"]
    chosen = np.concatenate([[0], 6 + generator.permutation(VOTERS - 6)[: PATIENTS - 1]])
    return voters, pick(voters, chosen)


def the_governor() -> Shown:
    """Who shares what with the governor."""
    voters, _ = town()
    day = voters["birth"] == "1945-07-31"
    men = day & (voters["sex"] == "M")
    rows = [("voters", VOTERS), ("born on his day", int(day.sum())), ("men among them", int(men.sum())),
            ("in his ZIP code", int((men & (voters["zip"] == "02138")).sum()))]  # fmt: skip
    return table(
        ("", "people"), rows, "A hospital's file without names, but with these three columns, names its patient."
    )


@cache
def linked(columns: tuple[str, ...]) -> float:
    """The share of patients whom the attack names rightly, from these columns."""
    voters, hospital = town()
    return Linkage().run(hospital, voters, columns, truth="id").rate.value


def everybody_else() -> Shown:
    """The same for all patients, by what is left in the file."""
    return table(
        ("columns in both lists", "patients named"), [(", ".join(on), f"{100 * linked(on):.1f} %") for on in ON]
    )


def films_known(known: str) -> Shown:
    """Made-up ratings without names; somebody lets slip a few films, with ratings and days that are roughly right."""
    generator = made_up(2008)
    made = film_ratings(generator, VIEWERS + STRANGERS, FILMS, EACH)
    setting: dict[str, Any] = {"known": int(known), "wrong": 0, "days": 14}
    inside = [(p, clues_about(generator, made, p, **setting)) for p in range(FOUND)]
    outside = [clues_about(generator, made, p, **setting) for p in range(VIEWERS, VIEWERS + STRANGERS)]
    found = FuzzyLinkage().run(made.released(VIEWERS), inside, outside)
    return Shown(f"Films known: {known}. {found.sentence}")


def most_telling() -> int:
    rates = [linked(on) for on in ON]
    return rates.index(max(rates))


LESSON = Lesson(
    "linkage",
    "Governor Weld, and the Netflix prize",
    __name__,
    (
        Text(
            "In 1997 a state's insurance gave away its employees' visits to hospitals, without names. Latanya Sweeney "
            "bought the list of voters, which has names, and found the governor's record. The people below are made "
            "up; the "
            "arithmetic is the same."
        ),
        Step("Who shares the governor's day of birth, sex and ZIP code:", the_governor),
        Step("And nobody is a governor only: the attack on all patients.", everybody_else),
        Text(
            "In 2006 Netflix published a hundred million ratings without names. Few people see the same few films, and "
            "rate "
            "them at the same time: Narayanan and Shmatikov matched records to people from what those had said in "
            "public."
        ),
        Slider(
            "Somebody tells you some films they saw, give or take two weeks:",
            "films known",
            ("1", "2", "4", "8"),
            films_known,
            2,
        ),
    ),
    Exercise(
        "By which columns does the attack name the most patients?",
        Choice(tuple(", ".join(on) for on in ON), most_telling),
        answer="c",
        wrong=("a", "b"),
        hint="each further column splits the classes.",
        why="none of the three is a name; together they are nearly one.",
    ),
)
