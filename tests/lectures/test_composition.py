"""Composition, post-processing and the budget: what several questions cost, and what costs nothing."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import obverse
from obverse.accounting.pure import parallel
from obverse.core.errors import BudgetExceeded
from obverse.core.loss import PureLoss
from obverse.core.units import Neighbours
from obverse.testing import synthetic

TENTH = Fraction(1, 10)


def spent(session: obverse.Session) -> Fraction:
    return session.ledger.spent().amount


def test_questions_one_after_the_other_add_up(survey: obverse.Session) -> None:
    """Statistical privacy tools, serial composition: 0.1 + 0.2 + 0.3 = 0.6, exactly."""
    survey.ask("SELECT COUNT(*) FROM survey", epsilon=0.1)
    survey.ask("SELECT SUM(owned_hp_books) FROM survey", epsilon=0.2)
    survey.ask("SELECT COUNT(*) FROM survey WHERE read_hp", epsilon=0.3)
    assert spent(survey) == Fraction(6, 10)


def test_questions_over_disjoint_people_cost_the_largest(staff: obverse.Session) -> None:
    """Statistical privacy tools, parallel composition: asked as one GROUP BY, three departments cost one epsilon.

    The accountant's rule by itself: the maximum, or the two largest when a person may move from one part to another.
    """
    answer = staff.ask("SELECT department, COUNT(*) FROM staff GROUP BY department")
    assert len(answer) == 3
    assert spent(staff) == TENTH
    losses = [PureLoss(Fraction(n, 10)) for n in (1, 5, 3)]
    assert parallel(losses, Neighbours.ADD_REMOVE) == (Fraction(5, 10), 0)
    assert parallel(losses, Neighbours.REPLACE) == (Fraction(8, 10), 0)


def test_the_same_parts_asked_one_by_one_add_up(staff: obverse.Session) -> None:
    """Statistical privacy tools: the session cannot know that later questions will be disjoint, so it adds: 3 * 0.1."""
    for department in ("CS", "Econ", "Bio"):
        staff.ask(f"SELECT COUNT(*) FROM staff WHERE department = '{department}'")
    assert spent(staff) == 3 * TENTH


def test_a_function_of_an_answer_costs_nothing(survey: obverse.Session) -> None:
    """Privacy engineering, exercise 5.1 (post-processing): arithmetic, rounding, comparison and choice over one
    count.
    """
    sql = (
        "SELECT COUNT(*) AS n, 2 * COUNT(*) AS twice, ROUND(COUNT(*), -1) AS rounded, COUNT(*) > 10 AS many, "
        "CASE WHEN COUNT(*) > 10 THEN 'fire everybody' ELSE 'coffee machine' END AS decision FROM survey"
    )
    assert len(survey.explain(sql).measures) == 1
    ((n, twice, rounded, many, decision),) = survey.ask(sql)
    assert spent(survey) == TENTH
    assert (twice, many) == (2 * n, n > 10)  # type: ignore[operator]
    assert abs(rounded - n) <= 5  # type: ignore[operator]
    assert decision == ("fire everybody" if many else "coffee machine")


def test_an_answer_that_was_given_is_given_again_for_nothing(survey: obverse.Session) -> None:
    """Privacy engineering, exercise 5.1: looking at an answer again is a function of it: 0, and byte for byte the
    same.
    """
    first = survey.ask("SELECT COUNT(*) FROM survey")
    again = survey.ask("SELECT COUNT(*) FROM survey")
    assert spent(survey) == TENTH
    assert again.price.stored
    assert again.to_bytes() == first.from_store().to_bytes()


def test_a_budget_is_spent_to_the_last_bit_and_no_further(survey: obverse.Session) -> None:
    """Statistical privacy tools, composition and the budget: ten questions of 0.1 fit into 1, the eleventh does not."""
    for i in range(10):
        survey.ask(f"SELECT COUNT(*) FROM survey WHERE owned_hp_books < {i + 10}")
    assert spent(survey) == 1
    with pytest.raises(BudgetExceeded):
        survey.ask("SELECT COUNT(*) FROM survey WHERE owned_hp_books < 5", epsilon=Fraction(1, 10**9))


def test_users_who_talk_to_each_other_share_one_budget(tmp_path: Path) -> None:
    """Statistical privacy tools, trade-offs: a limit per user is no limit if users talk, so one cap binds all of
    them.
    """
    toml = """
[project]
name = "shared"
[budget]
epsilon = 1
[analysts.ana]
epsilon = 0.8
[analysts.ben]
epsilon = 0.8
[tables.people]
source = "people.parquet"
unit = "row"
"""
    folder = synthetic({"people": {"age": [30, 40]}}, toml, tmp_path / "shared")
    with obverse.open(folder, analyst="ana") as session:
        session.ask("SELECT COUNT(*) FROM people", epsilon=0.8)
        with pytest.raises(BudgetExceeded):
            session.ask("SELECT COUNT(*) FROM people", epsilon=0.1)
    with obverse.open(folder, analyst="ben") as session:
        with pytest.raises(BudgetExceeded):
            session.ask("SELECT COUNT(*) FROM people", epsilon=0.3)
        session.ask("SELECT COUNT(*) FROM people", epsilon=0.2)
        assert spent(session) == 1
