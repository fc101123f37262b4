"""Why related people count together."""

from __future__ import annotations

from fractions import Fraction

from obverse.accounting.belief import belief, grouped, posterior
from obverse.answers.svg import Axis, Curve, curves
from obverse.core.ledger import Budget, Spent
from obverse.core.units import Neighbours
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Columns, Lesson, Shown, Slider, Step, Text, at_most, room, table

FLATS = """
[project]
name = "flats"
[budget]
epsilon = 4
[tables.people]
source = "people.csv"
unit = "{unit}"
{limits}
[tables.people.columns]
ill = {{ type = "boolean", nullable = false }}
"""
HALF = Fraction(1, 2)


def a_family(people: str) -> Shown:
    """The bet about whether a whole family is in the data, when the budget protects one person."""
    sizes = range(1, 13)
    bets = {k: belief(Budget(HALF), "pure", Neighbours.ADD_REMOVE, people=k).taking_part for k in sizes}
    points = tuple((float(k), 100 * bet) for k, bet in bets.items())
    svg = curves(
        "An even bet about a family, epsilon 0.5 a person",
        [Curve("at most", points)],
        Axis("people in the family"),
        Axis("%"),
        "",
        [float(people)],
        dots=True,
    )
    loss = grouped(Spent("pure", HALF), int(people)).amount
    return Shown(
        f"{people} people: epsilon {float(loss):g} together, and an even bet becomes one of "
        f"{at_most(bets[int(people)])}.",
        svg=svg,
    )


def other_ways_of_counting() -> Shown:
    """Groups under the two ways of accounting: epsilon grows with their size, rho with its square."""
    rows = []
    for size in (1, 2, 4):
        pure = grouped(Spent("pure", HALF), size).amount
        rho = grouped(Spent("zcdp", Fraction(1, 8)), size).amount
        rows.append((size, float(pure), float(rho)))
    return table(("people", "epsilon", "rho"), rows)


def unit_is_a_choice() -> Shown:
    """Protect a household instead of a person: the noise is that of everybody who may live in it."""
    rows = []
    people: Columns = {
        "person": list(range(60)),
        "household": [n // 3 for n in range(60)],
        "ill": [n % 4 == 0 for n in range(60)],
    }
    for unit, limits in (("person", ""), ("household", "limits = { rows = 6 }")):
        with room(FLATS.format(unit=unit, limits=limits), people=people) as session:
            measure = session.explain("SELECT COUNT(*) FROM people WHERE ill", epsilon=0.5).measures[0]
        rows.append((unit, measure["l1"], f"± {measure['half_width']:.0f}"))
    words = (
        "With households of up to six as the unit, whole families are hidden at one epsilon, for six times the noise."
    )
    return table(("unit", "one moves a count by", "95 %"), rows, words)


LESSON = Lesson(
    "related",
    "Why related people count together",
    __name__,
    (
        Text(
            "Epsilon is said of one person. Flu does not keep to persons: who knows that four people share a flat, and "
            "learns about four, learns about each. Data about relatives, flatmates and colleagues are data about you."
        ),
        Text(
            "The definition answers for that too. Between a database with a family and one without it lie neighbours, "
            "each "
            "one person from the next; so k people together are protected with k times epsilon."
        ),
        Slider("A budget of 0.5, and a family:", "people", ("1", "2", "4", "8", "12"), a_family, 2),
        Step("Under zcdp it grows with the square:", other_ways_of_counting),
        Step("So who is protected is the first choice of all:", unit_is_a_choice),
    ),
    Exercise(
        "The budget is epsilon 0.5 for one person. Somebody bets even odds about whether a family of 4 is in the data. "
        "How "
        "sure can they become at the most?",
        Number(lambda: posterior(4 * HALF), 0.003),
        answer="88.1 %",
        wrong=("62.3 %", "50 %", "98 %"),
        hint="4 * 0.5 = 2, and the bet becomes e^2 / (1 + e^2).",
        why="e^2 / (1 + e^2) is 0.881; about one person it would have been 0.623.",
    ),
)
