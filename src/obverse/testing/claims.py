"""Whether two exact laws of outputs respect a stated loss: rational arithmetic, no samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from obverse.core.loss import ApproxLoss, BoundedRangeLoss, Loss, PureLoss, ZcdpLoss
from obverse.mechanisms.enclosures import Enclosure, exp_plus

SLACK = 1 + Fraction(1, 1 << 60)  # relative; mechanisms meet their claims with equality, which bounds cannot show
ORDERS = (2, 3, 5, 9)  # of the Renyi divergences that are compared


def claim_holds(loss: Loss, left: Sequence[Enclosure], right: Sequence[Enclosure]) -> bool:
    """Whether the two laws, given by the probabilities of the same outputs, are as close as the loss says.

    Outputs left out of the lists can hide a violation but never feign one, so the lists should hold nearly all mass.
    """
    both = ((left, right), (right, left))
    match loss:
        case PureLoss(epsilon):
            return all(_ratio_holds(epsilon, p, q) for p, q in both)
        case BoundedRangeLoss(epsilon):
            return all(_ratio_holds(epsilon, p, q) and _range_holds(epsilon, p, q) for p, q in both)
        case ZcdpLoss(rho):
            return all(_renyi_holds(rho, order, p, q) for p, q in both for order in ORDERS)
        case ApproxLoss(epsilon, delta):
            return all(_hockey_stick_holds(epsilon, delta, p, q) for p, q in both)
        case _:
            raise TypeError(f"no exact check is known for a loss of kind {loss.kind}")


def claimed_epsilon(loss: Loss, delta: float) -> float:
    """The epsilon that the loss promises at this delta."""
    match loss:
        case PureLoss(epsilon) | BoundedRangeLoss(epsilon):
            return float(epsilon)
        case ZcdpLoss(rho):
            return float(rho) + 2 * math.sqrt(rho * math.log(1 / delta))
        case ApproxLoss(epsilon, own) if own <= delta:
            return float(epsilon)
        case _:
            raise TypeError(f"no epsilon at delta {delta} is known for a loss of kind {loss.kind}")


def _ratio_holds(epsilon: Fraction, p: Sequence[Enclosure], q: Sequence[Enclosure]) -> bool:
    most = exp_plus(epsilon)[1] * SLACK
    return all(a[1] <= most * b[0] for a, b in zip(p, q))


def _range_holds(epsilon: Fraction, p: Sequence[Enclosure], q: Sequence[Enclosure]) -> bool:
    """The logarithms of all ratios lie within epsilon of each other."""
    ratios = [(a[0] / b[1], a[1] / b[0]) for a, b in zip(p, q)]
    return max(high for _, high in ratios) <= exp_plus(epsilon)[1] * SLACK * min(low for low, _ in ratios)


def _renyi_holds(rho: Fraction, order: int, p: Sequence[Enclosure], q: Sequence[Enclosure]) -> bool:
    """sum p**order / q**(order - 1) <= exp((order - 1) * order * rho)."""
    total = sum((a[1] ** order / b[0] ** (order - 1) for a, b in zip(p, q)), Fraction(0))
    return total <= exp_plus((order - 1) * order * rho)[1] * SLACK


def _hockey_stick_holds(epsilon: Fraction, delta: Fraction, p: Sequence[Enclosure], q: Sequence[Enclosure]) -> bool:
    """sum max(0, p - exp(epsilon) q) <= delta."""
    least = exp_plus(epsilon)[0]
    over = sum((max(Fraction(0), a[1] - least * b[0]) for a, b in zip(p, q)), Fraction(0))
    return over <= delta * SLACK + Fraction(1, 1 << 60)
