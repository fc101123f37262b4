"""Split the budget over the measures: mechanisms fixed, loss known, price shown here.

The first of many counts that pass a threshold: a question priced by how many are named, not by how many there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, assert_never

from obverse.accounting import zcdp
from obverse.catalog.model import Accounting
from obverse.core.errors import Refused, invariant
from obverse.core.loss import ApproxLoss, Composed, Loss, PureLoss, ZcdpLoss
from obverse.core.numbers import plain, sqrt_down
from obverse.core.units import Neighbours
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.exponential import Exponential
from obverse.mechanisms.key_threshold import DELTA_MIN, KeyThreshold
from obverse.mechanisms.sparse_vector import EXACT_MAX, SparseVector
from obverse.plan.expressions import AggregateRef, aggregates_in
from obverse.plan.measures import Measure
from obverse.plan.sensitivity import MeasuredPlan
from obverse.plan.stability.joint import independent
from obverse.plan.strategy.adaptive import Course
from obverse.plan.strategy.matrix import Strategy

LEVEL = 0.95
SCALE_MAX = Fraction(2) ** 46  # in released integers: what the samplers take without overflow
Noise = Additive | Exponential
MORE = Fraction(1, 16)  # of a share, for each further measure that an aggregate errs by
# a count's noise moves an average only as far as that is from the middle of its bounds
COUNTED = 2
OTHERWISE = 3


@dataclass(frozen=True, slots=True)
class Independent:
    """Each measure has a mechanism of its own; which groups exist is public."""

    mechanisms: tuple[Noise, ...]


@dataclass(frozen=True, slots=True)
class Thresholded:
    """Each measure has a mechanism of its own, and a group is released only if enough units are in it."""

    mechanisms: tuple[Noise, ...]
    threshold: KeyThreshold


@dataclass(frozen=True, slots=True)
class SparseVectorRun:
    """One run through the cells names some of them; no number is released."""

    mechanism: SparseVector


@dataclass(frozen=True, slots=True)
class MatrixStrategy:
    """Maps of the counts are measured in their place, each with a mechanism of its own."""

    strategy: Strategy
    mechanisms: tuple[Noise, ...]


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Measurements and selections, each of which may follow from earlier outputs, within the loss."""

    course: Course


PlanNoise = Independent | Thresholded | SparseVectorRun | MatrixStrategy | Adaptive


@dataclass(frozen=True, slots=True)
class Plan(MeasuredPlan):
    """A measured query with its noise: the price is that of the whole query."""

    noise: PlanNoise
    loss: Loss
    epsilon: Fraction
    delta: Fraction
    accounting: Accounting
    level: float = LEVEL
    bias: str = ""  # what is to be said of its error apart from noise, in words

    @property
    def mechanisms(self) -> tuple[Noise, ...]:
        """Those that add noise to what is measured, in order; none where a run or its steps draw their own."""
        match self.noise:
            case Independent(mechanisms) | Thresholded(mechanisms, _) | MatrixStrategy(_, mechanisms):
                return mechanisms
            case SparseVectorRun() | Adaptive():
                return ()
            case _:
                assert_never(self.noise)

    @property
    def threshold(self) -> KeyThreshold | None:
        """What selects the groups that are released; None where they are public."""
        return self.noise.threshold if isinstance(self.noise, Thresholded) else None

    @property
    def all_mechanisms(self) -> tuple[Noise | KeyThreshold | SparseVector, ...]:
        """Every mechanism that is known before anything is measured."""
        match self.noise:
            case Thresholded(mechanisms, threshold):
                return (*mechanisms, threshold)
            case SparseVectorRun(mechanism):
                return (mechanism,)
            case _:
                return self.mechanisms


def with_mechanisms(costed: Plan, mechanisms: tuple[Any, ...]) -> Plan:
    """The same plan with other mechanisms in place of its own: none at all, or weaker ones that a test must refute."""
    match costed.noise:
        case Independent() | Thresholded() | MatrixStrategy():
            return replace(costed, noise=replace(costed.noise, mechanisms=mechanisms))
        case SparseVectorRun() | Adaptive():
            return costed
        case _:
            assert_never(costed.noise)


def with_noise(
    measured: MeasuredPlan,
    noise: PlanNoise,
    loss: Loss,
    *,
    epsilon: Fraction,
    delta: Fraction,
    accounting: Accounting,
    level: float = LEVEL,
    bias: str = "",
) -> Plan:
    shared: dict[str, Any] = {one.name: getattr(measured, one.name) for one in fields(MeasuredPlan)}
    return Plan(
        **shared, noise=noise, loss=loss, epsilon=epsilon, delta=delta, accounting=accounting, level=level, bias=bias
    )


