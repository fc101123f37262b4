"""Laplace noise, and the budget running out."""

from __future__ import annotations

from fractions import Fraction

from obverse.answers.svg import Axis, Curve, curves
from obverse.core.errors import BudgetExceeded
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Columns, Lesson, Shown, Slider, Step, Text, room, table
from obverse.mechanisms import DiscreteLaplace

SHOP = """
[project]
name = "shop"
[privacy]
epsilon = 0.25
[budget]
epsilon = 1
[tables.customers]
source = "customers.csv"
unit = "id"
[tables.customers.columns]
age = { type = "integer", bounds = [0, 120] }
spent = { type = "integer", bounds = [0, 500] }
"""
ROWS: Columns = {
    "id": list(range(400)),
    "age": [18 + n % 60 for n in range(400)],
    "spent": [n % 200 for n in range(400)],
}
REACH = 40


def noise_of_questions() -> Shown:
    """How much noise the product would add, before it adds any."""
    questions = ("SELECT COUNT(*) FROM customers", "SELECT SUM(spent) FROM customers")
    with room(SHOP, customers=ROWS) as session:
        rows = []
        for sql in questions:
            for epsilon in (1.0, 0.1):
                measure = session.explain(sql, epsilon=epsilon).measures[0]
                rows.append((sql, epsilon, measure["l1"], measure["stddev"], f"± {measure['half_width']:,.0f}"))
    return table(("question", "epsilon", "sensitivity", "deviation", "95 %"), rows, "Scale = sensitivity / epsilon.")


def law(epsilon: str) -> Shown:
    """The law of the noise of a count: it falls by the same factor with each step away from zero."""
    noise = DiscreteLaplace.for_epsilon(1, Fraction(epsilon))
    points = tuple((float(z), float(noise.mass(z)[0])) for z in range(-REACH, REACH + 1))
    reach = int(noise.interval(0.95))
    svg = curves(f"Noise at epsilon {epsilon}", [Curve("chance", points, area=True)], Axis("noise"), Axis("chance"),
                 f"95 % of it within ± {reach}", [m for m in (-reach, reach) if abs(m) <= REACH])  # fmt: skip
    return Shown(f"95 % of the noise is within ± {reach}; its standard deviation is {noise.stddev():.3g}.", svg=svg)


def until_it_is_empty() -> Shown:
    """Questions at 0.25 each from a budget of 1."""
    rows = []
    with room(SHOP, customers=ROWS) as session:
        for age in range(20, 80, 10):
            try:
                answer = session.ask(f"SELECT COUNT(*) AS n FROM customers WHERE age >= {age}")
            except BudgetExceeded as refused:
                rows.append((f"{age} and older", "refused", "", ""))
                return table(("question", "answer", "price", "left"), rows, f"[{refused.code}] {refused.message}")
            told = f"{answer.value} ({answer.low} to {answer.high})"
            rows.append((f"{age} and older", told, answer.price.epsilon, str(answer.remaining.epsilon)))
    return table(("question", "answer", "price", "left"), rows)


def again_for_nothing() -> Shown:
    """The same question twice: the second answer is the first one, from the store."""
    with room(SHOP, customers=ROWS) as session:
        answers = [session.ask("SELECT COUNT(*) AS n FROM customers") for _ in range(3)]
        spent = session.ledger.spent().amount
    rows = [(n + 1, one.value, "stored" if one.price.stored else one.price.epsilon) for n, one in enumerate(answers)]
    return table(
        ("time", "answer", "price"), rows, f"Spent in all: epsilon {spent}. Nothing new is told, so nothing is charged."
    )


def how_many(epsilon: Fraction) -> float:
    """How many questions at this price fit into the budget, as `explain` says."""
    with room(SHOP, customers=ROWS) as session:
        remaining = session.explain("SELECT COUNT(*) FROM customers", epsilon=epsilon).remaining
    return float(remaining.like_this or 0) if remaining is not None else 0.0


LESSON = Lesson(
    "laplace-and-budget",
    "Laplace noise, and a budget that runs out",
    __name__,
    (
        Text(
            "The Laplace mechanism adds a random number to the exact one. Large numbers are rarer than small ones, by "
            "the "
            "same factor at every step, and that factor is set so that one person's effect is worth epsilon. The "
            "product "
            "draws whole numbers: decimals of a computer leak in their last digits."
        ),
        Step(
            "A tenth of the epsilon, ten times the noise; and a sum that one person can move by 500 needs 500 times as "
            "much:",
            noise_of_questions,
        ),
        Slider("The noise of a count:", "epsilon", ("0.05", "0.1", "0.25", "0.5", "1"), law, 2),
        Text(
            "Each answer tells a little, and little adds up. So there is a budget: a cap on the sum of all prices, for "
            "ever, fixed before the first question. Prices are debited before any row is read."
        ),
        Step("A budget of 1, questions of 0.25:", until_it_is_empty),
        Step("Looking at an answer again is free:", again_for_nothing),
    ),
    Exercise(
        "From the same budget of 1, how many different questions at epsilon 0.15 are answered before one is refused?",
        Number(lambda: how_many(Fraction(15, 100)), 0),
        answer="6",
        wrong=("7", "6.67", "0.15", "10"),
        hint="a question is answered in full or not at all.",
        why="six of them cost 0.9; a seventh would make it 1.05, so it is refused and costs nothing.",
    ),
)
