"""The Census hierarchy: counts of nation, states and blocks that add up."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from obverse.learn.exercises import Choice, Exercise
from obverse.learn.lesson import Columns, Lesson, Shown, Slider, Step, Text, room, table
from obverse.publish.folder.write import publish
from obverse.publish.hierarchy.request import Along, hierarchy_release
from obverse.session.session import Session

STATE = """
[project]
name = "state"
[privacy]
accounting = "zcdp"
epsilon = 1
delta = 1e-6
[budget]
epsilon = 40
delta = 1e-5
[tables.people]
source = "people.csv"
unit = "row"
[tables.people.columns]
tract = { type = "text", values = "tracts.tract", nullable = false }
[tables.tracts]
source = "tracts.csv"
public = true
[tables.tracts.columns]
state = { type = "text" }
county = { type = "text" }
tract = { type = "text" }
"""
COUNTS = {
    f"{county} {n}": 20 + 37 * n * (3 + len(county)) % 400 for county in ("Ash", "Wake", "Durham") for n in range(1, 5)
}
PEOPLE: Columns = {"tract": [tract for tract, count in COUNTS.items() for _ in range(count)]}
PLACES: Columns = {
    "state": ["NC"] * len(COUNTS),
    "county": [tract.split()[0] for tract in COUNTS],
    "tract": list(COUNTS),
}
LEVELS = ("state", "county", "tract")
ALONG = Along("people", LEVELS, "tracts")


def opened() -> Session:
    return room(STATE, people=PEOPLE, tracts=PLACES)


@cache
def released(epsilon: Fraction) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """For each level the counts, the estimates before rounding, and the standard deviation of one of them."""
    with tempfile.TemporaryDirectory() as folder, opened() as session:
        done = publish(session, hierarchy_release(session, ALONG, epsilon), Path(folder) / "release")
    return [(one.whole.reshape(-1), one.values.reshape(-1), float(np.mean(one.stddev))) for one in done.outcome.tables]


def all_levels() -> Shown:
    """Published once at epsilon 1: whole numbers, never negative, that add up at every level."""
    whole = [level[0] for level in released(Fraction(1))]
    truth = len(PEOPLE["tract"])
    rows = [
        (name, len(counts), int(counts.sum()), " ".join(str(n) for n in counts[:6]))
        for name, counts in zip(LEVELS, whole)
    ]
    return table(
        ("level", "places", "people in all", "the first counts"),
        rows,
        f"Really there are {truth:,} people. All levels give one total.",
    )


def added_up() -> Shown:
    """Without a hierarchy: ask every tract, and add up. The noise adds up as well."""
    with opened() as session:
        tract = session.explain("SELECT tract, COUNT(*) FROM people GROUP BY tract", epsilon=1).measures[0]["stddev"]
        state = session.explain("SELECT COUNT(*) FROM people", epsilon=1).measures[0]["stddev"]
    several = len(COUNTS) ** 0.5 * tract
    rows = [
        ("a tract", tract),
        (f"the state, as a sum of {len(COUNTS)} tracts", several),
        ("the state, asked by itself", state),
    ]
    return table(
        ("count of", "standard deviation"), rows, "So each level is measured by itself, and then all are made to agree."
    )


def error_by_level(epsilon: str) -> Shown:
    """The error of a count at each level."""
    levels = released(Fraction(epsilon))
    rows = [(name, len(whole), deviation, f"{100 * deviation / float(values.mean()):.2g} %")
            for name, (whole, values, deviation) in zip(LEVELS, levels)]  # fmt: skip
    words = f"Epsilon {epsilon}: " + ", ".join(f"{row[0]} ± {1.96 * row[2]:.0f} ({row[3]} deviation)" for row in rows)
    return table(("level", "places", "standard deviation", "of a usual count"), rows, words)


def least_exact() -> int:
    """The level whose counts have the largest relative error."""
    errors = [deviation / float(values.mean()) for _, values, deviation in released(Fraction(1))]
    return errors.index(max(errors))


LESSON = Lesson(
    "census",
    "The Census: counts along a hierarchy",
    __name__,
    (
        Text(
            "The 2020 Census of the United States published counts for the nation, states, counties, tracts and "
            "blocks, "
            "differentially private but for a few that were held exact, such as how many people a state has. Counts of "
            "blocks are small and noisy; sums of millions of them must not be."
        ),
        Step("Adding up noisy tracts is no way to count a state:", added_up),
        Step(
            "A made-up state with three counties and twelve tracts, published by the product along its spine:",
            all_levels,
        ),
        Text(
            "What makes the levels agree reads noisy numbers alone, so it costs nothing. It even helps: a county knows "
            "something about its tracts. Whole numbers that cannot be negative are pushed up where the truth is near "
            "zero; "
            "that bias is the price of tidiness, and the unrounded estimates are published beside them."
        ),
        Slider("Move the price of the whole release:", "epsilon", ("0.25", "1", "4"), error_by_level, 1),
    ),
    Exercise(
        "At which level is the relative error of one count the largest?",
        Choice(LEVELS, least_exact),
        answer="c",
        wrong=("a", "b"),
        hint="the noise is about the same at each level; the counts are not.",
        why="a tract has few people and about as much noise. Small places are blurred most: there one person matters "
        "most.",
    ),
)