@dataclass(frozen=True, slots=True)
class Shares:
    """What each measure gets of the price, in shares, and how many there are: those of the sums, the others and the
    keys.
    """

    each: tuple[Fraction, ...]
    total: Fraction


def shares_of(annotated: MeasuredPlan, *, squared: bool) -> Shares:
    """An aggregate has one share, and MORE, for those of its measures that no simpler one has paid for; the keys have
    one.

    Where a unit cannot move all sums in full at once, which their joint norm tells, all have the same instead.
    """
    joint = annotated.joint
    plain = independent(tuple(m for m in annotated.measures if m.noised))
    each = _each(annotated) if joint == plain else (Fraction(1),) * len(annotated.measures)
    norm = joint.l2_squared if squared else joint.l1
    if joint == plain:
        norm = sum(
            (w * _reaches(m, squared=squared) for w, m in zip(each, annotated.measures) if m.noised), Fraction(0)
        )
    others = sum((w for w, m in zip(each, annotated.measures) if not m.noised), Fraction(0))
    return Shares(each, norm + others + annotated.setting.discovered)


def _each(annotated: MeasuredPlan) -> tuple[Fraction, ...]:
    found: dict[int, Fraction] = {}
    for serves in sorted(annotated.serves, key=len):
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
    annotated: MeasuredPlan, epsilon: Fraction, delta: Fraction, accounting: Accounting, part: Fraction = Fraction(1)
) -> Plan:
    """One price for the whole question, of which this plan has `part`: epsilon and delta are told whole.

    Claim:   the release of all measures together costs at most epsilon (pure), or the largest rho whose epsilon at
             delta is at most epsilon (zcdp), times the part; discovered keys add delta.
    Proof:   let W be the number of shares, so that one is worth e = epsilon / W. A sum i with w_i shares gets noise of
             scale s_i = linf_i / (w_i e). One unit moves the sums by c. Where all w_i are 1, sum |c_i| / linf_i is at
             most their joint norm N, so that their losses |c_i| / s_i add up to at most N e, and W counts N. Else each
             loses at most w_i e l1_i / linf_i, and W counts these. A tree's noise is scaled to its own L1 norm: its
             shares. A choice: `_choice`. Keys: KeyThreshold with one share. Losses add up (adaptively: measures of the
             keys that were released). For Gaussians the same with squares and rho.
    Assumes: the norms were derived by annotate.
    """
    invariant(0 < part <= 1, "a part of the price")
    discovered = annotated.setting.discovered
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
        raise Refused(
            "bad_parameter", "zcdp accounting prices a question at a delta above 0.", fix="Give --delta 1e-8."
        )
    return _concentrated(annotated, epsilon, delta, part)


def _pure(annotated: MeasuredPlan, epsilon: Fraction, delta: Fraction, part: Fraction) -> Plan:
    shares = shares_of(annotated, squared=False)
    one = part * epsilon / shares.total
    mechanisms = tuple(_laplace(m, annotated, one * w) for m, w in zip(annotated.measures, shares.each))
    if not annotated.setting.discovered:
        noise: PlanNoise = Independent(mechanisms)
        loss: Loss = PureLoss(part * epsilon)
    else:
        noise = Thresholded(mechanisms, _threshold(annotated, one, delta))
        loss = ApproxLoss(part * epsilon, delta)
    return with_noise(annotated, noise, loss, epsilon=epsilon, delta=delta, accounting="pure")


def _concentrated(annotated: MeasuredPlan, epsilon: Fraction, delta: Fraction, part: Fraction) -> Plan:
    shares = shares_of(annotated, squared=True)
    discovered = annotated.setting.discovered
    paid = delta / 2 if discovered else Fraction(0)  # half of delta turns rho into epsilon, the other half hides keys
    rho = part * zcdp.rho_for(epsilon, delta - paid)
    one = rho / shares.total
    mechanisms = tuple(_gaussian(m, annotated, one * w) for m, w in zip(annotated.measures, shares.each))
    noise: PlanNoise = Independent(mechanisms)
    loss: Loss = ZcdpLoss(rho)
    if discovered:
        noise = Thresholded(mechanisms, _threshold(annotated, _few_bits(sqrt_down(2 * one)), paid))
        # the keys' epsilon is within rho, whatever their share
        loss = Composed((loss, ApproxLoss(Fraction(0), paid)))
    return with_noise(annotated, noise, loss, epsilon=epsilon, delta=delta, accounting="zcdp")


