"""What a budget means in plain odds: how far a 50:50 prior about a person can move, at the very most.

What a loss about one unit is worth about several units that one person stands behind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from obverse.accounting.budget import cap_of
from obverse.accounting.directed import exp_down, exp_up
from obverse.accounting.zcdp import tail_epsilon
from obverse.core.errors import invariant
from obverse.core.ledger import Accounting, Budget, Spent
from obverse.core.numbers import up
from obverse.core.units import Neighbours

EXPONENT_MAX = 700.0
LIBRARY = Fraction(1, 2**40)  # how far an exponential may be below the exact one, relatively


def grouped(spent: Spent, units: int) -> Spent:
    """The loss about so many units at once.

    Claim:   a mechanism that keeps the loss about each unit keeps the returned one about any `units` of them together.
    Proof:   group privacy. Between two databases that differ in k units lie k - 1 others, each one unit from the next.
             For (epsilon, delta) the steps compose to k epsilon, and to the sum of e^(i epsilon) delta for i below k,
             which is at most k e^((k - 1) epsilon) delta; for rho they compose to k squared rho (Bun and Steinke 2016,
             proposition 27).
    Assumes: nothing; where delta is above 0 under rho, no bound on it is told but 1.
    """
    if units == 1:
        return spent
    pure = spent.accounting == "pure"
    exponent = (units - 1) * float(spent.amount)
    delta = Fraction(1 if spent.delta else 0)
    if pure and exponent < EXPONENT_MAX:
        delta = min(delta, units * spent.delta * Fraction(math.exp(exponent)) * (1 + LIBRARY))
    return Spent(spent.accounting, spent.amount * (units if pure else units**2), delta)


_CERTAIN_FROM = 700  # e**-700 is below the least double, so the belief rounds up to certainty


@dataclass(frozen=True, slots=True)
class Belief:
    """The most that an attacker may come to believe, and the probability that even this is exceeded; rounded up."""

    taking_part: float
    taking_part_except: float
    value: float
    value_except: float


def posterior(epsilon: Fraction) -> float:
    """Where a 50:50 prior moves to under a loss of epsilon: e**epsilon / (1 + e**epsilon), rounded up."""
    if epsilon > _CERTAIN_FROM:
        return 1.0
    return min(1.0, up(1 / (1 + exp_down(-epsilon))))


def belief(budget: Budget, accounting: Accounting, neighbours: Neighbours, people: int = 1) -> Belief:
    """What the whole budget allows, about `people` related persons together.

    Claim:   whoever held even odds about them ends with at most these, except with the stated probability.
    Proof:   persons are changed one at a time. `steps` changes cost steps * epsilon (zcdp: steps**2 * rho), and an
             exception of a later step is e**epsilon likelier seen from an earlier one. A value under add-remove
             takes two steps a person (out, and in again changed), under replace one. Under zcdp (epsilon, delta)
             does not bound the loss itself, so its tail bound is used, at the half of delta set aside for it.
    """
    invariant(people >= 1, "a belief is about at least one person")
    steps = people if neighbours is Neighbours.REPLACE else 2 * people
    return Belief(
        taking_part=posterior(_loss(budget, accounting, people)),
        taking_part_except=_exception(budget, accounting, people),
        value=posterior(_loss(budget, accounting, steps)),
        value_except=_exception(budget, accounting, steps),
    )


def _loss(budget: Budget, accounting: Accounting, steps: int) -> Fraction:
    match accounting:
        case "pure":
            return steps * budget.epsilon
        case "zcdp":
            return tail_epsilon(steps**2 * cap_of(budget, "zcdp").amount, budget.delta / 2)
        case _:
            assert_never(accounting)


def _exception(budget: Budget, accounting: Accounting, steps: int) -> float:
    """delta (1 + e**epsilon + ... + e**((steps - 1) epsilon)), at most one."""
    if budget.delta == 0:
        return 0.0
    epsilon = _loss(budget, accounting, 1)
    if steps > 1 and (steps - 1) * epsilon > _CERTAIN_FROM:
        return 1.0
    return min(1.0, up(budget.delta * sum(exp_up(step * epsilon) if step else Fraction(1) for step in range(steps))))
