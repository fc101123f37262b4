"""Invariants of a costed plan, checked before anything is reserved: noise must cover what the sensitivities say."""

from __future__ import annotations

from fractions import Fraction

from obverse.core.errors import invariant
from obverse.core.loss import PureLoss, ZcdpLoss
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.allocate import SCALE_MAX, CostedPlan
from obverse.plan.measure import SPARE_BITS, TERM_BITS, WEIGHT_BITS
from obverse.plan.nodes import Shape


def verify(costed: CostedPlan) -> None:
    """Raise unless the plan's noise, derived anew from its measures, costs at most its price."""
    annotated = costed.annotated
    invariant(len(costed.mechanisms) == len(costed.measures) > 0, "a mechanism for each measure")
    for measure in costed.measures:
        invariant(measure.term.lo <= measure.term.hi, "a term's range")
        invariant(measure.term.magnitude * annotated.limited.setting.rows <= 1 << TERM_BITS, "a term's bits")
        invariant(measure.cap << measure.bits <= 1 << SPARE_BITS, "a measure's bits")
        invariant(measure.bits <= WEIGHT_BITS, "a weight's bits")
        if annotated.limited.setting.shape in (Shape.ROW, Shape.ONE):
            invariant(measure.bits == 0, "nothing is rounded where units are rows")
    _covers(costed)


def _covers(costed: CostedPlan) -> None:
    joint = costed.annotated.joint
    total = Fraction(0)
    for measure, mechanism in zip(costed.measures, costed.mechanisms):
        linf = measure.proven.linf
        match mechanism:
            case DiscreteLaplace():
                invariant(mechanism.scale <= 2 * SCALE_MAX, "noise that can be drawn exactly")
                total = max(total, linf * joint.l1 / mechanism.scale)
            case DiscreteGaussian():
                total = max(total, linf**2 * joint.l2_squared / (2 * mechanism.sigma_squared))
            case _:
                invariant(False, "a mechanism whose loss is known here")
    match costed.loss:
        case PureLoss(epsilon):
            invariant(total <= epsilon, "noise covers the price")
        case ZcdpLoss(rho):
            invariant(total <= rho, "noise covers the price")
        case _:
            invariant(False, "a loss that is known here")
