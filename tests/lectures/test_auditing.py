"""Query auditing: which secrets follow from answers, how hard that is to say, and what a refusal tells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from obverse.attack.auditing import Sum, audit_booleans, audit_reals
from obverse.attack.auditing.online import LinearAuditor, NaiveAuditor, consistent
from obverse.review.audit import questions_of

AGES = {"Ann": 29, "Bob": 34, "Cid": 36, "Dee": 41, "Eve": 41, "Fay": 58}


@pytest.fixture
def employees(tmp_path: Path) -> Path:
    """Employees (name, age) is public; the salary is not even in the file."""
    path = tmp_path / "employees.csv"
    path.write_text("name,age\n" + "".join(f"{name},{age}\n" for name, age in AGES.items()))
    return path


def older(*ages: int) -> list[tuple[str, None]]:
    return [(f"SELECT SUM(salary) FROM Employees WHERE age > {age}", None) for age in ages]


def test_one_sum_over_employees_older_than_35_determines_no_salary(employees: Path) -> None:
    """Responsible data science, query auditing: name and age are public, the salary is confidential."""
    asked = questions_of(older(35), employees, "salary", "name")
    assert not audit_reals(len(asked.secrets), asked.sums).determined


def test_sums_over_employees_older_than_35_and_than_36_determine_the_salary_between(employees: Path) -> None:
    """Responsible data science, query auditing: a differencing attack is about to take place, and is seen."""
    asked = questions_of(older(35, 36, 40, 41), employees, "salary", "name")
    found = audit_reals(len(asked.secrets), asked.sums)
    assert {asked.secrets[one.secret]: one.questions for one in found.determined} == {"Cid": (0, 1), "Fay": (3,)}


def test_the_boolean_auditing_problem_is_decided_where_it_is_of_a_common_size() -> None:
    """Responsible data science, query auditing: coNP-complete; still 60 sets of six among 200 secrets take no
    second.
    """
    random = np.random.default_rng(1)
    bits = random.integers(0, 2, 200)
    sets = [random.choice(200, 6, replace=False) for _ in range(60)]
    sums = [Sum(frozenset(map(int, one)), int(bits[one].sum())) for one in sets]
    found = audit_booleans(200, sums)
    assert (len(found.determined), found.undecided) == (32, ())
    assert not audit_reals(200, sums).determined


def test_a_refusal_may_itself_disclose() -> None:
    """Responsible data science, query auditing: from one refusal and one answer all three secrets follow."""
    auditor = NaiveAuditor((1, 1, 0))
    heard = [(frozenset(of), auditor.asks(of)) for of in ((0, 1), (0, 1, 2))]
    assert heard[0][1] is None
    assert consistent(3, heard) == [(1, 1, 0)]


def test_after_a_refusal_that_tells_nothing_other_questions_are_answered(employees: Path) -> None:
    """Responsible data science, query auditing: "no information access at all?" No: what determines nobody is
    granted.
    """
    auditor = LinearAuditor()
    asked = questions_of(older(35, 36, 40, 33, 28), employees, "salary", "name")
    assert [auditor.grants(one.of) for one in asked.sums] == [True, False, False, False, True]
