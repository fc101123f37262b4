"""A budget is a filter: exact at its edge, and never passed however the questions are chosen."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.accounting.budget import (
    GRID,
    cap_of,
    cap_within,
    count,
    fits,
    like_this,
    remaining,
    share,
    tighter,
    words,
    words_left,
)
from obverse.accounting.zcdp import epsilon_of
from obverse.core.errors import InvariantBroken, Refused
from obverse.core.ledger import Budget, Cap, Spent
from obverse.core.loss import ApproxLoss, PureLoss

tenth = Fraction(1, 10)
charges = st.builds(
    lambda amount, delta: Spent("pure", amount, delta),
    st.fractions(min_value=0, max_value=1, max_denominator=1000),
    st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=1000),
)


def after(cap: Cap, debits: list[Spent]) -> tuple[Spent, int]:
    spent = Spent(cap.accounting)
    taken = 0
    for debit in debits:
        if fits(cap, spent, debit):
            spent = spent.plus(debit)
            taken = taken + 1
    return spent, taken


def test_ten_debits_of_a_tenth_fit_into_one_and_the_eleventh_does_not():
    cap = cap_of(Budget(Fraction(1)), "pure")
    debit = count(PureLoss(tenth), "pure")
    assert after(cap, [debit] * 11) == (Spent("pure", Fraction(1)), 10)


def test_three_thirds_fit_into_one():
    cap = cap_of(Budget(Fraction(1)), "pure")
    debit = count(PureLoss(Fraction(1, 3)), "pure")
    assert after(cap, [debit] * 4)[1] == 3


@given(st.lists(charges, max_size=30), st.lists(st.booleans(), min_size=30, max_size=30))
def test_an_adversary_who_adapts_each_debit_to_the_last_answer_never_passes_the_cap(debits, halved):
    cap = Cap("pure", Fraction(1), Fraction(1, 50))
    spent = Spent("pure")
    for debit, half in zip(debits, halved, strict=False):
        price = Spent("pure", debit.amount / 2, debit.delta / 2) if half else debit
        if fits(cap, spent, price):
            spent = spent.plus(price)
        assert spent.amount <= cap.amount
        assert spent.delta <= cap.delta
        assert fits(cap, spent, remaining(cap, spent))


@given(charges, charges)
def test_as_many_more_fit_as_like_this_says(charge, spent):
    cap = Cap("pure", Fraction(1), Fraction(1, 50))
    times = like_this(charge, spent, cap)
    if times is None:
        assert charge == Spent("pure")
        return
    for _ in range(times):
        assert fits(cap, spent, charge)
        spent = spent.plus(charge)
    assert not fits(cap, spent, charge)


def test_like_this_is_zero_once_the_cap_was_lowered_below_what_is_spent():
    assert like_this(Spent("pure"), Spent("pure", Fraction(2)), Cap("pure", Fraction(1), Fraction(0))) == 0


def test_deltas_are_summed_and_capped_too():
    cap = cap_of(Budget(Fraction(10), Fraction(1, 10**6)), "pure")
    debit = count(ApproxLoss(tenth, Fraction(4, 10**7)), "pure")
    assert after(cap, [debit] * 3)[1] == 2


def test_under_zcdp_half_of_delta_converts_and_half_pays_thresholds():
    budget = Budget(Fraction(4), Fraction(1, 10**6))
    cap = cap_of(budget, "zcdp")
    assert cap.delta == budget.delta / 2
    assert epsilon_of(cap.amount, budget.delta / 2) <= budget.epsilon


def test_a_zcdp_budget_without_delta_is_refused():
    with pytest.raises(Refused) as caught:
        cap_of(Budget(Fraction(4)), "zcdp")
    assert caught.value.code == "zcdp_needs_delta"


def test_a_part_without_a_delta_of_its_own_may_use_that_of_the_whole():
    whole = Budget(Fraction(4), Fraction(1, 10**6))
    assert cap_within(Budget(Fraction(2)), whole, "pure") == Cap("pure", Fraction(2), whole.delta)
    assert cap_within(Budget(Fraction(2)), whole, "zcdp").delta == whole.delta / 2


@given(charges)
def test_the_tighter_of_two_caps_holds_exactly_when_both_hold(charge):
    caps = Cap("pure", Fraction(1, 2), Fraction(1, 100)), Cap("pure", Fraction(1), Fraction(1, 500))
    nothing = Spent("pure")
    assert fits(tighter(*caps), nothing, charge) == all(fits(cap, nothing, charge) for cap in caps)


@given(st.fractions(min_value=0, max_value=10))
def test_counting_rounds_up_by_less_than_one_step_of_the_grid(epsilon):
    counted = count(PureLoss(epsilon), "pure").amount
    assert 0 <= counted - epsilon < Fraction(1, GRID)
    assert GRID % counted.denominator == 0


def test_ten_thousand_odd_fractions_do_not_grow_the_total():
    spent = Spent("pure")
    for n in range(10_000):
        spent = spent.plus(count(PureLoss(Fraction(1, 2 * n + 10_007)), "pure"))
    assert spent.amount.denominator.bit_length() <= GRID.bit_length()


def test_share_is_of_the_number_that_is_used_up_sooner():
    cap = Cap("pure", Fraction(1), Fraction(1, 10**6))
    assert share(Spent("pure", tenth), cap) == tenth
    assert share(Spent("pure", tenth, Fraction(1, 2 * 10**6)), cap) == Fraction(1, 2)
    assert share(Spent("pure", tenth, Fraction(1, 10**9)), Cap("pure", Fraction(1), Fraction(0))) == 1


def test_epsilon_and_rho_are_never_mixed():
    with pytest.raises(InvariantBroken):
        fits(Cap("zcdp", Fraction(1), Fraction(0)), Spent("pure"), Spent("pure"))
    with pytest.raises(InvariantBroken):
        Spent("pure").plus(Spent("zcdp"))


def test_prices_are_shown_rounded_up_and_rests_rounded_down():
    assert words(Spent("pure", Fraction(1, 3))) == "epsilon 0.333334"
    assert words_left(Spent("zcdp", Fraction(1, 3))) == "rho 0.333333 and delta 0"
