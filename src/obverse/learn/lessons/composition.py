"""Serial and parallel composition: what several questions cost."""

from __future__ import annotations

from fractions import Fraction

from obverse.accounting import zcdp
from obverse.accounting.pure import parallel
from obverse.answers.svg import Axis, Curve, curves
from obverse.core.loss import PureLoss, Repeated
from obverse.core.units import Neighbours
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Columns, Lesson, Shown, Slider, Step, Text, room, table

STAFF = """
[project]
name = "staff"
[budget]
epsilon = 4
[tables.staff]
source = "staff.csv"
unit = "id"
[tables.staff.columns]
department = { type = "text", values = ["CS", "Econ", "Bio"] }
salary = { type = "integer", bounds = [0, 250000] }
"""
ROWS: Columns = {
    "id": list(range(90)),
    "department": ["CS", "Econ", "Bio"] * 30,
    "salary": [50_000 + 500 * n for n in range(90)],
}
DELTA = Fraction(1, 10**6)


def one_after_the_other() -> Shown:
    """Three questions, and the ledger after each."""
    questions = (("SELECT COUNT(*) FROM staff", 0.1), ("SELECT SUM(salary) FROM staff", 0.2),
                 ("SELECT COUNT(*) FROM staff WHERE salary > 70000", 0.3))  # fmt: skip
    rows = []
    with room(STAFF, staff=ROWS) as session:
        for sql, epsilon in questions:
            session.ask(sql, epsilon=epsilon)
            rows.append((sql, epsilon, str(float(session.ledger.spent().amount))))
    return table(("question", "price", "spent so far"), rows, "Serial composition: epsilons add up, exactly.")


def apart_or_together() -> Shown:
    """Three departments in one question, and one after the other."""
    rows = []
    with room(STAFF, staff=ROWS) as session:
        session.ask("SELECT department, COUNT(*) FROM staff GROUP BY department", epsilon=0.3)
        rows.append(("GROUP BY department", float(session.ledger.spent().amount)))
    with room(STAFF, staff=ROWS) as session:
        for name in ("CS", "Econ", "Bio"):
            session.ask(f"SELECT COUNT(*) FROM staff WHERE department = '{name}'", epsilon=0.3)
        rows.append(("three questions, one for each", float(session.ledger.spent().amount)))
    words = (
        "Parallel composition: nobody is in two departments, so one question over all of them costs the largest part. "
        "Asked one by one they add up: the ledger cannot know what comes next."
    )
    return table(("asked as", "epsilon spent"), rows, words)


def parts_of_different_price() -> Shown:
    """The accountant's rule by itself, for parts that nobody is in two of."""
    losses = [PureLoss(Fraction(n, 10)) for n in (1, 5, 3)]
    rows = [(kind.value, float(parallel(losses, kind)[0])) for kind in (Neighbours.ADD_REMOVE, Neighbours.REPLACE)]
    return table(
        ("neighbours", "0.1, 0.5 and 0.3 together"),
        rows,
        "Who is replaced may leave one part and enter another: the two largest.",
    )


def many_questions(count: str) -> Shown:
    """The epsilon of many questions of 0.05 each: added up, and as concentrated loss at a delta of one in a million."""
    each = PureLoss(Fraction(1, 20))
    points = []
    for times in (1, 3, 10, 30, 100, 300, 1000):
        rho = zcdp.total(Repeated(each, times))[0]
        points.append((float(times), float(times * each.epsilon), float(zcdp.epsilon_of(rho, DELTA))))
    drawn = [
        Curve("added up", tuple((n, a) for n, a, _ in points)),
        Curve("zcdp, delta 1e-6", tuple((n, z) for n, _, z in points)),
    ]
    svg = curves(
        "Questions of epsilon 0.05 each",
        drawn,
        Axis("questions", log=True),
        Axis("epsilon in all", log=True),
        "",
        [float(count)],
        dots=True,
    )
    found = next(point for point in points if point[0] == float(count))
    return Shown(
        f"{count} questions: epsilon {found[1]:.3g} by adding up, {found[2]:.3g} at delta 1e-6 by zcdp.", svg=svg
    )


def spent_by_all() -> float:
    """The exercise, asked for real."""
    with room(STAFF, staff=ROWS) as session:
        session.ask("SELECT department, COUNT(*) FROM staff GROUP BY department", epsilon=0.3)
        for limit in (60_000, 70_000, 80_000):
            session.ask(f"SELECT COUNT(*) FROM staff WHERE salary > {limit}", epsilon=0.2)
        session.ask("SELECT COUNT(*) FROM staff WHERE salary > 60000", epsilon=0.2)
        return float(session.ledger.spent().amount)


LESSON = Lesson(
    "composition",
    "Serial and parallel composition",
    __name__,
    (
        Text("Two answers together tell more than each of them. How much more depends on whom they are about."),
        Step("Questions about the same people, one after the other:", one_after_the_other),
        Step("Questions about different people, at once and one by one:", apart_or_together),
        Step("Parts may have different prices:", parts_of_different_price),
        Slider(
            "Adding up is the worst case of many. A small chance delta of more buys a much slower growth:",
            "questions",
            ("10", "100", "1000"),
            many_questions,
            1,
        ),
    ),
    Exercise(
        "Somebody asks one GROUP BY over the three departments at epsilon 0.3, then three counts over all staff at 0.2 "
        "each, and then the "
        "first of those three once more. What does the ledger say?",
        Number(spent_by_all, 1e-9),
        answer="0.9",
        wrong=("1.1", "1.5", "1.7", "0.5"),
        hint="what is in parallel, what is serial, and what is merely looked at again?",
        why="0.3 for all departments at once, 3 * 0.2 for the counts, and nothing for an answer that was given before.",
    ),
)
