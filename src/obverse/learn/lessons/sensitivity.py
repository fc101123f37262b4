"""Sensitivity: how far one person can move an answer."""

from __future__ import annotations

from obverse.answers.svg import Axis, Curve, curves
from obverse.core.errors import Refused
from obverse.learn.exercises import Exercise, Sql, Verdict
from obverse.learn.lesson import Columns, Lesson, Shown, Slider, Step, Text, room, table

HEIGHTS = """
[project]
name = "heights"
[privacy]
neighbours = "replace"
[budget]
epsilon = 10
[tables.heights]
source = "heights.csv"
unit = "row"
size = 100
[tables.heights.columns]
height = { type = "integer", bounds = [48, 96], nullable = false }
"""
SURVEY = """
[project]
name = "survey"
[budget]
epsilon = 10
[tables.survey]
source = "survey.csv"
unit = "row"
[tables.survey.columns]
read_hp = { type = "boolean", nullable = false }
books = { type = "integer", bounds = [0, 7] }
gender = { type = "text", values = ["Male", "Female"] }
pages = { type = "integer" }
"""
ROWS: Columns = {
    "read_hp": ["true", "false", "true"],
    "books": [3, 1, 5],
    "gender": ["Male", "Female", "Female"],
    "pages": [9, 2, 400],
}
BOUNDS = (1_000, 10_000, 100_000, 1_000_000)


def heights_asked() -> Shown:
    """What `explain` says of questions about a hundred heights between 48 and 96 inches, of which one is replaced."""
    questions = {
        "how many are 64 inches": "SELECT COUNT(*) FROM heights WHERE height = 64",
        "the mean": "SELECT AVG(height) FROM heights",
        "the middle one": "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY height) FROM heights",
        "the largest": "SELECT MAX(height) FROM heights",
    }
    with room(HEIGHTS, heights={"height": [48 + n % 49 for n in range(100)]}) as session:
        rows = [(name, session.explain(sql).measures[-1]["l1"]) for name, sql in questions.items()]
    return table(
        ("question", "one person moves it by"),
        rows,
        "No row was read for this: it follows from the bounds and the number of people.",
    )


def without_bounds() -> Shown:
    """A column that nobody bounded: one page more or a million, nobody knows."""
    with room(SURVEY, survey=ROWS) as session:
        try:
            session.explain("SELECT SUM(pages) FROM survey")
        except Refused as refused:
            return Shown(f"[{refused.code}] {refused.message} {refused.fix}".strip())
    return Shown("It was answered, which it should not have been.")


def questions_together() -> Shown:
    """Several counts in one question: what one person moves all of them by together."""
    men, women = (f"COUNT(*) FILTER (WHERE gender = '{name}')" for name in ("Male", "Female"))
    questions = {
        "men and women": f"{men}, {women}",
        "readers, men and women": f"COUNT(*) FILTER (WHERE read_hp), {men}, {women}",
    }
    with room(SURVEY, survey=ROWS) as session:
        rows = [(name, session.explain(f"SELECT {what} FROM survey").joint_l1) for name, what in questions.items()]
    return table(
        ("one question", "together"),
        rows,
        "Nobody is in both of two disjoint counts, so those two move by 1, not by 2.",
    )


def noise_by_bounds(largest: str) -> Shown:
    """The noise of a sum at epsilon 0.1, by the largest value that was declared."""
    points = []
    for bound in BOUNDS:
        toml = SURVEY.replace('pages = { type = "integer" }', f'pages = {{ type = "integer", bounds = [0, {bound}] }}')
        with room(toml, survey=ROWS) as session:
            points.append(
                (float(bound), session.explain("SELECT SUM(pages) FROM survey", epsilon=0.1).measures[0]["half_width"])
            )
    svg = curves("Noise of SUM(pages)", [Curve("± 95 %", tuple(points))], Axis("declared largest value", log=True),
                 Axis("± noise", log=True), "epsilon 0.1", [float(largest)], dots=True)  # fmt: skip
    return Shown(f"With pages up to {int(largest):,} the total is told ± {dict(points)[float(largest)]:,.0f}.", svg=svg)


def judged(sql: str) -> Verdict:
    with room(SURVEY, survey=ROWS) as session:
        found = session.explain(sql).joint_l1
    moved = f"{0 if found is None else found:g}, before anything is computed from it"
    return Verdict(found == 7, f"one person moves what is measured by {moved}.")


LESSON = Lesson(
    "sensitivity",
    "Sensitivity: how far one person moves an answer",
    __name__,
    (
        Text(
            "Noise has to hide one person, so first ask how much there is to hide: the farthest that an answer can "
            "move "
            "between any two neighbours. It is a property of the question and of what was declared, not of the rows "
            "that "
            "happen to be there."
        ),
        Step("A hundred people of 48 to 96 inches, one of them replaced by another:", heights_asked),
        Step("Where a value may be anything, so may one person's effect. The product refuses:", without_bounds),
        Step("Several numbers in one question are protected together:", questions_together),
        Slider(
            "Bounds are chosen by the curator, without looking. A generous bound is paid in noise:",
            "largest value",
            tuple(str(bound) for bound in BOUNDS),
            noise_by_bounds,
            1,
        ),
    ),
    Exercise(
        "The table survey has read_hp (true or false), books (0 to 7) and gender (Male, Female). People are added or "
        "removed. "
        "Write one SQL question over it that one person moves by exactly 7.",
        Sql(judged),
        answer="SELECT SUM(books) FROM survey",
        wrong=(
            "SELECT COUNT(*) FROM survey",
            "SELECT SUM(pages) FROM survey",
            "SELECT 7",
            "SELECT AVG(books) FROM survey",
        ),
        hint="which total can one person change by 7?",
        why="a person adds at most 7 books to the total.",
    ),
)
