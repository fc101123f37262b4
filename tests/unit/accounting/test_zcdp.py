"""Conversions are never below a 60-digit evaluation of the same theorem, and within 1e-6 of it."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.accounting.zcdp import epsilon_of, parallel, rho_for, tail_epsilon, total
from obverse.core.errors import Refused
from obverse.core.loss import ApproxLoss, BoundedRangeLoss, Composed, PureLoss, Repeated, ZcdpLoss
from obverse.core.units import Neighbours

rhos = st.one_of(
    st.fractions(min_value=Fraction(1, 10**9), max_value=50, max_denominator=10**9),
    st.integers(-9, 3).map(lambda power: Fraction(10) ** power),
)
deltas = st.integers(2, 40).map(lambda power: Fraction(1, 10**power))


def precisely(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


def best_epsilon(rho: Fraction, delta: Fraction) -> mpmath.mpf:
    """min over alpha of rho alpha + (ln(1/delta) + (alpha - 1) ln(1 - 1/alpha) - ln(alpha)) / (alpha - 1)."""
    with mpmath.workdps(60):
        r = precisely(rho)
        log_odds = -mpmath.log(precisely(delta))

        def at(alpha):
            return r * alpha + (log_odds + (alpha - 1) * mpmath.log(1 - 1 / alpha) - mpmath.log(alpha)) / (alpha - 1)

        # of ln(alpha - 1)
        low = mpmath.mpf(-45)
        high = mpmath.mpf(60)
        while high - low > mpmath.mpf(10) ** -15:
            left = low + (high - low) / 3
            right = high - (high - low) / 3
            if at(1 + mpmath.exp(left)) < at(1 + mpmath.exp(right)):
                high = right
            else:
                low = left
        return at(1 + mpmath.exp(low))


@settings(max_examples=60, deadline=None)
@given(rhos, deltas)
def test_epsilon_is_never_below_the_theorem_and_within_a_millionth(rho, delta):
    with mpmath.workdps(60):
        best = best_epsilon(rho, delta)
        ours = precisely(epsilon_of(rho, delta))
        assert ours >= max(0, best) - mpmath.mpf(10) ** -25  # the reference stops its own search there
        assert ours - max(0, best) <= 1e-6


@settings(max_examples=60, deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6), deltas)
def test_rho_for_is_the_largest_that_still_fits(epsilon, delta):
    rho = rho_for(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(rho * (1 + Fraction(1, 10**6)), delta) > epsilon


@given(rhos, deltas)
def test_the_tail_bound_is_rounded_up_and_above_the_tight_conversion(rho, delta):
    with mpmath.workdps(60):
        exactly = precisely(rho) + 2 * mpmath.sqrt(precisely(rho) * -mpmath.log(precisely(delta)))
        ours = precisely(tail_epsilon(rho, delta))
        assert exactly <= ours <= exactly * (1 + mpmath.mpf(10) ** -9)
    assert tail_epsilon(rho, delta) >= epsilon_of(rho, delta)


def test_a_known_value_of_the_conversion():
    """A thousand Gaussians of rho = 1/2000 at delta 1e-6: Canonne, Kamath and Steinke's formula by hand at its best
    order.
    """
    assert float(epsilon_of(Fraction(1, 2), Fraction(1, 10**6))) == pytest.approx(5.2215344445, abs=1e-9)


@pytest.mark.parametrize(("rho", "delta"), [("1/2", "1e-6"), ("1/1000", "1e-9"), ("10", "1e-3")])
def test_two_peers_find_no_smaller_epsilon_and_nearly_the_same(rho, delta):
    """dp_accounting evaluates the same theorem at listed orders; OpenDP converts by its own privacy profile."""
    ours = float(epsilon_of(Fraction(rho), Fraction(delta)))
    number = float(Fraction(rho))
    accountant = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    orders = [1 + 1.02**n for n in range(-300, 600)]
    theirs, _ = accountant.compute_epsilon(orders, [number * order for order in orders], float(delta))
    assert theirs == pytest.approx(ours, rel=1e-3)
    assert theirs >= ours - 1e-9
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    scale = (1 / (2 * number)) ** 0.5
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    approximate = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale))
    assert approximate.map(1).epsilon(delta=float(delta)) == pytest.approx(ours, rel=1e-3)


def test_no_loss_is_no_epsilon():
    assert epsilon_of(Fraction(0), Fraction(1, 10**6)) == 0


def test_each_kind_counts_as_its_theorem_says():
    epsilon = Fraction(1, 5)
    delta = Fraction(1, 10**7)
    assert total(PureLoss(epsilon)) == (epsilon**2 / 2, 0)
    assert total(BoundedRangeLoss(epsilon)) == (epsilon**2 / 8, 0)
    assert total(ApproxLoss(epsilon, delta)) == (epsilon**2 / 2, delta)
    assert total(ZcdpLoss(Fraction(3, 7))) == (Fraction(3, 7), 0)


@given(st.fractions(min_value=0, max_value=9), st.integers(0, 9))
def test_repeating_equals_composing(rho, times):
    loss = Composed((ZcdpLoss(rho), ApproxLoss(rho, Fraction(1, 10**6))))
    assert total(Repeated(loss, times)) == total(Composed((loss,) * times))


def test_disjoint_parts_under_both_notions_of_neighbours():
    losses = [ZcdpLoss(Fraction(n)) for n in (1, 3, 2)]
    assert parallel(losses, Neighbours.ADD_REMOVE) == (3, 0)
    assert parallel(losses, Neighbours.REPLACE) == (5, 0)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1)])
def test_without_a_delta_there_is_no_conversion(delta):
    with pytest.raises(Refused) as caught:
        epsilon_of(Fraction(1), delta)
    assert caught.value.code == "zcdp_needs_delta"
