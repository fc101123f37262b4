"""What a decision-maker can and cannot do with the answers: the expected salary."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from obverse.answers.svg import Axis, Curve, curves
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Columns, Lesson, Shown, Slider, Step, Text, room, table
from obverse.mechanisms import DiscreteLaplace
from obverse.mechanisms.enclosures import exp_plus

OFFICE = """
[project]
name = "office"
[budget]
epsilon = 10
[tables.staff]
source = "staff.csv"
unit = "id"
[tables.staff.columns]
department = { type = "text", values = ["HR", "IT", "Sales"] }
unhappy = { type = "boolean", nullable = false }
"""
UNHAPPY = 60
REACH = 400
EPSILONS = ("0.05", "0.1", "0.5", "1", "2")


def salary(answer: int) -> int:
    """What the boss decides to pay you, from the noisy number of unhappy people. Any rule would do."""
    return 2_000 if answer > UNHAPPY else 5_000 + 40 * (answer % 7)


@cache
def masses(epsilon: Fraction) -> list[Fraction]:
    """The chance of each distance from zero, of the noise that the product draws for a count."""
    noise = DiscreteLaplace.for_epsilon(1, epsilon)
    return [noise.mass(distance)[0] for distance in range(REACH + 2)]


def expected(epsilon: Fraction, unhappy: int) -> float:
    """Your expected salary when so many are unhappy: over the law of the noise."""
    law = masses(epsilon)
    answers = range(UNHAPPY - REACH, UNHAPPY + REACH + 1)
    return float(sum(salary(answer) * law[abs(answer - unhappy)] for answer in answers))


def with_and_without_you(epsilon: str) -> Shown:
    """The boss's rule fires on the count. You are unhappy: what does taking part change?"""
    price = Fraction(epsilon)
    points = [Fraction(one) for one in EPSILONS]
    pairs = {one: (expected(one, UNHAPPY), expected(one, UNHAPPY - 1)) for one in points}
    ratios = {one: max(there / away, away / there) for one, (there, away) in pairs.items()}
    there, away = pairs[price]
    ratio = ratios[price]
    bound = math.exp(price)
    drawn = [
        Curve("this boss", tuple((float(one), ratio) for one, ratio in ratios.items())),
        Curve("e^epsilon, any boss", tuple((float(one), math.exp(one)) for one in points)),
    ]
    svg = curves(
        "Expected salary with and without you",
        drawn,
        Axis("epsilon", log=True),
        Axis("ratio", log=True),
        "",
        [float(price)],
    )
    words = (
        f"Epsilon {epsilon}: expected {there:,.0f} with you, {away:,.0f} without; a factor of {ratio:.3f}, at most "
        f"{bound:.3f}."
    )
    return Shown(words, svg=svg)


def the_whole_department() -> Shown:
    """What is learned about a department is learned with you and without you."""
    rows = []
    for name, kept in (("you take part", range(300)), ("you do not", range(1, 300))):
        staff: Columns = {
            "id": list(kept),
            "department": [("HR", "IT", "Sales")[n % 3] for n in kept],
            "unhappy": [n % 3 == 0 and n % 10 > 1 for n in kept],
        }
        with room(OFFICE, staff=staff) as session:
            answer = session.ask(
                "SELECT department, COUNT(*) AS n FROM staff WHERE unhappy GROUP BY department", epsilon=1
            )
        counts = {str(row[0]): int(str(row[1])) for row in answer}
        rows.append((name, counts["HR"], counts["IT"], "HR is dissolved" if counts["HR"] > 50 else "nothing"))
    return table(
        ("", "unhappy in HR", "in IT", "what the boss does"), rows, "You are of HR. Staying away did not help you."
    )


LESSON = Lesson(
    "decisions",
    "What a decision-maker can do with the answers",
    __name__,
    (
        Text(
            "Your boss may ask about the staff through a mechanism with epsilon, and will decide by the answers. "
            "Whatever "
            "is computed from an answer, a decision as well, is as private as the answer: no decision gets more than "
            "e^epsilon times likelier because you took part."
        ),
        Text(
            "An expectation is a sum over decisions, each with its chance. If every chance changes by at most a "
            "factor, so "
            "does the sum: your expected salary with you in the data and without you differ by at most e^epsilon. "
            "Salaries "
            "must not be negative for this; nothing else is asked of them."
        ),
        Slider("A boss with a harsh rule, and the bound for all bosses:", "epsilon", EPSILONS, with_and_without_you, 1),
        Step(
            "That is not a promise that answers have no consequences. They are asked in order to have some:",
            the_whole_department,
        ),
        Text(
            "Differential privacy compares a world with your row to the same world without it. It does not compare a "
            "world "
            "in which somebody asked to one in which nobody did. That smoking causes cancer is learned from many, and "
            "holds "
            "of you whether or not you were among them."
        ),
    ),
    Exercise(
        "Without you in the data your expected salary is 4,000. Epsilon is 0.25. What is the most that it can be with "
        "you?",
        Number(lambda: 4_000 * float(exp_plus(Fraction(1, 4))[1]), 5),
        answer="5136",
        wrong=("4000", "5000", "4250", "10873"),
        hint="multiply by e^epsilon.",
        why="4,000 * e^0.25 = 5,136; and at the least it is 4,000 * e^-0.25 = 3,115.",
    ),
)
