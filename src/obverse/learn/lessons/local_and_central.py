"""Local against central, at the same epsilon."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from obverse.answers.svg import Axis, Curve, curves
from obverse.collect.estimate import estimate
from obverse.collect.planning import foresee, people_needed
from obverse.collect.tally import tallied
from obverse.core.rng import Rng
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Lesson, Shown, Slider, Step, Text, room, survey, table

TRUSTED = """
[project]
name = "trusted"
[budget]
epsilon = 4
[tables.people]
source = "people.csv"
unit = "id"
[tables.people.columns]
missed = { type = "boolean", nullable = false }
"""
UNTRUSTED = """
[project]
name = "untrusted"
[surveys.missed]
question = "Have you missed a dose this month?"
options = ["no", "yes"]
protocol = "direct"
epsilon = 1
people = 2000
retention_days = 30
purpose = "To plan the next month."
consent = "I agree that my randomized answer is counted."
"""
PEOPLE = 2000
SHARE = Fraction(3, 10)
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)


def both_ways() -> Shown:
    """Two thousand people of whom three in ten missed a dose: told to a curator, and told to nobody.

    Epsilon 1 in both.
    """
    truth = (np.arange(PEOPLE) % 10 < 3).astype(np.uint64)
    with room(TRUSTED, people={"id": list(range(PEOPLE)), "missed": [bool(t) for t in truth]}) as session:
        answer = session.ask("SELECT COUNT(*) AS n FROM people WHERE missed", epsilon=1)
    spec = survey(UNTRUSTED, "missed")
    tally = tallied(spec.digest, spec.protocol, spec.protocol.reports(truth, Rng()))
    found = estimate(spec, tally).rows[1]
    half = float(answer.high - answer.value) / PEOPLE  # type: ignore[operator,arg-type]
    rows = [("central", f"{float(answer.value) / PEOPLE:.4f}", f"± {half:.4f}"),  # type: ignore[arg-type]
            ("local", f"{found.value:.4f}", f"± {1.96 * found.deviation:.4f}")]  # fmt: skip
    return table(("model", "share who missed a dose", "95 %"), rows, "The truth is 0.3.")


def by_people(people: str) -> Shown:
    """The error of a share, by how many people there are."""
    spec = survey(UNTRUSTED, "missed")
    seen = {size: foresee(spec, size) for size in SIZES}
    drawn = [Curve("local", tuple((float(n), one.deviation) for n, one in seen.items())),
             Curve("central", tuple((float(n), one.central) for n, one in seen.items()))]  # fmt: skip
    svg = curves(
        "Error of a share at epsilon 1",
        drawn,
        Axis("people", log=True),
        Axis("standard deviation", log=True),
        "",
        [float(people)],
        dots=True,
    )
    one = seen[int(people)]
    ratio = one.deviation / one.central
    return Shown(f"Local {one.deviation:.2g}, central {one.central:.2g}: {ratio:,.0f} times as far off.", svg=svg)


def how_many_people() -> Shown:
    """How many people it takes to see a share at all."""
    spec = survey(UNTRUSTED, "missed")
    rows = [(f"{share:g}", people_needed(spec, share)) for share in (0.1, 0.01, 0.001)]
    return table(("a share of", "people needed, local"), rows, "A tenth of the share takes a hundred times the people.")


def factor_for_half() -> int:
    """The least whole multiple of a thousand people with half of their error."""
    spec = survey(UNTRUSTED, "missed")
    goal = foresee(spec, 1000).deviation / 2
    return next(k for k in range(1, 100) if foresee(spec, 1000 * k).deviation <= goal * (1 + 1e-9))


LESSON = Lesson(
    "local-and-central",
    "Local against central, at the same epsilon",
    __name__,
    (
        Text(
            "In the central model a curator holds the true answers and adds noise once, to the count. In the local "
            "model "
            "everybody adds noise to their own answer, and nobody ever holds the truth. Both can promise the same "
            "epsilon."
        ),
        Step("The same people, both ways:", both_ways),
        Text(
            "The noise of one count does not grow with the number of people, so that the error of a share falls with "
            "n. The "
            "noise of n answers adds up to the root of n, so that there it falls with the root of n only."
        ),
        Slider("Move the number of people:", "people", tuple(str(size) for size in SIZES), by_people, 2),
        Step("What that means for rare answers:", how_many_people),
        Text(
            "Trust is what the difference pays for. A company with a hundred million devices can afford the local "
            "model; a "
            "hospital ward cannot."
        ),
    ),
    Exercise(
        "Local model: how many times as many people are needed to halve the error?",
        Number(lambda: float(factor_for_half()), 0),
        answer="4",
        wrong=("2", "1.41", "16"),
        hint="the error falls with the root of the number of people.",
        why="the root of 4 is 2. In the central model twice as many would do.",
    ),
)
