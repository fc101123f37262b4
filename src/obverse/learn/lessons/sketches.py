"""Apple's sketch and RAPPOR: texts from devices, day after day."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from obverse.accounting.belief import posterior
from obverse.collect.card import card_json
from obverse.collect.protocols import CountMean, Rappor
from obverse.collect.randomness.hashing import item_key
from obverse.collect.tally import tallied
from obverse.core.rng import Rng
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Lesson, Shown, Slider, Step, Text, at_most, survey, table

DAILY = """
[project]
name = "daily"
[surveys.emoji]
question = "Which of these did you use?"
options = ["heart", "joy"]
protocol = "direct"
epsilon = {epsilon}
people = 100000
per_day = {per_day}
reports = {reports}
retention_days = 90
purpose = "To sort the keyboard."
consent = "I agree that my randomized answer is counted."
"""
EMOJI = {
    "face with tears of joy": 9000,
    "red heart": 6000,
    "loudly crying face": 4000,
    "smiling face": 2500,
    "fire": 900,
    "cactus": 0,
}


def emoji_counted() -> Shown:
    """22,400 devices send one emoji each through a sketch with Apple's columns and epsilon, and fewer rows."""
    protocol = replace(CountMean.published(), rows=256)
    keys = np.array([item_key(name) for name in EMOJI], dtype=np.uint64)
    held = np.repeat(keys, list(EMOJI.values()))
    tally = tallied(b"emoji", protocol, protocol.reports(held, Rng()))
    found = protocol.estimate(tally.counts, tally.n, keys)
    rows = [(name, count, f"{found.value[n] * len(held):,.0f}", f"± {1.96 * found.variance[n] ** 0.5 * len(held):,.0f}")
            for n, (name, count) in enumerate(EMOJI.items())]  # fmt: skip
    words = (
        f"One report: a row's number and {protocol.columns} bits, most of them noise; epsilon "
        f"{float(protocol.loss()):.3g}."
    )
    return table(("emoji", "really", "estimated", "95 %"), rows, words)


def rappor_twice() -> Shown:
    """RAPPOR with its authors' parameters: what one report loses, and what any number of reports of one answer lose."""
    published = Rappor.published()
    losses = {"one report": published.loss(), "all reports of one answer, for ever": published.lasting()}
    rows = [(name, float(loss), at_most(posterior(loss))) for name, loss in losses.items()]
    words = (
        "The answer is blurred once and for all, and each report blurs that again: averages find only the first blur."
    )
    return table(("of", "epsilon", "an even bet becomes"), rows, words)


def renewed(days: str) -> Shown:
    """Epsilon 2 a report, eight reports a day, renewed every morning: what a device has lost after so many days."""
    spec = survey(DAILY.format(epsilon=2, per_day=8, reports=8 * int(days)), "emoji")
    told = card_json(spec)["epsilon"]
    bet = at_most(posterior(Fraction(told["lifetime"])))
    return Shown(
        f"The card says: epsilon {told['day']} per day, {told['lifetime']} in all. An even bet becomes one of {bet}."
    )


def month_of(epsilon: int, per_day: int) -> float:
    """The lifetime loss that the product prints on the card of a survey of thirty days."""
    spec = survey(DAILY.format(epsilon=epsilon, per_day=per_day, reports=30 * per_day), "emoji")
    return float(card_json(spec)["epsilon"]["lifetime"])


LESSON = Lesson(
    "sketches",
    "Apple's sketch, and RAPPOR",
    __name__,
    (
        Text(
            "Two coins answer yes or no. Keyboards want to know which of thousands of emoji are used, browsers which "
            "of "
            "millions of pages. A hash makes a few bits out of any text, and each bit is flipped with a coin of its "
            "own."
        ),
        Step("The count mean sketch, as Apple described it for emoji:", emoji_counted),
        Text(
            "A device reports again and again. If each report were blurred afresh, their average would show the truth: "
            "local noise has no ledger that refuses. RAPPOR, of Google's browser, remembers its first blur."
        ),
        Step("What it promises:", rappor_twice),
        Slider(
            "Researchers who took macOS 10.12 apart found up to 16 a day, renewed daily. A budget that renews itself "
            "is no "
            "budget:",
            "days",
            ("1", "7", "30", "365"),
            renewed,
            2,
        ),
    ),
    Exercise(
        "A keyboard reports one emoji a day at epsilon 4, each drawn afresh. What is a person's loss in a month of 30 "
        "days?",
        Number(lambda: month_of(4, 1), 0.5),
        answer="120",
        wrong=("4", "16", "480"),
        hint="losses of reports about the same person add up.",
        why="30 * 4 = 120, at which the promise says nothing any more. A lifetime cap, or a remembered answer, would "
        "stop it.",
    ),
)
