"""Reconstruction: too many answers that are too accurate give everything away."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from obverse.answers.svg import Axis, Curve, curves
from obverse.attack.attacks import Reconstruction
from obverse.attack.solvers import bits_of, consistent
from obverse.attack.targets import Counting, Person
from obverse.core.rng import Rng
from obverse.learn.exercises import Choice, Exercise
from obverse.learn.lesson import Columns, Lesson, Shown, Slider, Step, Text, room, table
from obverse.mechanisms import DiscreteLaplace
from obverse.review.interfaces import asked_of

CLINIC = """
[project]
name = "clinic"
[budget]
epsilon = 1
[tables.clinic]
source = "clinic.csv"
unit = "name"
[tables.clinic.columns]
name = { type = "text" }
ill = { type = "integer", bounds = [0, 1] }
"""
PEOPLE = 200
PATIENTS = 100
SCALES = ("1/2", "2", "5", "15", "50")


def few_people() -> Shown:
    """Ten people and all 1,024 questions about groups of them, each answered within 1: which databases agree?"""
    people = 10
    error = 1
    truth = Rng().bits(people)
    subsets = bits_of(np.arange(1 << people, dtype=np.uint32), people)
    answers = subsets @ truth.astype(float) + Rng().below(2 * error + 1, len(subsets)) - error
    kept = bits_of(consistent(subsets, answers, float(error)), people)
    worst = int((kept != truth).sum(axis=1).max())
    rows = [(1 << people, len(kept), worst)]
    return table(
        ("databases", "agree with all answers", "wrong at most about"),
        rows,
        "Dinur and Nissim: never more than 4 times the error.",
    )


@cache
def recovered(scale: Fraction) -> Any:
    """The attack on 200 secrets, by 800 sums over random halves with noise of this scale."""
    noise = DiscreteLaplace(1, scale)
    truth = Rng().bits(PEOPLE)
    return Reconstruction().run(lambda sets: sets @ truth.astype(float) + noise.noise(len(sets), Rng()), truth)


def by_noise(scale: str) -> Shown:
    """How many of 200 secrets are recovered, by the noise of each answer."""
    rates = {one: recovered(Fraction(one)).rate.value for one in SCALES}
    points = tuple((float(Fraction(one)), 100 * rate) for one, rate in rates.items())
    drawn = [Curve("per cent of 200 people", points)]
    across = Axis("scale of the noise", log=True)
    note = "guessing gets about half"
    mark = [float(Fraction(scale))]
    svg = curves("Secrets recovered from 800 answers", drawn, across, Axis("%"), note, mark, dots=True)
    each = 1 / Fraction(scale)
    words = (
        f"Noise of scale {scale}: {100 * rates[scale]:.0f} % recovered. Each answer would cost epsilon "
        f"{float(each):.2g}, "
    )
    return Shown(f"{words}all 800 of them {float(800 * each):,.0f}.", svg=svg)


def through_ask() -> Shown:
    """The same attack on the product: its budget ends the questions first."""
    people = [Person(f"p{n}", n % 2 == 0) for n in range(PATIENTS)]
    rows: Columns = {"name": [p.key for p in people], "ill": [int(p.secret) for p in people]}
    with room(CLINIC, clinic=rows) as session:
        sums = Counting(asked_of(session, 0.05), "clinic", "name").sums(people, "ill = 1")
        found = Reconstruction(queries=64).run(sums, np.array([p.secret for p in people]))
    told = [(found.figures["questions"], found.figures["answered"], f"{found.rate.wins} of {PATIENTS}")]
    return table(("asked", "answered", "recovered"), told, found.sentence)


def safest() -> int:
    """Which of the exercise's scales leaves the fewest secrets recovered."""
    rates = [recovered(Fraction(scale)).rate.value for scale in (1, 5, 200)]
    return rates.index(min(rates))


LESSON = Lesson(
    "reconstruction",
    "Reconstruction: a database out of its own answers",
    __name__,
    (
        Text(
            "Everybody has one secret bit. An interface counts the bits of any group, with a little noise. Ask often "
            "enough, and look for the databases that agree with all answers: there are hardly two."
        ),
        Step("With few people all databases can be tried:", few_people),
        Slider(
            "With many, least squares does it. 200 people, 800 random groups:",
            "scale of the noise",
            SCALES,
            by_noise,
            1,
        ),
        Text(
            "Noise far below the root of the number of people cannot protect them against so many answers, whatever "
            "mechanism makes it: the law of information recovery. That is why there is a budget, and why it ends."
        ),
        Step("The product under the same attack, at epsilon 0.05 a question and a budget of 1:", through_ask),
    ),
    Exercise(
        "800 sums about 200 people are to be answered. Which noise keeps most secrets?",
        Choice(("noise of scale 1", "noise of scale 5", "noise of scale 200"), safest),
        answer="c",
        wrong=("a", "b"),
        hint="compare with the root of 200, about 14, and remember that there are four answers for each person.",
        why="only noise well above the root of 200 keeps the bits; such answers are worth little, so answer fewer.",
    ),
)
