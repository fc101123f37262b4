"""Pointwise against the definition on sets, on a continuous range."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from obverse.attack.lower_bound.evidence import epsilon_lower_bound
from obverse.core.rng import Rng
from obverse.learn.exercises import Choice, Exercise
from obverse.learn.lesson import Lesson, Shown, Slider, Step, Text, table
from obverse.mechanisms import DiscreteLaplace

# a count on two neighbouring databases
HERE = 8
THERE = 7
DRAWS = 20_000
FINE = 10**6  # steps of the nearly continuous mechanisms below
Draw = Callable[[int], np.ndarray]


def chances(steps: str) -> Shown:
    """Laplace noise at epsilon 1/2 on a grid of so many steps to one: single values, and an interval of values."""
    fine = int(steps)
    noise = DiscreteLaplace.for_epsilon(fine, Fraction(1, 2))
    inside = range(int(4.7 * fine) + 1, int(11.2 * fine) + 1)
    point = [noise.mass(0)[0], noise.mass(fine)[0]]
    interval = [sum((noise.mass(z - count * fine)[0] for z in inside), Fraction(0)) for count in (HERE, THERE)]
    rows = [("exactly 8", *map(float, point), float(point[0] / point[1])),
            ("in (4.7, 11.2]", *map(float, interval), float(interval[0] / interval[1]))]  # fmt: skip
    words = f"The value 8 itself has a chance of {float(point[0]):.2g}, the interval one of {float(interval[0]):.2g}."
    return table(
        ("the answer is", "count 8", "count 7", "ratio"), rows, f"{words} Both ratios stay below e^0.5 = 1.649."
    )


def uniform(count: int) -> np.ndarray:
    """The count plus a number that is uniform on 0 to 1, in a million steps: no two answers are ever the same."""
    return count * FINE + Rng().below(FINE, DRAWS)


def laplace(count: int) -> np.ndarray:
    return DiscreteLaplace.for_epsilon(FINE, Fraction(1, 2)).sample(np.full(DRAWS, count * FINE), Rng())


def rounded(count: int) -> np.ndarray:
    return np.full(DRAWS, 5 * round(count / 5))


MECHANISMS: tuple[tuple[str, Draw], ...] = (
    ("count + uniform on [0, 1)", uniform),
    ("count + Laplace, epsilon 1/2", laplace),
    ("count, rounded to fives", rounded),
)


def single_values() -> Shown:
    """The same value on both neighbours, among twenty thousand answers each: compared value by value, nothing is
    found.
    """
    rows = []
    for name, draw in MECHANISMS[:2]:
        here = draw(HERE)
        there = draw(THERE)
        most = max(int(np.unique(one, return_counts=True)[1].max()) for one in (here, there))
        rows.append((name, most, len(np.intersect1d(here, there))))
    words = (
        "In the limit each single value has chance 0, and 0 <= e^epsilon * 0 holds of anything: by values, all is well."
    )
    return table(("mechanism", "the commonest value came up", "values that both gave"), rows, words)


def sets_of_values() -> Shown:
    """The product's own audit looks for the set that tells most, on one half of the answers, and counts on the
    other.
    """
    rows = [(name, lower(draw)) for name, draw in MECHANISMS]
    return table(
        ("mechanism", "epsilon is surely above"),
        rows,
        "A finite sample proves a finite bound: for two of them it grows without end.",
    )


def lower(draw: Draw) -> float:
    """A lower bound of the real epsilon, wrong with a chance of at most one in a billion."""
    return max(0.0, epsilon_lower_bound(draw(HERE), draw(THERE)).epsilon)


def private() -> int:
    """Which of them is not refuted at epsilon 1/2."""
    bounds = [lower(draw) for _, draw in MECHANISMS]
    return next(n for n, bound in enumerate(bounds) if bound <= 0.5)


LESSON = Lesson(
    "sets",
    "Values or sets of values: the definition on a continuous range",
    __name__,
    (
        Text(
            "'No answer is more than e^epsilon times as likely' is a fine sentence while answers can be counted. On a "
            "continuous range each single answer has chance zero, and the sentence says nothing. The definition is "
            "about "
            "sets: for every set S of answers, P[M(D) in S] <= e^epsilon P[M(D') in S]."
        ),
        Slider(
            "Refine the grid of Laplace noise, and watch a value and an interval:",
            "steps to one",
            ("1", "10", "100"),
            chances,
            0,
        ),
        Step("Two mechanisms, compared value by value:", single_values),
        Step("The same two, and one more, compared by sets:", sets_of_values),
        Text(
            "The set of all answers from 8 to 9 has chance one on one database and chance zero on its neighbour. "
            "Computers "
            "have no continuous range, but doubles come close enough to deceive: their last digits are such sets, "
            "which is "
            "why the product draws integers."
        ),
    ),
    Exercise(
        "Which of these is differentially private by the definition on sets?",
        Choice(tuple(name for name, _ in MECHANISMS), private),
        answer="b",
        wrong=("a", "c"),
        hint="find a set that is likely for a count of 8 and impossible for 7.",
        why="the others have sets that tell 8 from 7 for sure: [8, 9), and {10}.",
    ),
)
