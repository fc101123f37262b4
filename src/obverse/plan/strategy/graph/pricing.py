"""Graph kernels with their noise: one price for all of them, split by weights that were chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from obverse.accounting import zcdp
from obverse.catalog.model import Accounting
from obverse.core.engine import Columns
from obverse.core.errors import Refused, invariant
from obverse.core.loss import Loss, PureLoss, ZcdpLoss
from obverse.core.numbers import sqrt_down
from obverse.core.rng import Rng
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.ladder import Ladder
from obverse.plan.strategy.graph.network import GraphFacts, GraphKernel, graph_of
from obverse.plan.strategy.graph.registry import REACHES

Integers = NDArray[np.int64]


REACH_SHARE = Fraction(1, 4)  # of a ladder's price, for how far its first rung reaches: its error is known by it alone
STEPS = {"triangles": 1, "stars": 2}  # integers of a rung for each of its reach
Noise = Additive | Ladder


@dataclass(frozen=True, slots=True)
class Part:
    """One kernel, its share of the price, and its noise."""

    kernel: GraphKernel
    share: Fraction
    noise: Noise
    serves: str = ""  # the ladder whose reach it is, where it was asked for itself too


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """What a release measures of a network: the price is that of all parts together."""

    facts: GraphFacts
    parts: tuple[Part, ...]
    loss: Loss
    epsilon: Fraction
    delta: Fraction
    accounting: Accounting

    @property
    def promised(self) -> bool:
        """Whether some part holds under the degree promise only."""
        return any(one.kernel.promised(self.facts) for one in self.parts)

    def entries(self) -> int:
        return sum(one.kernel.entries(self.facts) for one in self.parts)


def weigh_graph(
    facts: GraphFacts,
    weights: Mapping[GraphKernel, Fraction],
    epsilon: Fraction,
    delta: Fraction,
    accounting: Accounting,
) -> GraphPlan:
    """One price for all kernels together.

    Claim:   the release of all of them costs epsilon (pure), or the largest rho whose epsilon at delta is at most
             epsilon.
    Proof:   shares add up to one, and losses add up: each kernel's noise is scaled by its own norm to its share of
             epsilon, or of rho. A ladder of bounded range e costs e, or e^2 / 8 of rho; of its share REACH_SHARE is for
             its reach. A reach that is asked for itself too is released once, with the larger of its two shares: to
             read it twice costs nothing.
    Assumes: the kernels' norms hold (their own proofs), where one is promised under its promise.
    """
    if accounting == "zcdp" and delta <= 0:
        raise Refused("bad_parameter", "zcdp accounting prices a release at a delta above 0.", fix="Give --delta 1e-8.")
    delta = delta if accounting == "zcdp" else Fraction(0)
    price = zcdp.rho_for(epsilon, delta) if accounting == "zcdp" else epsilon
    loss: Loss = ZcdpLoss(price) if accounting == "zcdp" else PureLoss(price)
    invariant(min(weights.values()) > 0, "every part has a share")
    measured, serves = _measured(facts, weights)
    total = sum(measured.values(), Fraction(0))
    parts: list[Part] = []
    for kernel, weight in measured.items():
        share = weight / total
        parts.append(Part(kernel, share, noise_of(kernel, facts, share * price, accounting), serves.get(kernel, "")))
    plan = GraphPlan(facts, tuple(parts), loss, epsilon, delta, accounting)
    verify_graph(plan)
    return plan


def _measured(
    facts: GraphFacts, weights: Mapping[GraphKernel, Fraction]
) -> tuple[dict[GraphKernel, Fraction], dict[GraphKernel, str]]:
    """Each kernel once, a ladder before its reach; and which ladder a reach serves that was asked for itself too."""
    ladders = {REACHES[kernel.name]: kernel for kernel in weights if kernel.norms(facts) is None}
    measured = dict[GraphKernel, Fraction]()
    for kernel, weight in weights.items():
        if kernel in ladders:
            continue  # beside its ladder
        measured[kernel] = weight
        if kernel.norms(facts) is None:
            reach = REACHES[kernel.name]
            measured[kernel] = weight * (1 - REACH_SHARE)
            measured[reach] = max(weight * REACH_SHARE, weights.get(reach, Fraction(0)))
    return measured, {reach: kernel.text for reach, kernel in ladders.items() if reach in weights}


def noise_of(kernel: GraphKernel, facts: GraphFacts, price: Fraction, accounting: Accounting) -> Noise:
    """A kernel's noise at this epsilon, or rho."""
    norms = kernel.norms(facts)
    if norms is None:
        epsilon = price if accounting == "pure" else sqrt_down(8 * price)
        return Ladder.for_epsilon(epsilon, max(facts.people - 2, 1), STEPS[kernel.name])
    if accounting == "pure":
        return DiscreteLaplace.for_epsilon(norms.l1, price)
    return DiscreteGaussian.for_rho(Fraction(norms.squares), price)


def part_loss(part: Part, facts: GraphFacts, accounting: Accounting) -> Fraction:
    """What a part's noise costs, derived anew from its kernel's norms: epsilon, or rho."""
    norms = part.kernel.norms(facts)
    noise = part.noise
    pure = accounting == "pure"
    if isinstance(noise, Ladder):
        invariant(norms is None and facts.unit == "edge", "a ladder is for what has no fixed bound")
        invariant(noise.step == STEPS[part.kernel.name] and noise.top >= facts.people - 2, "rungs that hold every move")
        return 2 / noise.scale if pure else (2 / noise.scale) ** 2 / 8
    invariant(norms is not None, "additive noise is for what has a fixed bound")
    assert norms is not None
    if pure and isinstance(noise, DiscreteLaplace):
        return norms.l1 / noise.scale
    invariant(isinstance(noise, DiscreteGaussian) and not pure, "noise whose loss is known here")
    assert isinstance(noise, DiscreteGaussian)
    return Fraction(norms.squares) / (2 * noise.sigma_squared)


def verify_graph(plan: GraphPlan) -> None:
    """Raise unless the noise, derived anew from the norms, costs at most the price."""
    spent = sum((part_loss(one, plan.facts, plan.accounting) for one in plan.parts), Fraction(0))
    pure = plan.accounting == "pure"
    invariant(isinstance(plan.loss, PureLoss if pure else ZcdpLoss), "a loss that is known here")
    paid = plan.loss.epsilon if isinstance(plan.loss, PureLoss) else getattr(plan.loss, "rho", Fraction(0))
    invariant(spent <= paid, "noise covers the price")
    invariant(plan.epsilon >= (paid if pure else zcdp.epsilon_of(paid, plan.delta)), "the price is that of the loss")


def released_parts(columns: Columns, plan: GraphPlan, rng: Rng) -> tuple[Integers, ...]:
    """Every kernel of the exact network, each with its own noise. Only `randomize` calls it, with what it has revealed.

    Claim:   a release of the plan's mechanisms.
    Proof:   a ladder gets its kernel and the exact reach of its first rung, whose own noisy release is a part of its
             own; all noise is independent.
    Assumes: the plan was verified.
    """
    graph = graph_of(columns, plan.facts)
    exact = {one.kernel.text: one.kernel.exact(graph, plan.facts) for one in plan.parts}
    found = []
    for one in plan.parts:
        values = exact[one.kernel.text]
        invariant(len(values) == one.kernel.entries(plan.facts), "an entry for each place")
        if isinstance(one.noise, Ladder):
            values = np.concatenate([values, exact[REACHES[one.kernel.name].text]])
        found.append(one.noise.sample(values, rng))
    return tuple(found)
