"""Invariants of a costed plan, checked before anything is reserved: noise must cover what the sensitivities say."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from obverse.accounting.pure import total as pure_total
from obverse.accounting.zcdp import epsilon_of
from obverse.accounting.zcdp import total as zcdp_total
from obverse.core.errors import invariant
from obverse.core.loss import ApproxLoss, Composed, Loss, PureLoss, ZcdpLoss
from obverse.core.units import Neighbours
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.exponential import Exponential
from obverse.mechanisms.sparse_vector import SparseVector
from obverse.plan.measures import SPARE_BITS, TERM_BITS, WEIGHT_BITS, Measure
from obverse.plan.pricing import (
    SCALE_MAX,
    Adaptive,
    Independent,
    MatrixStrategy,
    Noise,
    Plan,
    SparseVectorRun,
    Thresholded,
)
from obverse.plan.relation import Shape
from obverse.plan.sensitivity import MeasuredPlan
from obverse.plan.strategy.adaptive import nothing, walk
from obverse.plan.strategy.pricing import entry_losses, ground_of, priced_at


def verify(costed: Plan) -> None:
    """Raise unless the plan's noise, derived anew from its measures, costs at most its price."""
    invariant(bool(costed.measures) or costed.threshold is not None, "something is released")
    for measure in costed.measures:
        invariant(measure.term.lo <= measure.term.hi, "a term's range")
        invariant(max(measure.term.magnitude, measure.cap) <= 1 << TERM_BITS, "a term's bits")
        invariant(measure.cap << measure.bits <= 1 << SPARE_BITS, "a measure's bits")
        invariant(measure.bits <= WEIGHT_BITS, "a weight's bits")
        if costed.setting.shape in (Shape.ROW, Shape.ONE):
            invariant(measure.bits == 0, "nothing is rounded where units are rows")
    match costed.noise:
        case Independent() | Thresholded():
            _covers(costed)
        case SparseVectorRun(mechanism):
            _covers_series(costed, mechanism)
        case MatrixStrategy():
            _covers_strategy(costed)
        case Adaptive(course):
            # a dry run on zeros; at run time a privacy filter holds every path to the price
            walk(course, ground_of(costed), priced_at(costed), nothing)
        case _:
            assert_never(costed.noise)
    verify_price(costed.loss, costed)


def verify_price(loss: Loss, costed: Plan) -> None:
    """The loss, of the plan or of all that is asked together, is within the price that is told."""
    if costed.accounting == "pure" or isinstance(loss, PureLoss):
        amount, delta = pure_total(loss)
    else:
        rho, delta = zcdp_total(loss)
        amount = epsilon_of(rho, costed.delta - delta)
    invariant(amount <= costed.epsilon and delta <= costed.delta, "the price is that of the loss")


def _covers_series(costed: Plan, series: SparseVector) -> None:
    """One count, whose moves the mechanism knows, at its own price."""
    (measure,) = costed.measures
    setting = costed.setting
    invariant(
        measure.term.kind == "count" and measure.proven.linf <= series.sensitivity, "a series knows how far counts move"
    )
    invariant(not series.monotone or setting.neighbours is Neighbours.ADD_REMOVE, "counts move one way")
    invariant(costed.loss == PureLoss(series.epsilon), "noise covers the price")


def _covers_strategy(costed: Plan) -> None:
    """All blocks together, each by its own norms."""
    paid = costed.loss.epsilon if isinstance(costed.loss, PureLoss) else getattr(costed.loss, "rho", Fraction(0))
    invariant(
        isinstance(costed.loss, PureLoss if costed.accounting == "pure" else ZcdpLoss), "a loss that is known here"
    )
    invariant(entry_losses(costed) <= paid, "noise covers the price")


def _covers(costed: Plan) -> None:
    """The sums together cost what each does by itself, or their joint norm at the least noise; every other part by
    itself.
    """
    invariant(len(costed.mechanisms) == len(costed.measures), "a mechanism for each measure")
    pure = costed.accounting == "pure"
    dearest = Fraction(0)
    total = Fraction(0)
    sums = Fraction(0)
    norm = costed.joint.l1 if pure else costed.joint.l2_squared
    for measure, mechanism in zip(costed.measures, costed.mechanisms):
        if isinstance(mechanism, DiscreteLaplace):
            invariant(mechanism.scale <= 2 * SCALE_MAX, "noise that can be drawn exactly")
        invariant(
            isinstance(mechanism, Exponential) == (measure.term.kind == "choice"), "a choice is made, not added to"
        )
        charge = _charge(mechanism, measure, costed)
        if isinstance(mechanism, Exponential) and not pure:
            charge = charge**2 / 8
        if measure.noised:
            sums += charge
            reach = measure.proven.l1 if pure else measure.proven.l2**2
            one = measure.proven.linf if pure else measure.proven.linf**2
            dearest = max(dearest, charge * one / reach if reach else Fraction(0))
        else:
            total += charge
    total += min(sums, dearest * norm)
    threshold = costed.threshold
    invariant((threshold is not None) == costed.setting.discovered, "discovered keys have a threshold")
    delta = Fraction(0)
    if threshold is not None:
        times = 1 if costed.setting.neighbours is Neighbours.ADD_REMOVE else 2
        invariant(threshold.reach == times * threshold.groups, "the threshold knows how far keys move")
        invariant(threshold.groups == costed.root.child.child.groups, "the threshold knows the groups")
        total += threshold.epsilon if pure else threshold.epsilon**2 / 2
        delta = threshold.delta
    kinds = (ApproxLoss, Composed) if threshold is not None else (PureLoss, ZcdpLoss)
    invariant(isinstance(costed.loss, kinds), "a loss that is known here")
    charged = pure_total(costed.loss) if pure else zcdp_total(costed.loss)
    invariant(total <= charged[0] and delta <= charged[1], "noise covers the price")


def _charge(mechanism: Noise, measure: Measure, annotated: MeasuredPlan) -> Fraction:
    """What one measure's noise costs by itself, derived anew from how far a unit moves it."""
    match mechanism:
        case DiscreteLaplace():
            return measure.proven.l1 / mechanism.scale
        case DiscreteGaussian():
            return measure.proven.l2**2 / (2 * mechanism.sigma_squared)
        case Exponential():
            moved = measure.proven.linf * annotated.setting.sets
            one_way = annotated.setting.neighbours is Neighbours.ADD_REMOVE
            return moved * mechanism.epsilon / mechanism.sensitivity / (2 if one_way else 1)
        case _:
            invariant(False, "a mechanism whose loss is known here")
            raise AssertionError
