"""The two coins: deniability for each, the truth about all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from obverse.accounting.belief import posterior
from obverse.answers.svg import Axis, Curve, curves
from obverse.collect.estimate import estimate
from obverse.collect.protocols import Direct
from obverse.collect.tally import Tally
from obverse.core.rng import Rng
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Lesson, Shown, Slider, Step, Text, at_most, survey, table
from obverse.mechanisms import RandomizedResponse

CLASS = """
[project]
name = "class"
[surveys.copied]
question = "Have you ever copied an exercise?"
options = ["no", "yes"]
protocol = "two_coins"
epsilon = 1.0987
people = 100
retention_days = 30
purpose = "To learn what a class does, and of nobody in it."
consent = "I agree that my randomized answer is counted."
"""


def what_is_said() -> Shown:
    """The chance of each answer, exactly, whatever the truth is."""
    coins = RandomizedResponse.two_coins()
    chances = {truth: [coins.probability([truth], said)[0] for said in (1, 0)] for truth in (1, 0)}
    rows = [("yes", *chances[1]), ("no", *chances[0])]
    epsilon = float(coins.loss().epsilon)
    words = f"No answer is more than 3 times as likely: epsilon {epsilon:.4f}, ln 3."
    return table(("truth", "says yes", "says no"), rows, words)


def a_class_answers() -> Shown:
    """Classes in which a fifth copied: what they say, and what the product makes of it."""
    spec = survey(CLASS, "copied")
    rows = []
    for people in (100, 10_000, 1_000_000):
        truth = (np.arange(people) % 5 == 0).astype(np.int64)
        said = RandomizedResponse.two_coins().sample(truth, Rng())
        yes = int(said.sum())
        found = estimate(spec, Tally(spec.digest, people, np.array([people - yes, yes]))).rows[1]
        rows.append((people, yes, found.value, f"± {1.96 * found.deviation:.2g}"))
    return table(
        ("people", "said yes", "estimated share", "95 %"), rows, "The truth is 0.2. Nobody's own answer tells it."
    )


def truthful(chance: str) -> Shown:
    """Tell the truth with this chance, else flip a coin: what a `yes` then means, by the share of people who copied."""
    protocol = Direct.truthful(2, Fraction(chance))
    shares = [Fraction(n, 50) for n in range(51)]
    means = [(float(s), float(s * protocol.own / (s * protocol.own + (1 - s) * protocol.other))) for s in shares]
    drawn = [
        Curve("who said yes copied", tuple(means)),
        Curve("anybody copied", tuple((float(s), float(s)) for s in shares)),
    ]
    epsilon = protocol.loss()
    svg = curves(
        f"Truth with chance {chance}", drawn, Axis("share of people who copied"), Axis("chance"), "what a yes means"
    )
    bet = at_most(posterior(epsilon))
    return Shown(
        f"epsilon {float(epsilon):.3g}: an even bet about one person becomes one of {bet} at the most.", svg=svg
    )


def share_of(yes: int, people: int) -> float:
    """What the product estimates from so many yeses."""
    spec = survey(CLASS, "copied")
    return float(estimate(spec, Tally(spec.digest, people, np.array([people - yes, yes]))).rows[1].value)


LESSON = Lesson(
    "two-coins",
    "The two coins",
    __name__,
    (
        Text(
            "Ask a class who has copied an exercise, and few will say so. Now let everybody flip a coin in secret: "
            "heads, "
            "and they "
            "tell the truth; tails, and they flip again and say yes to heads, no to tails. A yes is no confession any "
            "more: "
            "it may be the second coin."
        ),
        Step("Each answer is possible for everybody. These are the exact chances:", what_is_said),
        Step(
            "And yet the class as a whole is heard. A quarter of those who did not copy says yes, three quarters of "
            "those "
            "who did. So "
            "the share of yeses is 1/4 + share/2, and can be turned round:",
            a_class_answers,
        ),
        Slider(
            "Less honesty is more privacy. Move the chance of telling the truth:",
            "chance of the truth",
            ("1/10", "1/4", "1/2", "3/4", "9/10"),
            truthful,
            2,
        ),
    ),
    Exercise(
        "In a class of 200, 80 people say yes. What is the estimated share of those who copied?",
        Number(lambda: share_of(80, 200), 0.005),
        answer="0.3",
        wrong=("0.4", "0.6", "many"),
        hint="the share of yeses is 1/4 + share/2.",
        why="80 of 200 is 0.4, and 2 * 0.4 - 1/2 = 0.3.",
    ),
)
