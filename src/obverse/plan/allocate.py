"""Split the budget over the measures: mechanisms fixed, loss known, price shown here."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from obverse.accounting import zcdp
from obverse.catalog.model import Accounting
from obverse.core.errors import Refused, invariant
from obverse.core.loss import ApproxLoss, Composed, Loss, PureLoss, ZcdpLoss
from obverse.core.numbers import sqrt_down
from obverse.core.units import Neighbours
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.exponential import Exponential
from obverse.mechanisms.key_threshold import DELTA_MIN, KeyThreshold
from obverse.mechanisms.sparse_vector import SparseVector
from obverse.plan.annotate import AnnotatedPlan
from obverse.plan.measure import Measure

LEVEL = 0.95
SCALE_MAX = Fraction(2) ** 46  # in released integers: what the samplers take without overflow
Noise = Additive | Exponential


@dataclass(frozen=True, slots=True)
class CostedPlan:
    """A plan with its noise: the price is that of the whole question."""

    annotated: AnnotatedPlan
    mechanisms: tuple[Noise, ...]
    loss: Loss
    epsilon: Fraction
    delta: Fraction
    accounting: Accounting
    level: float = LEVEL
    threshold: KeyThreshold | None = None
    bias: str = ""  # what is to be said of its error apart from noise, in words
    series: SparseVector | None = None  # goes through the cells and names some, instead of noise for each

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.annotated.measures


@dataclass(frozen=True, slots=True)
class Shares:
    """How many shares the price is cut into: the sums' joint norm, and one for each tree, each choice and the keys."""

    sums: Fraction
    others: int

    @property
    def total(self) -> Fraction:
        return self.sums + self.others


def shares_of(annotated: AnnotatedPlan, *, squared: bool) -> Shares:
    joint = annotated.joint.l2_squared if squared else annotated.joint.l1
    others = sum(not m.noised for m in annotated.measures) + annotated.limited.setting.discovered
    return Shares(joint, others)


def allocate(annotated: AnnotatedPlan, epsilon: Fraction, delta: Fraction, accounting: Accounting) -> CostedPlan:
    """Equal shares.

    Claim:   the release of all measures together costs at most epsilon (pure), or the largest rho whose epsilon at delta
             is at most epsilon (zcdp); discovered keys add delta.
    Proof:   a sum i gets noise of scale s_i = linf_i * W / epsilon, with W the number of shares: their joint norm N, in
             multiples of linf_i, plus one for each other part. One unit moves the sums by c with sum |c_i| / linf_i <= N,
             so their losses |c_i| / s_i add up to at most N shares. A tree's noise is scaled to its own L1 norm: one share.
             A choice: `_choice`. Keys: KeyThreshold with one share. Losses add up (adaptively: measures of the keys
             that were released). For Gaussians the same with squares and rho.
    Assumes: the norms were derived by annotate.
    """
    discovered = annotated.limited.setting.discovered
    if discovered and delta < 2 * DELTA_MIN:
        raise Refused(
            "keys_not_public",
            f"keys that are not public cannot be released with {'delta 0' if delta <= 0 else 'so small a delta'}.",
            why="a key that one unit alone has must stay hidden, which noise on counts does but for a chance of delta.",
            fix="give --delta 1e-8 (and a delta in [budget]), or declare the column's values in obverse.toml.",
        )
    if accounting == "pure":
        return _pure(annotated, epsilon, delta if discovered else Fraction(0))
    if delta <= 0:
        raise Refused("bad_parameter", "zcdp accounting prices a question at a delta above 0.", fix="Give --delta 1e-8.")
    return _concentrated(annotated, epsilon, delta)


def _pure(annotated: AnnotatedPlan, epsilon: Fraction, delta: Fraction) -> CostedPlan:
    shares = shares_of(annotated, squared=False)
    one = epsilon / shares.total
    mechanisms = tuple(_laplace(m, annotated, one) for m in annotated.measures)
    threshold = _threshold(annotated, one, delta) if annotated.limited.setting.discovered else None
    loss: Loss = PureLoss(epsilon) if threshold is None else ApproxLoss(epsilon, delta)
    return CostedPlan(annotated, mechanisms, loss, epsilon, delta, "pure", threshold=threshold)


