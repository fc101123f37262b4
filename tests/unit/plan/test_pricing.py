"""Equal shares of the joint norm, and a price that is exactly what the noise costs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from obverse.accounting import zcdp
from obverse.core.errors import Refused
from obverse.core.loss import PureLoss, ZcdpLoss
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.exponential import Exponential
from obverse.plan.pricing import SparseVectorRun, allocate, series, shares_of
from obverse.session.planning import Planned

TEXTS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT AVG(cost), SUM(age) FROM visits",
    "SELECT sex, VAR_POP(age) FROM visits GROUP BY sex",
)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("unit", ["row", "one", "many"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "7"])
def test_one_units_loss_over_all_measures_is_within_the_price_and_close_to_it(
    text: str, unit: str, epsilon: str, planned: Callable[..., Planned]
) -> None:
    annotated = planned(text, unit).costed
    price = Fraction(epsilon)
    pure = allocate(annotated, price, Fraction(0), "pure")
    assert pure.loss == PureLoss(price)
    scales = [m.scale for m in pure.mechanisms if isinstance(m, DiscreteLaplace)]
    pairs = list(zip(annotated.measures, scales, strict=True))
    loss = min(sum(m.proven.l1 / s for m, s in pairs), max(annotated.joint.l1 * m.proven.linf / s for m, s in pairs))
    assert price * Fraction(999_999, 10**6) <= loss <= price
    concentrated = allocate(annotated, price, Fraction(1, 10**6), "zcdp")
    rho = zcdp.rho_for(price, Fraction(1, 10**6))
    assert concentrated.loss == ZcdpLoss(rho)
    sigmas = [m.sigma_squared for m in concentrated.mechanisms if isinstance(m, DiscreteGaussian)]
    pairs = list(zip(annotated.measures, sigmas, strict=True))
    apart = sum(m.proven.l2**2 / (2 * s) for m, s in pairs)
    together = max(annotated.joint.l2_squared * m.proven.linf**2 / (2 * s) for m, s in pairs)
    assert rho * Fraction(999_999, 10**6) <= min(apart, together) <= rho


AVERAGE = Fraction(17, 16) * Fraction(2, 5), Fraction(17, 16) * Fraction(3, 5)


@pytest.mark.parametrize(
    ("asked", "shares"),
    [
        ("COUNT(*), SUM(age)", [1, 1]),
        ("SUM(age), AVG(age)", [1, *AVERAGE]),
        ("AVG(age), SUM(age)", [*AVERAGE, 1]),
        ("COUNT(age), AVG(age)", [1, 1]),
        ("COUNT(age), SUM(age), AVG(age)", [1, 1, 1]),
        ("AVG(age), VAR_POP(age)", [*AVERAGE, 1]),
        ("MEDIAN(age), MIN(age), AVG(cost)", [1, *AVERAGE]),
    ],
)
def test_an_aggregate_has_one_share_for_what_no_simpler_one_has_paid(
    asked: str, shares: list[Fraction], planned: Callable[..., Planned]
) -> None:
    annotated = planned(f"SELECT {asked} FROM visits", "many").costed
    for squared in (False, True):
        found = shares_of(annotated, squared=squared)
        assert (list(found.each), found.total) == (shares, sum(shares))


def test_sums_that_one_unit_cannot_move_together_have_the_same_share(planned: Callable[..., Planned]) -> None:
    asked = "SELECT COUNT(*) FILTER (WHERE sex = 'F'), COUNT(*) FILTER (WHERE sex = 'M'), AVG(height) FROM visits"
    annotated = planned(asked, "one").costed
    found = shares_of(annotated, squared=False)
    assert (set(found.each), found.total) == ({Fraction(1)}, annotated.joint.l1)
    assert annotated.joint.l1 < len(annotated.measures)


def test_zcdp_needs_a_delta(planned: Callable[..., Planned]) -> None:
    with pytest.raises(Refused) as refused:
        allocate(planned(TEXTS[0]).costed, Fraction(1), Fraction(0), "zcdp")
    assert refused.value.code == "bad_parameter"


def test_an_average_of_a_limited_table_has_a_price_under_zcdp_too(planned: Callable[..., Planned]) -> None:
    """What is checked is the noise's scale, not its square: 20 fractional bits and a small epsilon fit together."""
    annotated = planned("SELECT AVG(cost) FROM visits", "many", "replace", "zcdp").costed
    assert allocate(annotated, Fraction(1, 100), Fraction(1, 10**8), "zcdp").mechanisms


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_noise_that_cannot_be_drawn_exactly_is_refused(accounting: str, planned: Callable[..., Planned]) -> None:
    annotated = planned("SELECT AVG(cost) FROM visits", "many").costed
    with pytest.raises(Refused) as refused:
        allocate(annotated, Fraction(1, 10**9), Fraction(1, 10**6), accounting)  # type: ignore[arg-type]
    assert refused.value.code == "epsilon_too_small"


