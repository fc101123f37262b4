"""Query auditing, and refusals that disclose."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from obverse.attack.auditing import audit_reals
from obverse.attack.auditing.online import LinearAuditor, NaiveAuditor, consistent
from obverse.learn.exercises import Exercise, Number
from obverse.learn.lesson import Lesson, Shown, Step, Text, table, write_csv
from obverse.review.audit import Questions, questions_of

AGES = {"Ann": 29, "Bob": 34, "Cid": 36, "Dee": 41, "Eve": 41, "Fay": 58}


def sums_over(*ages: int) -> Questions:
    """Sums of salaries of everybody older than so much; ages are public, salaries are not even in the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "employees.csv"
        write_csv(path, {"name": list(AGES), "age": list(AGES.values())})
        sql = [(f"SELECT SUM(salary) FROM employees WHERE age > {age}", None) for age in ages]
        return questions_of(sql, path, "salary", "name")


def what_follows() -> Shown:
    """Which salaries follow from sums that were answered exactly."""
    rows = []
    for ages in ((35,), (35, 36), (35, 36, 40, 41)):
        asked = sums_over(*ages)
        found = audit_reals(len(asked.secrets), asked.sums).determined
        rows.append(
            (", ".join(f"> {age}" for age in ages), ", ".join(asked.secrets[one.secret] for one in found) or "nobody's")
        )
    return table(("sums over ages", "salaries that follow"), rows)


def a_refusal_tells() -> Shown:
    """Secrets 1, 1, 0. The naive auditor refuses whatever would give a secret away, and so gives it away."""
    auditor = NaiveAuditor((1, 1, 0))
    heard = []
    rows = []
    for of in ((0, 1), (0, 1, 2)):
        heard.append((frozenset(of), auditor.asks(of)))
        told = "refused" if heard[-1][1] is None else str(heard[-1][1])
        rows.append((", ".join(str(n + 1) for n in of), told, len(consistent(3, heard))))
    words = "Of eight databases one is left. The refusal said: both have the same bit, or I would have answered."
    return table(("sum over persons", "answer", "databases left"), rows, words)


def a_refusal_that_tells_nothing() -> Shown:
    """An auditor that decides by the questions alone: whoever asks could have computed its refusals."""
    ages = (35, 36, 40, 33, 28)
    auditor = LinearAuditor()
    asked = sums_over(*ages)
    rows = [(f"> {age}", "answered" if auditor.grants(one.of) else "refused") for age, one in zip(ages, asked.sums)]
    return table(
        ("sum over ages", "decision"),
        rows,
        "No salary follows. But who asks first decides what others may still learn.",
    )


def left_by_a_refusal() -> int:
    """Databases of four bits on which a naive auditor refuses the sum over the first two: those that remain."""
    refused = [bits for bits in itertools.product((0, 1), repeat=4) if NaiveAuditor(bits).asks((0, 1)) is None]
    found = consistent(4, [(frozenset((0, 1)), None)])
    return len(found) if sorted(found) == sorted(refused) else -1


LESSON = Lesson(
    "auditing",
    "Query auditing, and a refusal that discloses",
    __name__,
    (
        Text(
            "An auditor sits before the database, answers exactly, and refuses a question when its answer would "
            "complete "
            "somebody's secret. It sounds like a way without noise."
        ),
        Step("First, what follows from exact sums of salaries:", what_follows),
        Step("An auditor that looks at the true answer before it decides:", a_refusal_tells),
        Step("One that looks at the questions only:", a_refusal_that_tells_nothing),
        Text(
            "Deciding whether bits follow from sums is hard in general (coNP-complete), the refusals pile up, and no "
            "auditor knows what people know already. `obverse attack audit` checks logs of others in this way; `ask` "
            "itself "
            "refuses for reasons that are known before any row is read."
        ),
    ),
    Exercise(
        "Four people have a secret bit each. A naive auditor refuses the sum over the first two. How many of the 16 "
        "databases are still possible?",
        Number(left_by_a_refusal, 0),
        answer="8",
        wrong=("16", "4", "1"),
        hint="for which values of two bits would their sum give both away?",
        why="the sum was 0 or 2, so the first two are equal; the other two are free: 2 * 4.",
    ),
)