def _concentrated(annotated: AnnotatedPlan, epsilon: Fraction, delta: Fraction) -> CostedPlan:
    shares = shares_of(annotated, squared=True)
    discovered = annotated.limited.setting.discovered
    paid = delta / 2 if discovered else Fraction(0)  # half of delta turns rho into epsilon, the other half hides keys
    rho = zcdp.rho_for(epsilon, delta - paid)
    one = rho / shares.total
    mechanisms = tuple(_gaussian(m, annotated, one) for m in annotated.measures)
    if not discovered:
        return CostedPlan(annotated, mechanisms, ZcdpLoss(rho), epsilon, delta, "zcdp")
    threshold = _threshold(annotated, _few_bits(sqrt_down(2 * one)), paid)
    loss = Composed((ZcdpLoss(rho - one), threshold.loss()))
    return CostedPlan(annotated, mechanisms, loss, epsilon, delta, "zcdp", threshold=threshold)


def _laplace(measure: Measure, annotated: AnnotatedPlan, share: Fraction) -> Noise:
    if measure.term.kind == "choice":
        return _choice(measure, annotated, _few_bits(share))
    reach = measure.proven.linf if measure.noised else measure.proven.l1
    _check((reach / share) ** 2)
    return DiscreteLaplace.for_epsilon(reach, share)


def _gaussian(measure: Measure, annotated: AnnotatedPlan, share: Fraction) -> Noise:
    if measure.term.kind == "choice":
        return _choice(measure, annotated, _few_bits(sqrt_down(8 * share)))
    reach_squared = (measure.proven.linf if measure.noised else measure.proven.l2) ** 2
    _check(reach_squared / (2 * share))
    return DiscreteGaussian.for_rho(reach_squared, share)


def _monotone(annotated: AnnotatedPlan) -> bool:
    return annotated.limited.setting.neighbours is Neighbours.ADD_REMOVE


def _choice(measure: Measure, annotated: AnnotatedPlan, share: Fraction) -> Exponential:
    """The exponential mechanism over a choice's scores, in every cell.

    Claim:   all cells' choices together cost at most `share`.
    Proof:   let C be the cap on a unit's total weight. Adding a unit raises the scores of cell g by between 0 and w_g, and
             removing it lowers them so, with sum of w_g at most C over all cells and grouping sets (times their number);
             with weights exp(e s / 2C) the log-ratio of a choice moves within a range of e w_g / 2C, which sums to e / 2:
             e = 2 share. Replacing lowers by w_g and raises by w'_g, ranges add up to e (C + C) / 2C = e = share.
             A range bounds the loss. Under zcdp a range r costs r^2 / 8, and squares of parts add up to at most the
             square of the sum.
    Assumes: the scores were weighted by Limit.
    """
    most = int(measure.proven.linf) * annotated.limited.setting.sets
    return Exponential(most, 2 * share if _monotone(annotated) else share)


def _threshold(annotated: AnnotatedPlan, share: Fraction, delta: Fraction) -> KeyThreshold:
    groups = annotated.limited.root.child.child.groups
    least = annotated.limited.question.least_units
    return KeyThreshold(groups, share, delta, groups if _monotone(annotated) else 2 * groups, least)


def _few_bits(number: Fraction) -> Fraction:
    """Rounded down to what samplers compare exactly."""
    return Fraction(int(number * 2**64), 2**64)


def _check(scale_squared: Fraction) -> None:
    if scale_squared >= SCALE_MAX**2:
        raise Refused(
            "epsilon_too_small",
            "the noise of this question would be too large to be drawn exactly.",
            why="noise is drawn in 64-bit integers.",
            fix="raise epsilon, or narrow the bounds of the columns with CLAMP.",
        )


def charge_of(mechanism: Noise, measure: Measure, annotated: AnnotatedPlan) -> Fraction:
    """What one measure's noise costs, derived anew: of its joint norm for sums, of its own for the others."""
    joint = annotated.joint
    match mechanism:
        case DiscreteLaplace():
            return (measure.proven.linf * joint.l1 if measure.noised else measure.proven.l1) / mechanism.scale
        case DiscreteGaussian():
            reach = measure.proven.linf**2 * joint.l2_squared if measure.noised else measure.proven.l2**2
            return reach / (2 * mechanism.sigma_squared)
        case Exponential():
            moved = measure.proven.linf * annotated.limited.setting.sets
            return moved * mechanism.epsilon / mechanism.sensitivity / (2 if _monotone(annotated) else 1)
        case _:
            invariant(False, "a mechanism whose loss is known here")
            raise AssertionError
