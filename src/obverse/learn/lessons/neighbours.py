"""Neighbouring databases: two curves that nobody can tell apart by more than e^epsilon."""

from __future__ import annotations

import math
from fractions import Fraction

from obverse.accounting.belief import posterior
from obverse.answers.svg import Axis, Curve, curves
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Lesson, Shown, Slider, Step, Text, at_most, room, table
from obverse.mechanisms import DiscreteLaplace

WARD = """
[project]
name = "ward"
[budget]
epsilon = 100
[tables.ward]
source = "ward.csv"
unit = "patient"
[tables.ward.columns]
ill = { type = "boolean", nullable = false }
"""
PATIENTS = 40
REACH = 26
COUNT = "SELECT COUNT(*) AS n FROM ward WHERE ill"


def with_and_without() -> Shown:
    """The same question to two databases that differ by one patient; answered by the product, with its noise."""
    rows = []
    patients = list(range(PATIENTS))
    for name, kept in (("with Alice", patients), ("without Alice", patients[1:])):
        with room(WARD, ward={"patient": kept, "ill": [p % 2 == 0 for p in kept]}) as session:
            answers = [session.ask(COUNT, epsilon=Fraction(1, 2) + Fraction(n, 10**6)).value for n in range(6)]
        rows.append((name, sum(p % 2 == 0 for p in kept), " ".join(f"{a}" for a in answers)))
    return table(
        ("database", "true count", "answers at epsilon 0.5"),
        rows,
        "Cover the first two columns: could you tell the rows apart?",
    )


def two_curves(epsilon: str) -> Shown:
    """How likely each answer is, on either database: the law of the noise that the product draws."""
    noise = DiscreteLaplace.for_epsilon(1, Fraction(epsilon))
    truth = PATIENTS // 2
    points = range(truth - REACH // 2, truth + REACH // 2)
    laws = [tuple((float(x), float(noise.mass(x - true)[0])) for x in points) for true in (truth, truth - 1)]
    ratio = max(a[1] / b[1] for a, b in zip(*laws))
    drawn = [Curve(f"with Alice: {truth}", laws[0], area=True), Curve(f"without: {truth - 1}", laws[1], area=True)]
    svg = curves(
        f"Epsilon {epsilon}", drawn, Axis("answer"), Axis("chance"), f"nowhere more than {ratio:.4g} times as high"
    )
    bound = math.exp(Fraction(epsilon))
    words = (
        f"The curves differ by a factor of at most {ratio:.4g}; e^epsilon is {bound:.4g}. An even bet about "
        "whether Alice "
    )
    return Shown(f"{words}is there becomes one of {at_most(posterior(Fraction(epsilon)))} at the most.", svg=svg)


def largest_ratio(epsilon: Fraction) -> float:
    """The largest ratio of the two laws, from the mechanism's own law."""
    noise = DiscreteLaplace.for_epsilon(1, epsilon)
    return max(float(noise.mass(x)[0] / noise.mass(x - 1)[0]) for x in range(-20, 21))


def epsilon_for(ratio: float) -> float:
    """The epsilon at which the largest ratio is this one, found by halving."""
    low = Fraction(1, 100)
    high = Fraction(10)
    while high - low > Fraction(1, 1000):
        middle = (low + high) / 2
        low, high = (low, middle) if largest_ratio(middle) > ratio else (middle, high)
    return float(low)


LESSON = Lesson(
    "neighbours",
    "Neighbours, and two curves that overlap",
    __name__,
    (
        Text(
            "Two databases are neighbours when they differ by one protected person, with all that is recorded of them. "
            "Whoever sees an answer should "
            "hardly be able to tell which of the two it came from: then it tells hardly anything about that person."
        ),
        Step("The product adds noise to the count. Ask both databases several times:", with_and_without),
        Text(
            "Differential privacy puts a number on 'hardly': no answer may be more than e^epsilon times as likely on "
            "one "
            "neighbour as on the other. "
            "It is said of all pairs of neighbours and of all answers, whatever else anybody knows."
        ),
        Slider(
            "Move epsilon, and see the two curves part:",
            "epsilon",
            ("0.1", "0.25", "0.5", "1", "2", "4"),
            two_curves,
            2,
        ),
    ),
    Exercise(
        "At which epsilon is no answer more than 2 times as likely on a neighbour? (two decimals will do)",
        Number(lambda: epsilon_for(2), 0.005),
        answer="0.69",
        wrong=("2", "0.5", "0.7", "7.39", ""),
        hint="the factor is e^epsilon.",
        why="e^0.693 = 2: epsilon is the logarithm of the factor.",
    ),
)
