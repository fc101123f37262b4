"""A strategy's noise: the price is split by weights that were chosen, the noise follows from norms that were proved."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from obverse.accounting import zcdp
from obverse.catalog.model import Accounting
from obverse.core.errors import Refused, invariant
from obverse.core.loss import Loss, PureLoss, ZcdpLoss
from obverse.core.units import Neighbours
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.pricing import Adaptive, MatrixStrategy, Plan, with_noise
from obverse.plan.relation import Cells
from obverse.plan.sensitivity import BoundedPlan, MeasuredPlan, annotate
from obverse.plan.strategy.adaptive import Course, Ground
from obverse.plan.strategy.matrix import RESULT_MAX, Block, Strategy

COUNTED_BITS = 34  # counts up to 2**34 are never cut, whatever is added up


def weigh(
    annotated: MeasuredPlan,
    strategy: Strategy,
    epsilon: Fraction,
    delta: Fraction,
    accounting: Accounting,
    part: Fraction = Fraction(1),
) -> Plan:
    """One price for all blocks together, of which they have `part`: epsilon and delta are told whole.

    Claim:   the release of all blocks costs epsilon (pure), or the largest rho whose epsilon at delta is at most
             epsilon, times the part.
    Proof:   block b has share w_b of the price and norm n_b by itself. Laplace noise of scale W k n_b / (w_b epsilon)
             loses epsilon w_b / (W k n_b) for each unit of the block's L1 move, and losses of independent noise add up:
             over all blocks at most epsilon, where k is the most that moves of a unit of weight one cost together at
             w_b / n_b each (Strategy.worst); k <= 1, since the shares add up to one. Gaussian noise with sigma^2 = W^2
             k n_b / (2 w_b rho) likewise, with squares and rho.
    Assumes: the plan counts rows over public cells, each unit limited to weight W in every grouping set.
    """
    counts(annotated)
    invariant(0 < part <= 1, "a part of the price")
    cells = annotated.root.public
    neighbours = annotated.setting.neighbours
    strategy.fits(cells)
    weight = unit_weight(annotated)
    pure = accounting == "pure"
    if pure:
        delta = Fraction(0)
    elif delta <= 0:
        raise Refused("bad_parameter", "zcdp accounting prices a release at a delta above 0.", fix="Give --delta 1e-8.")
    if pure:
        mechanisms = noise_of(strategy, cells, neighbours, part * epsilon, weight, squared=False)
        loss: Loss = PureLoss(part * epsilon)
    else:
        rho = part * zcdp.rho_for(epsilon, delta)
        mechanisms = noise_of(strategy, cells, neighbours, rho, weight, squared=True)
        loss = ZcdpLoss(rho)
    noise = MatrixStrategy(strategy, mechanisms)
    return with_noise(annotated, noise, loss, epsilon=epsilon, delta=delta, accounting=accounting)


def on_course(
    annotated: MeasuredPlan,
    course: Course,
    epsilon: Fraction,
    delta: Fraction,
    accounting: Accounting,
    part: Fraction = Fraction(1),
) -> Plan:
    """One price for all steps together, of which they have `part`: `walk` holds them to it, whatever they turn out
    to be.
    """
    counts(annotated)
    invariant(0 < part <= 1, "a part of the price")
    loss: Loss
    if accounting == "pure":
        delta = Fraction(0)
        loss = PureLoss(part * epsilon)
    elif delta > 0:
        loss = ZcdpLoss(part * zcdp.rho_for(epsilon, delta))
    else:
        raise Refused("bad_parameter", "zcdp accounting prices a release at a delta above 0.", fix="Give --delta 1e-8.")
    return with_noise(annotated, Adaptive(course), loss, epsilon=epsilon, delta=delta, accounting=accounting)


def ground_of(costed: Plan) -> Ground:
    """What the steps of a course cost by."""
    counts(costed)
    return Ground(costed.root.public, costed.setting.neighbours, unit_weight(costed), costed.accounting != "pure")


def priced_at(costed: Plan) -> Fraction:
    """What was charged: epsilon where losses are pure, else rho."""
    loss = costed.loss
    invariant(isinstance(loss, PureLoss if costed.accounting == "pure" else ZcdpLoss), "a loss that is known here")
    assert isinstance(loss, (PureLoss, ZcdpLoss))
    return loss.epsilon if isinstance(loss, PureLoss) else loss.rho


def noise_of(
    strategy: Strategy, cells: Cells, neighbours: Neighbours, price: Fraction, weight: int, *, squared: bool
) -> tuple[Additive, ...]:
    """Noise for each block, so that all of them cost the price: Gaussian for rho (squared), Laplace for epsilon."""
    norms = [block.norms(neighbours) for block in strategy.blocks]
    per = [share / (one.squares if squared else one.l1) for share, one in zip(strategy.shares, norms)]
    together = strategy.worst(cells, neighbours, per, squared=squared)
    if squared:
        return tuple(DiscreteGaussian.for_rho(weight**2 * together, one * price) for one in per)
    return tuple(DiscreteLaplace.for_epsilon(weight * together, one * price) for one in per)


def counts(annotated: MeasuredPlan) -> None:
    """What a strategy is a map of: one count of rows, over public cells."""
    plain = len(annotated.measures) == 1 and annotated.measures[0].term.kind == "count"
    invariant(plain and not annotated.setting.discovered, "a strategy maps counts of public cells")


def unit_weight(annotated: MeasuredPlan) -> int:
    """The most that one unit's counts add up to, in released integers, in each grouping set.

    Claim:   they do. Proof: a row adds one to one cell of each set; a unit is one row, or `cap` copies of one, or its
             rows have weights of `bits` fractional bits, rounded down, that add up to at most the cap (Limit by
             WEIGHTED).
    Assumes: the measure is a count.
    """
    (measure,) = annotated.measures
    invariant(measure.term.lo >= 0 and measure.term.hi <= 1, "a row counts once")
    return measure.cap << measure.bits


def roomy(limited: BoundedPlan, blocks: tuple[Block, ...]) -> MeasuredPlan:
    """Annotated, with as few fractional bits as leave room for COUNTED_BITS in every sum that the blocks take."""
    (measure,) = limited.root.child.measures
    room = RESULT_MAX.bit_length() - 1 - max(block.row_l1 for block in blocks).bit_length() - COUNTED_BITS
    if room < 0:
        raise Refused(
            "release_too_wide",
            "a table of this release has too many cells for exact sums of 64 bits.",
            fix="bin the columns more coarsely, or publish fewer columns in one table.",
        )
    coarser = replace(measure, bits=min(measure.bits, room))
    root = replace(limited.root, child=replace(limited.root.child, measures=(coarser,)))
    return annotate(replace(limited, root=root))


def entry_losses(costed: Plan) -> Fraction:
    """What all blocks' noise costs together, derived anew: epsilon, or rho."""
    assert isinstance(costed.noise, MatrixStrategy)
    strategy = costed.noise.strategy
    counts(costed)
    strategy.fits(costed.root.public)
    invariant(len(costed.mechanisms) == len(strategy.blocks), "noise for each block")
    pure = costed.accounting == "pure"
    per = []
    for mechanism in costed.mechanisms:
        if pure:
            invariant(isinstance(mechanism, DiscreteLaplace), "noise whose loss is known here")
            assert isinstance(mechanism, DiscreteLaplace)
            per.append(1 / mechanism.scale)
        else:
            invariant(isinstance(mechanism, DiscreteGaussian), "noise whose loss is known here")
            assert isinstance(mechanism, DiscreteGaussian)
            per.append(1 / (2 * mechanism.sigma_squared))
    weight = unit_weight(costed)
    found = strategy.worst(costed.root.public, costed.setting.neighbours, per, squared=not pure)
    return weight * found if pure else weight**2 * found