@pytest.mark.parametrize("aggregate", ["MIN(age)", "MAX(cost)", "MEDIAN(height)"])
def test_an_order_statistic_is_answered_by_a_tree_and_its_global_sensitivity_told(
    aggregate: str, planned: Callable[..., Planned]
) -> None:
    costed = planned(f"SELECT {aggregate} FROM visits").costed
    assert [m.term.kind for m in costed.measures] == ["tree"]
    assert len(costed.explained) == 1


@pytest.mark.parametrize(("neighbours", "times"), [("add-remove", 1), ("replace", 2)])
@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_a_replaced_unit_moves_twice_as_many_keys(
    neighbours: str, times: int, accounting: str, planned: Callable[..., Planned]
) -> None:
    costed = planned("SELECT note, COUNT(*) FROM visits GROUP BY note", "grouped", neighbours, accounting, 1e-6).costed
    assert costed.threshold is not None
    assert costed.threshold.reach == 3 * times


@pytest.mark.parametrize(("neighbours", "times"), [("add-remove", 2), ("replace", 1)])
def test_a_choice_among_counts_that_move_one_way_has_twice_the_epsilon(
    neighbours: str, times: int, planned: Callable[..., Planned]
) -> None:
    costed = planned("SELECT MODE(sex) FROM visits", "row", neighbours).costed
    (mechanism,) = costed.mechanisms
    assert isinstance(mechanism, Exponential)
    assert mechanism.epsilon / mechanism.sensitivity == times * costed.epsilon


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("told", ["COUNT(*)", "MODE(sex)", "SUM(cost), MEDIAN(age)"])
def test_delta_that_hides_keys_is_not_spent_twice(told: str, neighbours: str, planned: Callable[..., Planned]) -> None:
    costed = planned(f"SELECT note, {told} FROM visits GROUP BY note", "grouped", neighbours, "zcdp").costed
    rho, hidden = zcdp.total(costed.loss)
    assert 0 < hidden < costed.delta
    assert costed.epsilon * Fraction(999, 1000) <= zcdp.epsilon_of(rho, costed.delta - hidden) <= costed.epsilon


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_sums_over_groups_are_priced_by_their_norm(
    neighbours: str, accounting: str, planned: Callable[..., Planned]
) -> None:
    costed = planned(
        "SELECT kind, COUNT(*), SUM(cost) FROM visits GROUP BY kind", "many", neighbours, accounting
    ).costed
    assert len(costed.mechanisms) == 2


def test_a_series_passes_what_it_is_asked_to_pass(planned: Callable[..., Planned]) -> None:
    known = planned("SELECT kind, COUNT(*) FROM visits GROUP BY kind").costed
    for above, threshold in ((Fraction(5, 2), 3), (Fraction(3), 3), (Fraction(-5, 2), -2)):
        found = series(known, Fraction(1), "pure", above, 1, 0.95).noise
        assert isinstance(found, SparseVectorRun)
        assert found.mechanism.threshold == threshold
