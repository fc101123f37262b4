"""What the guarantee means: neighbours, epsilon, and what somebody may come to believe."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import obverse
from obverse.accounting.belief import belief, posterior
from obverse.core.errors import Refused
from obverse.core.ledger import Budget
from obverse.core.units import Neighbours
from obverse.mechanisms.enclosures import log_up


def test_even_odds_move_to_e_to_the_epsilon_over_one_plus_that() -> None:
    """Responsible data science, take 2 of the definition: 73.1 % at epsilon 1, 52.5 % at 0.1, 75 % at ln 3."""
    assert posterior(Fraction(1)) == pytest.approx(0.7310585786300049, rel=1e-15)
    assert posterior(Fraction(1, 10)) == pytest.approx(0.52497918747894, rel=1e-13)
    assert posterior(log_up(Fraction(3))) == pytest.approx(0.75, rel=1e-15)


def test_a_value_moves_farther_than_presence_when_people_are_added_and_removed() -> None:
    """Privacy engineering, neighbours: changing a row is removing and adding one, so 2 epsilon: 88.1 % at epsilon 1."""
    budget = Budget(Fraction(1))
    added = belief(budget, "pure", Neighbours.ADD_REMOVE)
    replaced = belief(budget, "pure", Neighbours.REPLACE)
    assert added.taking_part == replaced.taking_part == replaced.value == posterior(Fraction(1))
    assert added.value == pytest.approx(math.exp(2) / (1 + math.exp(2)), rel=1e-12)


def test_each_answer_says_so_in_words(survey: obverse.Session) -> None:
    """Privacy engineering, section 6: who is protected, the price, and the odds once all of a budget of 1 is spent."""
    claim = survey.ask("SELECT COUNT(*) FROM survey").claim
    assert (claim.unit, claim.neighbours, claim.epsilon) == ("one row of survey", "add-remove", "0.1")
    assert "73.2 %" in claim.belief
    assert "88.1 %" in claim.belief
    assert "k related people count k times epsilon" in claim.belief


def test_related_people_count_together() -> None:
    """Statistical privacy tools, caveats: people are not independent; a family of k counts k times epsilon."""
    family = belief(Budget(Fraction(1, 2)), "pure", Neighbours.ADD_REMOVE, people=2)
    assert family.taking_part == posterior(Fraction(1))


@pytest.mark.parametrize("epsilon", [0, Fraction(1, 2**50), -1])
def test_an_epsilon_at_which_nothing_can_be_learned_is_refused(survey: obverse.Session, epsilon: Fraction) -> None:
    """Lecture 4, responsible data science, statistical privacy tools: think of 1/10, not of 1/2^50; consider epsilon
    0.
    """
    with pytest.raises(Refused) as refused:
        survey.explain("SELECT COUNT(*) FROM survey", epsilon=epsilon)
    assert refused.value.code == "bad_parameter"


def test_a_smaller_epsilon_means_more_noise(survey: obverse.Session) -> None:
    """Statistical privacy tools, utility: a tenth of the epsilon is ten times the noise."""
    much, little = (survey.explain("SELECT COUNT(*) FROM survey", epsilon=e).measures[0]["stddev"] for e in (0.01, 0.1))
    assert much == pytest.approx(10 * little, rel=1e-3)


def test_the_price_is_public_and_is_told_before_anything_is_spent(survey: obverse.Session) -> None:
    """Statistical privacy tools, Chrome and Apple: no trust without knowing epsilon; here every face tells it."""
    explained = survey.explain("SELECT COUNT(*) FROM survey")
    assert explained.price.epsilon == "0.1"
    assert survey.ledger.spent().amount == 0
    assert survey.ask("SELECT COUNT(*) FROM survey").price.epsilon == "0.1"