def _laplace(measure: Measure, annotated: MeasuredPlan, share: Fraction) -> Noise:
    if measure.term.kind == "choice":
        return _choice(measure, annotated, _few_bits(share))
    reach = measure.proven.linf if measure.noised else measure.proven.l1
    _check((reach / share) ** 2)
    return DiscreteLaplace.for_epsilon(reach, share)


def _gaussian(measure: Measure, annotated: MeasuredPlan, share: Fraction) -> Noise:
    if measure.term.kind == "choice":
        return _choice(measure, annotated, _few_bits(sqrt_down(8 * share)))
    reach_squared = (measure.proven.linf if measure.noised else measure.proven.l2) ** 2
    _check(reach_squared / (2 * share))
    return DiscreteGaussian.for_rho(reach_squared, share)


def _monotone(annotated: MeasuredPlan) -> bool:
    return annotated.setting.neighbours is Neighbours.ADD_REMOVE


def _choice(measure: Measure, annotated: MeasuredPlan, share: Fraction) -> Exponential:
    """The exponential mechanism over a choice's scores, in every cell.

    Claim:   all cells' choices together cost at most `share`.
    Proof:   let C be the cap on a unit's total weight. Adding a unit raises the scores of cell g by between 0 and w_g,
             and removing it lowers them so, with sum of w_g at most C over all cells and grouping sets (times their
             number); with weights exp(e s / 2C) the log-ratio of a choice moves within a range of e w_g / 2C, which
             sums to e / 2: e = 2 share. Replacing lowers by w_g and raises by w'_g, ranges add up to e (C + C) / 2C = e
             = share. A range bounds the loss. Under zcdp a range r costs r^2 / 8, and squares of parts add up to at
             most the square of the sum.
    Assumes: the scores were weighted by Limit.
    """
    most = int(measure.proven.linf) * annotated.setting.sets
    return Exponential(most, 2 * share if _monotone(annotated) else share)


def _threshold(annotated: MeasuredPlan, share: Fraction, delta: Fraction) -> KeyThreshold:
    groups = annotated.root.child.child.groups
    least = annotated.question.least_units
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


FIRST_MAX = 1000


def series(
    annotated: MeasuredPlan, epsilon: Fraction, accounting: Accounting, above: Fraction, first: int, level: float
) -> Plan:
    """The plan that names the first counts at or above the threshold.

    Claim:   pure DP with epsilon, however long the list is.
    Proof:   SparseVector, over the cells' counts in their public order; each moves by at most the measure's linf, all
             in one direction when neighbours add or remove a unit.
    Assumes: one count, over public keys.
    """
    check_series(annotated, first)
    (measure,) = annotated.measures
    setting = annotated.setting
    if abs(above / measure.unit) > EXACT_MAX:
        raise Refused("bad_parameter", "--above is beyond every count.", fix="Write --above 100.")
    mechanism = SparseVector(
        math.ceil(measure.proven.linf),
        epsilon,
        math.ceil(above / measure.unit),
        first,
        monotone=setting.neighbours is Neighbours.ADD_REMOVE,
    )
    reach = mechanism.shortfall(setting.cells, level) * float(measure.unit)
    words = (
        f"with {100 * level:g} % every count that is named is at least {plain(above)} less {reach:.4g}, "
        f"and every one skipped before it at most {plain(above)} plus {reach:.4g}"
    )
    return with_noise(
        annotated,
        SparseVectorRun(mechanism),
        PureLoss(epsilon),
        epsilon=epsilon,
        delta=Fraction(0),
        accounting=accounting,
        level=level,
        bias=words,
    )


def check_series(annotated: MeasuredPlan, first: int) -> None:
    """One count over public keys, and outputs that show keys alone beside it."""
    question = annotated.question
    counts = [call.function for call in question.aggregates]
    keyed = question.keys and not annotated.setting.discovered and not question.sets
    plain_outputs = all(isinstance(o.expr, AggregateRef) or not aggregates_in(o.expr) for o in question.outputs)
    touched = question.having is not None or question.order or question.limit is not None or question.offset
    if counts != ["count"] or not keyed or not plain_outputs or touched:
        raise Refused(
            "bad_parameter",
            "--above goes through one COUNT by public keys, in their own order.",
            why="the price depends on the number of names only where each count is compared once, in a public order.",
            fix="SELECT key, COUNT(*) FROM table GROUP BY key, without HAVING, ORDER BY and LIMIT.",
        )
    if isinstance(first, bool) or not isinstance(first, int) or not 1 <= first <= FIRST_MAX:
        raise Refused("bad_parameter", f"--first takes a whole number from 1 to {FIRST_MAX}.", fix="Write --first 1.")
