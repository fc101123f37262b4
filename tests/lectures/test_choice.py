"""The exponential mechanism: answers that are not numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest

import obverse
from obverse.mechanisms import Exponential
from obverse.mechanisms.enclosures import exp_minus, exp_plus

VOTES = (30, 28, 5)  # for three candidates


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_each_candidate_is_chosen_in_proportion_to_e_to_half_epsilon_times_its_score(epsilon: Fraction) -> None:
    """Statistical privacy tools, exponential mechanism (its book, 3.4): P[r] ~ exp(epsilon u(r) / (2 sensitivity))."""
    choice = Exponential(1, epsilon)
    best, *others = (float(choice.probability(VOTES, n)[0]) for n in range(3))
    for votes, chance in zip(VOTES[1:], others):
        assert chance / best == pytest.approx(float(exp_minus(epsilon * (VOTES[0] - votes) / 2)[0]), rel=1e-12)
    assert best + sum(others) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_no_choice_is_more_than_e_to_the_epsilon_likelier_on_a_neighbour(epsilon: Fraction) -> None:
    """Statistical privacy tools, exponential mechanism: whoever votes otherwise moves two scores by one each."""
    choice = Exponential(1, epsilon)
    bound = exp_plus(epsilon)[1]
    for others in ((29, 29, 5), (31, 27, 5), (29, 28, 6), (30, 27, 6), (30, 28, 4)):
        for n in range(3):
            here = choice.probability(VOTES, n)
            there = choice.probability(others, n)
            assert here[0] <= bound * there[1]
            assert there[0] <= bound * here[1]


def test_the_commonest_value_is_chosen_and_not_counted(survey: obverse.Session) -> None:
    """Statistical privacy tools, exponential mechanism: a categorical answer; one person moves each score by at most
    1.
    """
    sql = "SELECT MODE(gender) AS g FROM survey"
    (measure,) = survey.explain(sql).measures
    assert (measure["mechanism"], measure["linf"]) == ("exponential", 1)
    assert survey.ask(sql).value in ("Male", "Female", None)
