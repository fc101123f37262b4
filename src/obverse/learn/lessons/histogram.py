"""A histogram for one epsilon."""

from __future__ import annotations

from obverse.answers.svg import Axis, Curve, bars, curves
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Columns, Lesson, Shown, Slider, Step, Text, room, table

TOWN = """
[project]
name = "town"
[privacy]
neighbours = "add-remove"
[budget]
epsilon = 4
[tables.people]
source = "people.csv"
unit = "id"
[tables.people.columns]
age = { type = "integer", bounds = [0, 99], nullable = false }
"""
PEOPLE = 3000
ROWS: Columns = {"id": list(range(PEOPLE)), "age": [(n * n + 7 * n) % 97 for n in range(PEOPLE)]}
BY_DECADE = "SELECT age // 10 AS decade, COUNT(*) AS n FROM people GROUP BY age // 10"


def one_histogram() -> Shown:
    """Ten bins in one question, and its price."""
    with room(TOWN, people=ROWS) as session:
        explained = session.explain(BY_DECADE, epsilon=0.5)
        answer = session.ask(BY_DECADE, epsilon=0.5)
    measure = explained.measures[0]
    names = [f"{row[0]}0s" for row in answer]
    counts = [float(row[1]) for row in answer]  # type: ignore[arg-type]
    note = f"price: epsilon {answer.price.epsilon} for all bins together"
    svg = bars("People by decade", names, counts, measure["half_width"], note)
    rows = [(name, count, f"± {measure['half_width']:.0f}") for name, count in zip(names, map(int, counts))]
    words = (
        f"One person is in one bin, so all counts move by {measure['l1']:g} together: epsilon {answer.price.epsilon}."
    )
    return table(("age", "people", "95 %"), rows, words, svg)


def bin_by_bin(bins: str) -> Shown:
    """The same total price, for one question with so many bins and for as many questions."""
    points = []
    with room(TOWN, people=ROWS) as session:
        for count in (1, 2, 5, 10, 20, 50, 100):
            width = 100 // count
            sql = f"SELECT age // {width} AS part, COUNT(*) AS n FROM people GROUP BY age // {width}"
            whole = session.explain(sql, epsilon=1).measures[0]["half_width"]
            each = session.explain("SELECT COUNT(*) FROM people WHERE age < 10", epsilon=1 / count).measures[0][
                "half_width"
            ]
            points.append((count, whole, each))
    drawn = [
        Curve("one histogram", tuple((float(n), w) for n, w, _ in points)),
        Curve("one by one", tuple((float(n), e) for n, _, e in points)),
    ]
    svg = curves(
        "Noise of a bin, epsilon 1 in all",
        drawn,
        Axis("bins", log=True),
        Axis("± noise", log=True),
        "",
        [float(bins)],
        dots=True,
    )
    found = next(point for point in points if point[0] == int(bins))
    words = f"± {found[1]:.0f} in a histogram, ± {found[2]:.0f} when each bin is a question of its own."
    return Shown(words, svg=svg)


def moved(neighbours: str) -> float:
    """By how much one person moves all bins together, where they are added and removed, or replaced."""
    toml = TOWN.replace('"add-remove"', f'"{neighbours}"')
    if neighbours == "replace":
        toml = toml.replace('unit = "id"', f'unit = "id"\nsize = {PEOPLE}')
    with room(toml, people=ROWS) as session:
        return float(session.explain(BY_DECADE).measures[0]["l1"])


LESSON = Lesson(
    "histogram",
    "A histogram for one epsilon",
    __name__,
    (
        Text("Ten counts are ten numbers. Do they cost ten times as much as one? Not where nobody is in two of them."),
        Step("Ages by decade, asked as one question:", one_histogram),
        Text(
            "The bins are fixed before anybody looks: 0 to 9, 10 to 19 and so on. A bin without anybody is there too, "
            "with "
            "noise of its own. Bins that were read from the rows would tell who is in them."
        ),
        Slider("Asked bin by bin, the same total has to be split:", "bins", ("1", "10", "100"), bin_by_bin, 1),
    ),
    Exercise(
        "Now neighbours are databases in which one person was replaced by another, of another age. By how much can all "
        "bins "
        "move together?",
        Number(lambda: moved("replace"), 0),
        answer="2",
        wrong=("1", "10", "0"),
        hint="one bin loses somebody; what does another one do?",
        why="one bin loses a person and another gains one: 2, so a histogram under replace needs twice the noise.",
    ),
)
