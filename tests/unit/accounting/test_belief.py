"""What an attacker may come to believe, rounded against us."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.accounting.belief import belief, posterior
from obverse.accounting.budget import cap_of
from obverse.accounting.zcdp import tail_epsilon
from obverse.core.ledger import Budget
from obverse.core.units import Neighbours

ADD_REMOVE = Neighbours.ADD_REMOVE
REPLACE = Neighbours.REPLACE
one = Budget(Fraction(1), Fraction(1, 10**6))


@given(st.fractions(min_value=0, max_value=800, max_denominator=10**6))
def test_the_posterior_is_never_below_its_formula_and_close_to_it(epsilon):
    with mpmath.workdps(60):
        odds = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        exactly = odds / (1 + odds)
        assert exactly <= posterior(epsilon) <= exactly * (1 + mpmath.mpf(10) ** -15)


def test_no_loss_leaves_even_odds():
    assert posterior(Fraction(0)) == pytest.approx(0.5)


def test_at_epsilon_one_a_value_is_believed_with_at_most_88_percent_under_add_remove():
    found = belief(one, "pure", ADD_REMOVE)
    assert found.taking_part == pytest.approx(0.7310585786)
    assert found.value == pytest.approx(0.8807970779)


def test_under_replace_a_value_is_one_step_away():
    found = belief(one, "pure", REPLACE)
    assert found.value == found.taking_part == pytest.approx(0.7310585786)


def test_the_exception_about_a_value_is_one_plus_e_to_the_epsilon_times_delta():
    found = belief(one, "pure", ADD_REMOVE)
    assert found.taking_part_except == pytest.approx(1e-6)
    assert found.value_except == pytest.approx((1 + 2.718281828459045) * 1e-6)
    assert found.taking_part_except >= 1e-6


def test_k_related_people_count_k_times_epsilon():
    assert belief(one, "pure", ADD_REMOVE, people=3).taking_part == posterior(Fraction(3))
    assert belief(one, "pure", ADD_REMOVE, people=3).value == posterior(Fraction(6))


def test_zcdp_uses_the_tail_bound_with_four_rho_about_a_value_and_k_squared_for_k_people():
    rho = cap_of(one, "zcdp").amount
    half = one.delta / 2
    found = belief(one, "zcdp", ADD_REMOVE)
    assert found.taking_part == posterior(tail_epsilon(rho, half))
    assert found.value == posterior(tail_epsilon(4 * rho, half))
    assert belief(one, "zcdp", REPLACE).value == found.taking_part
    assert belief(one, "zcdp", REPLACE, people=3).value == posterior(tail_epsilon(9 * rho, half))


def test_a_hopeless_budget_says_certainty():
    found = belief(Budget(Fraction(1000), Fraction(1, 10**6)), "pure", ADD_REMOVE)
    assert (found.taking_part, found.value, found.value_except) == (1.0, 1.0, 1.0)


def test_without_delta_there_is_no_exception():
    found = belief(Budget(Fraction(1)), "pure", ADD_REMOVE)
    assert (found.taking_part_except, found.value_except) == (0.0, 0.0)
