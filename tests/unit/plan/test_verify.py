"""A plan whose noise, sizes or price do not fit together is never charged for, let alone run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from obverse.core.errors import InvariantBroken
from obverse.core.loss import ApproxLoss, PureLoss, ZcdpLoss
from obverse.mechanisms.exponential import Exponential
from obverse.plan.measures import Measure
from obverse.plan.pricing import Independent, Plan, Thresholded, with_mechanisms
from obverse.plan.stability.joint import Joint
from obverse.plan.verify import verify
from obverse.session.planning import Planned
from obverse.testing.noiseless import Identity

TEXT = "SELECT COUNT(*), AVG(cost), SUM(age) FROM visits"
SETTINGS = [(u, n, a) for u in ("row", "one", "many") for n in ("add-remove", "replace") for a in ("pure", "zcdp")]


def changed(costed: Plan, place: int, **fields: object) -> Plan:
    measures: list[Measure] = list(costed.measures)
    measures[place] = replace(measures[place], **fields)  # type: ignore[arg-type]
    return with_measures(costed, measures)


def with_measures(costed: Plan, measures: list[Measure]) -> Plan:
    return replace(costed, root=replace(costed.root, child=replace(costed.root.child, measures=tuple(measures))))


@pytest.mark.parametrize(("unit", "neighbours", "accounting"), SETTINGS)
def test_every_plan_passes_and_less_noise_on_any_one_measure_does_not(
    unit: str, neighbours: str, accounting: str, planned: Callable[..., Planned]
) -> None:
    costed = planned(TEXT, unit, neighbours, accounting).costed
    verify(costed)
    for place, mechanism in enumerate(costed.mechanisms):
        cut = [*costed.mechanisms]
        cut[place] = mechanism.scaled(Fraction(999, 1000))
        with pytest.raises(InvariantBroken, match="noise covers"):
            verify(with_mechanisms(costed, tuple(cut)))


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_a_price_below_the_noise_does_not_pass(accounting: str, planned: Callable[..., Planned]) -> None:
    costed = planned(TEXT, "row", "add-remove", accounting).costed
    cheaper = PureLoss(Fraction(499, 1000)) if accounting == "pure" else ZcdpLoss(costed.loss.rho * Fraction(99, 100))  # type: ignore[attr-defined]
    with pytest.raises(InvariantBroken, match="noise covers"):
        verify(replace(costed, loss=cheaper))


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_a_larger_sensitivity_or_joint_norm_than_was_paid_for_does_not_pass(
    accounting: str, planned: Callable[..., Planned]
) -> None:
    costed = planned(TEXT, "many", "add-remove", accounting).costed
    for place, measure in enumerate(costed.measures):
        with pytest.raises(InvariantBroken, match="noise covers"):
            verify(changed(costed, place, sensitivity=measure.proven.scaled(Fraction(1001, 1000))))
    apart = "SELECT COUNT(*) FILTER (WHERE sex = 'F'), COUNT(*) FILTER (WHERE sex = 'M') FROM visits"
    costed = planned(apart, "one", "add-remove", accounting).costed
    joint = costed.joint
    wider = Joint(joint.l1 * Fraction(1001, 1000), joint.l2_squared * Fraction(1001, 1000))
    with pytest.raises(InvariantBroken, match="noise covers"):
        verify(replace(costed, joint=wider))


def test_a_measure_without_its_mechanism_or_sensitivity_does_not_pass(planned: Callable[..., Planned]) -> None:
    costed = planned(TEXT).costed
    with pytest.raises(InvariantBroken, match="a mechanism for each"):
        verify(with_mechanisms(costed, costed.mechanisms[:-1]))
    with pytest.raises(InvariantBroken, match="no sensitivity"):
        verify(changed(costed, 0, sensitivity=None))
    with pytest.raises(InvariantBroken, match="something is released"):
        verify(with_mechanisms(with_measures(costed, []), ()))


def test_mechanisms_and_losses_that_are_not_known_do_not_pass(planned: Callable[..., Planned]) -> None:
    costed = planned(TEXT).costed
    with pytest.raises(InvariantBroken, match="a mechanism whose loss"):
        verify(with_mechanisms(costed, tuple(Identity() for _ in costed.mechanisms)))
    with pytest.raises(InvariantBroken, match="a loss that is known"):
        verify(replace(costed, loss=ApproxLoss(Fraction(1, 2), Fraction(1, 1000))))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"bits": 1}, "nothing is rounded"),
        ({"bits": 40}, "a measure's bits|a weight's bits"),
        ({"cap": 1 << 40}, "a term's bits"),
    ],
)
def test_sizes_that_could_overflow_do_not_pass(
    fields: dict[str, int], said: str, planned: Callable[..., Planned]
) -> None:
    with pytest.raises(InvariantBroken, match=said):
        verify(changed(planned(TEXT).costed, 0, **fields))


def test_terms_that_are_too_large_or_empty_do_not_pass(planned: Callable[..., Planned]) -> None:
    costed = planned(TEXT, "many").costed
    term = costed.measures[2].term
    with pytest.raises(InvariantBroken, match="a term's bits"):
        verify(changed(costed, 2, term=replace(term, hi=(1 << 32) + 1)))
    with pytest.raises(InvariantBroken, match="a term's range"):
        verify(changed(costed, 2, term=replace(term, lo=term.hi + 1)))


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_keys_and_choices_at_half_their_noise_do_not_pass(
    neighbours: str, accounting: str, planned: Callable[..., Planned]
) -> None:
    costed = planned("SELECT note, MODE(sex) FROM visits GROUP BY note", "grouped", neighbours, accounting, 1e-6).costed
    verify(costed)
    (choice,) = costed.mechanisms
    threshold = costed.threshold
    assert isinstance(choice, Exponential)
    assert threshold is not None
    other = replace(threshold, reach=threshold.groups * (2 if threshold.reach == threshold.groups else 1))
    for wrong in (
        replace(costed, noise=Thresholded(costed.mechanisms, other)),
        replace(costed, noise=Thresholded(costed.mechanisms, replace(threshold, epsilon=threshold.epsilon * 2))),
        replace(costed, noise=Independent(costed.mechanisms)),
        with_mechanisms(costed, (replace(choice, epsilon=choice.epsilon * 2),)),
    ):
        with pytest.raises(InvariantBroken):
            verify(wrong)


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_a_loss_above_the_price_that_is_told_does_not_pass(accounting: str, planned: Callable[..., Planned]) -> None:
    costed = planned(TEXT, "many", "add-remove", accounting).costed
    with pytest.raises(InvariantBroken, match="the price"):
        verify(replace(costed, epsilon=costed.epsilon * Fraction(99, 100)))
    if accounting == "zcdp":
        with pytest.raises(InvariantBroken, match="the price"):
            verify(replace(costed, delta=costed.delta / 2))
