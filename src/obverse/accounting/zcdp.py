"""Zero-concentrated accounting: rho adds, deltas of thresholds add apart; conversions are rounded against us."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import assert_never

from obverse.accounting.directed import digits_down, digits_up, ln_down, ln_up
from obverse.accounting.pure import added, largest
from obverse.core.errors import Refused, invariant
from obverse.core.loss import ApproxLoss, BoundedRangeLoss, Composed, Loss, PureLoss, Repeated, ZcdpLoss
from obverse.core.numbers import sqrt_up
from obverse.core.units import Neighbours

_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 64


def total(loss: Loss) -> tuple[Fraction, Fraction]:
    """Exact (rho, delta) of a loss: delta-approximate rho-zCDP, which adds under adaptive choice.

    epsilon-DP is epsilon**2/2-zCDP (Bun and Steinke 2016, Prop. 1.4); epsilon-bounded range is epsilon**2/8
    (Cesar and Rogers 2020); (epsilon, delta)-DP is epsilon-DP except with probability delta.
    """
    match loss:
        case ZcdpLoss(rho):
            return rho, Fraction(0)
        case PureLoss(epsilon):
            return epsilon**2 / 2, Fraction(0)
        case BoundedRangeLoss(epsilon):
            return epsilon**2 / 8, Fraction(0)
        case ApproxLoss(epsilon, delta):
            return epsilon**2 / 2, delta
        case Repeated(inner, times):
            rho, delta = total(inner)
            return rho * times, delta * times
        case Composed(losses):
            return added(total(part) for part in losses)
        case _:
            assert_never(loss)


def parallel(losses: Iterable[Loss], neighbours: Neighbours) -> tuple[Fraction, Fraction]:
    """Exact (rho, delta) of losses over disjoint parts, as in `pure.parallel`."""
    return largest([total(loss) for loss in losses], neighbours)


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon such that rho-zCDP implies (epsilon, delta)-DP, rounded up.

    Claim:   Canonne, Kamath and Steinke 2020, Corollary 13: for every order 1 + t > 1,
             epsilon(t) = rho (1 + t) - ln(1 + 1/t) + (ln(1/delta) - ln(1 + t)) / t holds.
    Proof:   any t is sound, so t is searched in floating point and the formula evaluated upwards at that t;
             ln(delta) is convex in t for a fixed epsilon, so epsilon(t) has one valley and the search finds it.
    """
    _proper(rho, delta)
    if rho == 0:
        return Fraction(0)
    slope = float(rho)
    log_odds = float(ln_up(1 / delta))
    order = Fraction(_valley(lambda t: slope * (1 + t) - math.log1p(1 / t) + (log_odds - math.log1p(t)) / t))
    at_order = rho * (1 + order) - ln_down(1 + 1 / order) + (ln_up(1 / delta) - ln_down(1 + order)) / order
    return max(Fraction(0), digits_up(at_order))


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, rounded down, whose `epsilon_of` is at most epsilon."""
    _proper(epsilon, delta)
    goal = float(epsilon)
    log_odds = float(ln_up(1 / delta))

    def lost(t: float) -> float:
        return -(goal + math.log1p(1 / t) - (log_odds - math.log1p(t)) / t) / (1 + t)

    order = Fraction(_valley(lost))
    slack = ln_down(1 + 1 / order) - (ln_up(1 / delta) - ln_down(1 + order)) / order
    rho = max(Fraction(0), digits_down((epsilon + slack) / (1 + order)))
    while epsilon_of(rho, delta) > epsilon:
        rho = digits_down(rho * (1 - Fraction(1, 10**12)))
    return rho


def tail_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """What the loss itself exceeds with probability at most delta, rounded up (tail bound of Bun and Steinke 2016)."""
    _proper(rho, delta)
    return digits_up(rho + 2 * sqrt_up(rho * ln_up(1 / delta)))


def _valley(height: Callable[[float], float]) -> float:
    """Where a function of t > 0 with one valley is lowest: golden section over ln(t)."""
    low = -60.0
    high = 100.0
    left = high - _GOLDEN * (high - low)
    right = low + _GOLDEN * (high - low)
    at_left = height(math.exp(left))
    at_right = height(math.exp(right))
    for _ in range(_STEPS):
        if at_left <= at_right:
            high = right
            right = left
            at_right = at_left
            left = high - _GOLDEN * (high - low)
            at_left = height(math.exp(left))
        else:
            low = left
            left = right
            at_left = at_right
            right = low + _GOLDEN * (high - low)
            at_right = height(math.exp(right))
    return math.exp((low + high) / 2)


def _proper(amount: Fraction, delta: Fraction) -> None:
    invariant(amount >= 0, "a loss is never negative")
    if not 0 < delta < 1:
        raise Refused(
            "zcdp_needs_delta",
            "zCDP becomes an epsilon only at a delta between zero and one",
            why="a Gaussian-like loss has tails; no finite epsilon holds without an exception",
            fix='Declare a delta such as 1e-6 in [budget], or use accounting = "pure".',
        )
