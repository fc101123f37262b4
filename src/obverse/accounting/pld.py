"""Tight (epsilon, delta) of questions fixed in advance, by privacy loss distributions; needs the extra `[pld]`.

Not for a running history: the guarantee of a budget is its filter's cap. A batch that is planned as a whole is one
question, and is charged as the one (epsilon, delta) computed here.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, assert_never

from obverse.accounting import pure
from obverse.accounting.directed import digits_up, exp_up
from obverse.core.errors import Refused, invariant
from obverse.core.loss import ApproxLoss, BoundedRangeLoss, Composed, Loss, PureLoss, Repeated, ZcdpLoss
from obverse.core.numbers import down, up

LATTICE_MOST = 2000  # steps of a discrete Laplace before it is coarsened
SIGMA_MOST = 100_000
FLOAT_SLACK = Fraction(1, 10**13)  # of delta: what convolving in doubles may have lost


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceNoise:
    """Integers with L1 sensitivity `sensitivity`, each with discrete Laplace noise of the given scale.

    Claim:   the pair (noise + sensitivity, noise) in one dimension dominates every shift of that L1 norm.
    Proof:   the likelihood ratio of a shift (s, t) is that of s + t at y1 + y2, where yi is the output clamped to
             [0, shift]. Shifting one number by s + t has more mass on both ends of that lattice and less on every
             inner point, at equal mean: a mean-preserving spread, so it dominates. The same step shows that a
             lattice of m times fewer, m times longer steps dominates the finer one.
    """

    sensitivity: int
    scale: Fraction

    def __post_init__(self) -> None:
        invariant(self.sensitivity >= 1 and self.scale > 0, "noise needs a positive sensitivity and scale")


@dataclass(frozen=True, slots=True)
class DiscreteGaussianNoise:
    """One integer that moves by at most `sensitivity`, with discrete Gaussian noise; k integers are k of these."""

    sensitivity: int
    sigma: Fraction

    def __post_init__(self) -> None:
        invariant(self.sensitivity >= 1 and self.sigma > 0, "noise needs a positive sensitivity and scale")


Described = DiscreteLaplaceNoise | DiscreteGaussianNoise | Loss
"""What one mechanism of the batch is: its noise, where that is tighter, or just its stated loss."""


def tight(described: Sequence[Described], delta: Fraction) -> ApproxLoss:
    """All of these together as one (epsilon, delta): pessimistic, rounded up, never above plain addition."""
    plainly = _plain_sum(described)
    if delta <= FLOAT_SLACK:
        if plainly is None or plainly.delta > delta:
            raise _no_finite_epsilon()
        return ApproxLoss(plainly.epsilon, delta)
    library = _library()
    whole = library.privacy_loss_distribution.identity()
    for part in described:
        whole = _with_part(whole, part, library)
    epsilon = whole.get_epsilon_for_delta(down(delta - FLOAT_SLACK))
    if epsilon == float("inf"):
        raise _no_finite_epsilon()
    exact = digits_up(Fraction(up(Fraction(epsilon) * (1 + Fraction(1, 10**9)))), 9)
    if plainly is not None and plainly.delta <= delta:
        exact = min(exact, plainly.epsilon)
    return ApproxLoss(exact, delta)


def certain(described: Sequence[Described], delta: Fraction) -> ApproxLoss:
    """All of these together as one epsilon that the loss itself exceeds with probability at most delta.

    Claim:   P[loss > epsilon] <= delta, so it is (epsilon, delta)-DP, it adds up with others of its kind, and what an
             attacker may believe under it holds except with probability delta.
    Proof:   a tight (e, d) means E[(1 - exp(e - loss))+] <= d, and a loss above e + t adds 1 - exp(-t) to that, so
             P[loss > e + t] <= d / (1 - exp(-t)). The best of a few t is taken.
    """
    return _certain(tuple(described), delta)


@functools.lru_cache(maxsize=64)  # it is asked for twice: by whoever debits it, and by the door, which compares
def _certain(described: tuple[Described, ...], delta: Fraction) -> ApproxLoss:
    found = []
    for stretch in (Fraction(1, 50), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2)):
        inner = delta * (1 - exp_up(-stretch))
        found.append(tight(described, inner).epsilon + stretch)
    return ApproxLoss(min(found), delta)


def _with_part(whole: Any, part: Described, library: Any) -> Any:
    match part:
        case Composed(losses):
            for loss in losses:
                whole = _with_part(whole, loss, library)
            return whole
        case Repeated(inner, times):
            if times == 0:
                return whole
            once = _with_part(library.privacy_loss_distribution.identity(), inner, library)
            return whole.compose(once.self_compose(times))
        case _:
            return whole.compose(_distribution(part, library))


def _distribution(part: Described, library: Any) -> Any:
    """A distribution that dominates one mechanism's privacy loss."""
    make = library.privacy_loss_distribution
    match part:
        case DiscreteLaplaceNoise(sensitivity, scale):
            step = -(-sensitivity // LATTICE_MOST)
            return make.from_discrete_laplace_mechanism(up(step / scale), -(-sensitivity // step))
        case DiscreteGaussianNoise(sensitivity, sigma):
            if sigma > SIGMA_MOST:
                raise Refused(
                    "too_fine_for_pld",
                    "the Gaussian noise spans too many steps of its grid to be tabulated",
                    fix="Use a coarser grid, or ask without a batch.",
                )
            return make.from_discrete_gaussian_mechanism(down(sigma), sensitivity)
        case PureLoss(epsilon) | BoundedRangeLoss(epsilon):
            return make.from_privacy_parameters(library.common.DifferentialPrivacyParameters(up(epsilon), 0))
        case ApproxLoss(epsilon, delta):
            return make.from_privacy_parameters(library.common.DifferentialPrivacyParameters(up(epsilon), up(delta)))
        case ZcdpLoss():
            raise Refused(
                "wrong_accounting",
                "a loss stated only in zCDP has no known loss distribution",
                fix="Describe the mechanism by its noise, or ask without a batch.",
            )
        case Repeated() | Composed():
            raise AssertionError("taken apart before")
        case _:
            assert_never(part)


def _plain_sum(described: Sequence[Described]) -> ApproxLoss | None:
    """Basic composition, exact; None when some part has no epsilon at delta zero."""
    losses: list[Loss] = []
    for part in described:
        match part:
            case DiscreteLaplaceNoise(sensitivity, scale):
                losses.append(PureLoss(sensitivity / scale))
            case DiscreteGaussianNoise():
                return None
            case _:
                losses.append(part)
    try:
        epsilon, delta = pure.total(Composed(tuple(losses)))
    except Refused:
        return None
    return ApproxLoss(epsilon, delta) if delta < 1 else None


def _library() -> Any:
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError:
        raise Refused(
            "missing_extra",
            "tight composition needs the package dp-accounting, which is not installed",
            fix="Run: pip install 'obverse[pld]'",
        ) from None

    return SimpleNamespace(common=common, privacy_loss_distribution=privacy_loss_distribution)


def _no_finite_epsilon() -> Refused:
    return Refused(
        "delta_too_small",
        "at this delta the batch has no finite epsilon",
        why="its mechanisms themselves fail with a larger probability than the delta asked for",
        fix="Give the batch a larger delta.",
    )
