"""Pure accounting adds exactly, whatever the shape of the loss."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.accounting.pure import parallel, total
from obverse.core.errors import Refused
from obverse.core.loss import NO_LOSS, ApproxLoss, BoundedRangeLoss, Composed, Loss, PureLoss, Repeated, ZcdpLoss
from obverse.core.units import Neighbours

tenth = Fraction(1, 10)
numbers = st.fractions(min_value=0, max_value=5, max_denominator=1000)
simple: st.SearchStrategy[Loss] = st.one_of(
    st.builds(PureLoss, numbers),
    st.builds(BoundedRangeLoss, numbers),
    st.builds(ApproxLoss, numbers, st.fractions(min_value=0, max_value=Fraction(1, 10), max_denominator=10**9)),
)
trees = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(Repeated, inner, st.integers(0, 5)), st.lists(inner, max_size=4).map(lambda x: Composed(tuple(x)))
    ),
    max_leaves=8,
)


@given(trees, st.integers(0, 20))
def test_repeating_a_loss_equals_composing_it_that_often(loss, times):
    assert total(Repeated(loss, times)) == total(Composed((loss,) * times))


@given(st.lists(trees, max_size=6), st.randoms())
def test_composition_does_not_depend_on_order_or_nesting(losses, random):
    shuffled = list(losses)
    random.shuffle(shuffled)
    nested: Loss = NO_LOSS
    for loss in shuffled:
        nested = Composed((nested, loss))
    assert total(nested) == total(Composed(tuple(losses)))


def test_ten_tenths_are_exactly_one():
    assert total(Repeated(PureLoss(tenth), 10)) == (1, 0)


def test_epsilon_and_delta_add_apart():
    parts = Composed(
        (ApproxLoss(tenth, Fraction(1, 10**6)), BoundedRangeLoss(tenth), ApproxLoss(tenth, Fraction(1, 10**6)))
    )
    assert total(parts) == (3 * tenth, Fraction(2, 10**6))


def test_nothing_costs_nothing():
    assert total(NO_LOSS) == (0, 0)


def test_twenty_thousand_parts_are_added_quickly_and_exactly():
    losses = tuple(PureLoss(Fraction(1, n % 97 + 1)) for n in range(20_000))
    assert total(Composed(losses))[0] == sum(Fraction(20_000 // 97 + (n < 20_000 % 97), n + 1) for n in range(97))


@given(st.lists(trees, min_size=1, max_size=6))
def test_disjoint_parts_cost_the_largest_under_add_remove(losses):
    totals = [total(loss) for loss in losses]
    assert parallel(losses, Neighbours.ADD_REMOVE) == (max(t[0] for t in totals), max(t[1] for t in totals))


@given(st.lists(trees, max_size=6))
def test_disjoint_parts_cost_the_two_largest_under_replace(losses):
    totals = [total(loss) for loss in losses]
    epsilons = sorted(t[0] for t in totals)[-2:]
    deltas = sorted(t[1] for t in totals)[-2:]
    assert parallel(losses, Neighbours.REPLACE) == (sum(epsilons), sum(deltas))


def test_a_zcdp_loss_is_refused_wherever_it_hides():
    with pytest.raises(Refused) as caught:
        total(Composed((PureLoss(tenth), Repeated(ZcdpLoss(tenth), 2))))
    assert caught.value.code == "wrong_accounting"
