"""Differencing and averaging, against an exact interface and against ask."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

from obverse.attack.attacks import Averaging, Differencing
from obverse.attack.attacks.differencing import posterior
from obverse.attack.targets import Counting, Person
from obverse.core.rng import Rng
from obverse.engines.files import ExactTable
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Columns, Lesson, Shown, Slider, Step, Text, room, table, write_csv
from obverse.mechanisms import DiscreteLaplace
from obverse.review.interfaces import asked_of

STUDY = """
[project]
name = "study"
[budget]
epsilon = 4
[tables.study]
source = "study.csv"
unit = "name"
[tables.study.columns]
name = { type = "text" }
hiv = { type = "integer", bounds = [0, 1] }
"""
NAMES = ["Freddie", *(f"person {n}" for n in range(19))]
ROWS: Columns = {"name": NAMES, "hiv": [n % 2 for n in range(20)]}
PEOPLE = [Person(name, bool(n % 2)) for n, name in enumerate(NAMES)]


def all_but_one_exactly() -> Shown:
    """X counts everybody who is ill, Y everybody but Freddie; from an interface that gives exact counts."""
    with tempfile.TemporaryDirectory() as folder:
        write_csv(Path(folder) / "study.csv", ROWS)
        with ExactTable(Path(folder) / "study.csv", "study") as exact:
            everybody = exact.ask("SELECT COUNT(*) FROM study WHERE hiv = 1")
            others = exact.ask("SELECT COUNT(*) FROM study WHERE hiv = 1 AND name <> 'Freddie'")
            found = Differencing().ask(Counting(exact.ask, "study", "name"), "hiv = 1", PEOPLE)
    return table(("all who are ill", "all but Freddie"), [(everybody, others)], found.sentence)


def all_but_one_through_ask() -> Shown:
    """The same attack on the product, at epsilon 0.1 a question, until its budget is empty."""
    with room(STUDY, study=ROWS) as session:
        found = Differencing().ask(Counting(asked_of(session, 0.1), "study", "name"), "hiv = 1", PEOPLE)
        spent = session.ledger.spent().amount
    rows = [(found.rate.wins, found.rate.trials, f"{float(spent):g} of 4")]
    return table(("guessed right", "of", "epsilon spent"), rows, found.sentence)


def averaged(repeats: str) -> Shown:
    """Fresh noise for each answer and no budget: ask again and again, and take the middle."""
    noise = DiscreteLaplace.for_epsilon(1, Fraction(1, 10))
    truth = [100 + n for n in range(40)]
    attack = Averaging(repeats=int(repeats))
    found = attack.run(lambda question, times: [truth[question] + float(z) for z in noise.noise(times, Rng())], truth)
    return Shown(found.sentence)


def averaged_through_ask() -> Shown:
    """Where the product sees the same question it gives the same answer; a wording that it does not see through is
    debited.
    """
    with room(STUDY, study=ROWS) as session:
        ask = asked_of(session, 0.1)
        found = Averaging(repeats=60).ask(ask, ["SELECT COUNT(*) FROM study WHERE hiv = 1"], [10])
        spent = session.ledger.spent().amount
    rows = [(found.figures["answers"], f"{float(spent):g} of 4")]
    return table(("answers got", "epsilon spent"), rows, found.sentence)


LESSON = Lesson(
    "differencing",
    "Differencing and averaging",
    __name__,
    (
        Text(
            "Two harmless counts can be a harmful difference: all who are ill, and all who are ill but Freddie. Rules "
            "such "
            "as 'no count below 5' do not help, since both are large."
        ),
        Step("An interface that answers exactly:", all_but_one_exactly),
        Step(
            "The same questions to the product. Its noise is larger than anybody's share in a count:",
            all_but_one_through_ask,
        ),
        Text("Noise alone is not enough either. What is drawn anew for every answer can be averaged away."),
        Slider(
            "Fresh noise at epsilon 0.1, and nobody who counts the questions:",
            "answers",
            ("1", "10", "100", "1000"),
            averaged,
            2,
        ),
        Step("The product asked sixty times, in sixty wordings:", averaged_through_ask),
    ),
    Exercise(
        "In March 202 of 3,005 students come from rich families, in April 200 of 3,002: three left between. What is "
        "the "
        "chance, for each of the three, of being from a rich family?",
        Number(lambda: float(posterior(2, 3)), 0.01),
        answer="2/3",
        wrong=("1", "0.07", "1/3", "0"),
        hint="two of those three are gone from the count.",
        why="of the three who left, two were counted: 2 in 3, while of everybody it is 1 in 15.",
    ),
)
