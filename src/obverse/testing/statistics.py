"""Whether two exact laws of outputs respect a stated loss: rational arithmetic, no samples.

Goodness of fit with a proven false-alarm rate: no asymptotics, so that 1e-9 means 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from obverse.core.loss import ApproxLoss, BoundedRangeLoss, Loss, PureLoss, ZcdpLoss
from obverse.mechanisms.enclosures import Enclosure, exp_plus

Samples = NDArray[np.int64]


def fits(samples: Samples, first: int, law: Sequence[float], *, false_alarm: float = 1e-9) -> bool:
    """Whether samples look like the law: law[i] is the probability of first + i, what is missing lies elsewhere.

    Claim:   a sample of the law fails with chance at most false_alarm.
    Proof:   each single value, each half-line, each remainder modulo 2, 4, 8 and "elsewhere" is a binomial event;
             Chernoff's bound says that one of probability p is met k times or further from p n with chance at most
             2 exp(-n KL(k/n, p)). The union bound over the events does the rest.
    Assumes: samples are independent; the law is accurate to 1e-12.
    """
    inside = samples[(samples >= first) & (samples < first + len(law))]
    counts = np.bincount(inside - first, minlength=len(law)).astype(np.float64)
    chances = np.asarray(law, dtype=np.float64)
    pairs = [np.stack((counts, chances)), np.cumsum((counts, chances), axis=1)]
    for modulus in (2, 4, 8):
        for r in range(min(modulus, len(law))):
            pairs.append(np.array([[counts[r::modulus].sum()], [chances[r::modulus].sum()]]))
    pairs.append(np.array([[len(samples) - len(inside)], [max(0.0, 1 - math.fsum(law))]]))
    met, expected = np.concatenate(pairs, axis=1)
    limit = math.log(2 * len(met) / false_alarm)
    return all(len(samples) * divergence(k / len(samples), p) <= limit for k, p in zip(met, expected))


def divergence(share: float, p: float) -> float:
    """KL(share, p) of two coins, forgiving 1e-12 in p."""
    low = max(0.0, p - 1e-12)
    high = min(1.0, p + 1e-12)
    p = min(max(share, low), high)
    total = 0.0
    for a, b in ((share, p), (1 - share, 1 - p)):
        if a > 0:
            total += math.inf if b <= 0 else a * math.log(a / b)
    return total


def largest_gap(ours: Samples, theirs: Samples) -> float:
    """The largest difference between two empirical distribution functions."""
    at = np.union1d(ours, theirs)
    one = np.searchsorted(np.sort(ours), at, side="right") / len(ours)
    other = np.searchsorted(np.sort(theirs), at, side="right") / len(theirs)
    return float(np.max(np.abs(one - other)))


def gap_limit(n: int, m: int, false_alarm: float = 1e-9) -> float:
    """What largest_gap of two samples of one law exceeds with at most this chance (Dvoretzky, Kiefer, Wolfowitz)."""
    each = math.log(4 / false_alarm) / 2
    return math.sqrt(each / n) + math.sqrt(each / m)


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
