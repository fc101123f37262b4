"""Split the budget over the measures: mechanisms fixed, loss known, price shown here."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from obverse.accounting import zcdp
from obverse.catalog.model import Accounting
from obverse.core.errors import Refused
from obverse.core.loss import Loss, PureLoss, ZcdpLoss
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.annotate import AnnotatedPlan
from obverse.plan.measure import Measure

LEVEL = 0.95
SCALE_MAX = Fraction(2) ** 46  # in released integers: what the samplers take without overflow


@dataclass(frozen=True, slots=True)
class CostedPlan:
    """A plan with its noise: the price is that of the whole question."""

    annotated: AnnotatedPlan
    mechanisms: tuple[Additive, ...]
    loss: Loss
    epsilon: Fraction
    delta: Fraction
    accounting: Accounting
    level: float = LEVEL

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.annotated.measures


def allocate(annotated: AnnotatedPlan, epsilon: Fraction, delta: Fraction, accounting: Accounting) -> CostedPlan:
    """Equal shares of the joint norm.

    Claim:   the release of all measures together costs at most epsilon (pure), or the largest rho whose epsilon at delta
             is at most epsilon (zcdp).
    Proof:   measure i gets noise of scale s_i = linf_i * N / share, with N the joint norm in multiples of linf_i. One unit
             moves the stack by c with sum |c_i| / linf_i <= N, so the losses |c_i| / s_i add up to at most the share;
             for Gaussians the same with squares.
    Assumes: the joint norm was derived by rules/stack.
    """
    if annotated.explained:
        spoken = annotated.explained[0][0]
        raise Refused(
            "aggregate_not_private",
            f"{spoken} cannot be answered: it returns a row's own value.",
            why="its sensitivity is the whole range of the column, so noise would drown it; `explain` shows it.",
            fix="ask AVG, or COUNT(*) by ranges of the column.",
        )
    if accounting == "pure":
        loss: Loss = PureLoss(epsilon)
        mechanisms = tuple(_laplace(m, annotated, epsilon) for m in annotated.measures)
        return CostedPlan(annotated, mechanisms, loss, epsilon, Fraction(0), accounting)
    if delta <= 0:
        raise Refused("bad_parameter", "zcdp accounting prices a question at a delta above 0.", fix="Give --delta 1e-8.")
    rho = zcdp.rho_for(epsilon, delta)
    gaussians = tuple(_gaussian(m, annotated, rho) for m in annotated.measures)
    return CostedPlan(annotated, gaussians, ZcdpLoss(rho), epsilon, delta, accounting)


def _laplace(measure: Measure, annotated: AnnotatedPlan, epsilon: Fraction) -> Additive:
    reach = measure.proven.linf * annotated.joint.l1
    _check((reach / epsilon) ** 2)
    return DiscreteLaplace.for_epsilon(reach, epsilon)


def _gaussian(measure: Measure, annotated: AnnotatedPlan, rho: Fraction) -> Additive:
    reach_squared = measure.proven.linf**2 * annotated.joint.l2_squared
    _check(reach_squared / (2 * rho))
    return DiscreteGaussian.for_rho(reach_squared, rho)


def _check(scale_squared: Fraction) -> None:
    if scale_squared >= SCALE_MAX**2:
        raise Refused(
            "epsilon_too_small",
            "the noise of this question would be too large to be drawn exactly.",
            why="noise is drawn in 64-bit integers.",
            fix="raise epsilon, or narrow the bounds of the columns with CLAMP.",
        )
