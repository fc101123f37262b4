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
from obverse.plan.measures import Measure
from obverse.plan.stability.joint import independent
from obverse.plan.strategy.adaptive import Course
from obverse.plan.strategy.strategy import Strategy

LEVEL = 0.95
SCALE_MAX = Fraction(2) ** 46  # in released integers: what the samplers take without overflow
Noise = Additive | Exponential
MORE = Fraction(1, 16)  # of a share, for each further measure that an aggregate errs by
COUNTED, OTHERWISE = 2, 3  # a count's noise moves an average only as far as that is from the middle of its bounds


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
    strategy: Strategy | None = None  # maps of the counts, each with a mechanism of its own, instead of the counts
    course: Course | None = None  # steps that follow from each other, within the loss, instead of mechanisms

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.annotated.measures


@dataclass(frozen=True, slots=True)
class Shares:
    """What each measure gets of the price, in shares, and how many there are: those of the sums, the others and the keys."""

    each: tuple[Fraction, ...]
    total: Fraction


def shares_of(annotated: AnnotatedPlan, *, squared: bool) -> Shares:
    """An aggregate has one share, and MORE, for those of its measures that no simpler one has paid for; the keys have one.

    Where a unit cannot move all sums in full at once, which their joint norm tells, all have the same instead.
    """
    joint, plain = annotated.joint, independent(tuple(m for m in annotated.measures if m.noised))
    each = _each(annotated) if joint == plain else (Fraction(1),) * len(annotated.measures)
    norm = joint.l2_squared if squared else joint.l1
    if joint == plain:
        norm = sum((w * _reaches(m, squared=squared) for w, m in zip(each, annotated.measures) if m.noised), Fraction(0))
    others = sum((w for w, m in zip(each, annotated.measures) if not m.noised), Fraction(0))
    return Shares(each, norm + others + annotated.limited.setting.discovered)


def _each(annotated: AnnotatedPlan) -> tuple[Fraction, ...]:
    found: dict[int, Fraction] = {}
    for serves in sorted(annotated.limited.serves, key=len):
        new = {place: COUNTED if annotated.measures[place].term.kind == "count" else OTHERWISE for place in serves}
        new = {place: weight for place, weight in new.items() if place not in found}
        whole = 1 + MORE * (len(new) - 1)
        found |= {place: whole * Fraction(weight, sum(new.values())) for place, weight in new.items()}
    return tuple(found.get(place, Fraction(1)) for place in range(len(annotated.measures)))


def _reaches(measure: Measure, *, squared: bool) -> Fraction:
    """A sum's own norm, in multiples of how far one of its cells moves."""
    proven = measure.proven
    return (proven.l2 / proven.linf) ** 2 if squared else proven.l1 / proven.linf


def allocate(
    annotated: AnnotatedPlan, epsilon: Fraction, delta: Fraction, accounting: Accounting, part: Fraction = Fraction(1)
) -> CostedPlan:
    """One price for the whole question, of which this plan has `part`: epsilon and delta are told whole.

    Claim:   the release of all measures together costs at most epsilon (pure), or the largest rho whose epsilon at delta
             is at most epsilon (zcdp), times the part; discovered keys add delta.
    Proof:   let W be the number of shares, so that one is worth e = epsilon / W. A sum i with w_i shares gets noise of scale
             s_i = linf_i / (w_i e). One unit moves the sums by c. Where all w_i are 1, sum |c_i| / linf_i is at most their
             joint norm N, so that their losses |c_i| / s_i add up to at most N e, and W counts N. Else each loses at most
             w_i e l1_i / linf_i, and W counts these. A tree's noise is scaled to its own L1 norm: its shares. A choice:
             `_choice`. Keys: KeyThreshold with one share. Losses add up (adaptively: measures of the keys that were
             released). For Gaussians the same with squares and rho.
    Assumes: the norms were derived by annotate.
    """
    invariant(0 < part <= 1, "a part of the price")
    discovered = annotated.limited.setting.discovered
    if discovered and delta < 2 * DELTA_MIN:
        raise Refused(
            "keys_not_public",
            f"keys that are not public cannot be released with {'delta 0' if delta <= 0 else 'so small a delta'}.",
            why="a key that one unit alone has must stay hidden, which noise on counts does but for a chance of delta.",
            fix="give --delta 1e-8 (and a delta in [budget]), or declare the column's values in obverse.toml.",
        )
    if accounting == "pure":
        return _pure(annotated, epsilon, delta if discovered else Fraction(0), part)
    if delta <= 0:
        raise Refused("bad_parameter", "zcdp accounting prices a question at a delta above 0.", fix="Give --delta 1e-8.")
    return _concentrated(annotated, epsilon, delta, part)


def _pure(annotated: AnnotatedPlan, epsilon: Fraction, delta: Fraction, part: Fraction) -> CostedPlan:
    shares = shares_of(annotated, squared=False)
    one = part * epsilon / shares.total
    mechanisms = tuple(_laplace(m, annotated, one * w) for m, w in zip(annotated.measures, shares.each))
    threshold = _threshold(annotated, one, delta) if annotated.limited.setting.discovered else None
    loss: Loss = PureLoss(part * epsilon) if threshold is None else ApproxLoss(part * epsilon, delta)
    return CostedPlan(annotated, mechanisms, loss, epsilon, delta, "pure", threshold=threshold)


def _concentrated(annotated: AnnotatedPlan, epsilon: Fraction, delta: Fraction, part: Fraction) -> CostedPlan:
    shares = shares_of(annotated, squared=True)
    discovered = annotated.limited.setting.discovered
    paid = delta / 2 if discovered else Fraction(0)  # half of delta turns rho into epsilon, the other half hides keys
    rho = part * zcdp.rho_for(epsilon, delta - paid)
    one = rho / shares.total
    mechanisms = tuple(_gaussian(m, annotated, one * w) for m, w in zip(annotated.measures, shares.each))
    if not discovered:
        return CostedPlan(annotated, mechanisms, ZcdpLoss(rho), epsilon, delta, "zcdp")
    threshold = _threshold(annotated, _few_bits(sqrt_down(2 * one)), paid)
    loss = Composed((ZcdpLoss(rho), ApproxLoss(Fraction(0), paid)))  # the keys' epsilon is within rho, whatever their share
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
