"""Pure accounting: epsilons add, deltas add, in exact fractions."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import assert_never

from obverse.core.errors import Refused
from obverse.core.loss import ApproxLoss, BoundedRangeLoss, Composed, Loss, PureLoss, Repeated, ZcdpLoss
from obverse.core.units import Neighbours


def total(loss: Loss) -> tuple[Fraction, Fraction]:
    """Exact (epsilon, delta) of a loss under basic composition, which holds for adaptive choices too."""
    match loss:
        case PureLoss(epsilon) | BoundedRangeLoss(epsilon):
            return epsilon, Fraction(0)
        case ApproxLoss(epsilon, delta):
            return epsilon, delta
        case Repeated(inner, times):
            epsilon, delta = total(inner)
            return epsilon * times, delta * times
        case Composed(losses):
            return added(total(part) for part in losses)
        case ZcdpLoss():
            raise Refused(
                "wrong_accounting",
                "a loss stated in zCDP has no epsilon of its own, so a pure budget cannot count it",
                why='this ledger was made with accounting = "pure"',
                fix='Use a mechanism with a pure loss (Laplace), or a dataset whose accounting is "zcdp".',
            )
        case _:
            assert_never(loss)


def parallel(losses: Iterable[Loss], neighbours: Neighbours) -> tuple[Fraction, Fraction]:
    """Exact (epsilon, delta) of losses over disjoint parts, each unit being in one part.

    One unit added or removed touches one part: the maximum. One replaced by another may leave a part and
    enter another: the sum of the two largest.
    """
    return largest([total(loss) for loss in losses], neighbours)


def added(parts: Iterable[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    """Pairs of exact numbers added up; balanced, so that long lists stay fast."""
    level = list(parts)
    while len(level) > 1:
        pairs = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + ([level[-1]] if len(level) % 2 else [])
    return level[0] if level else (Fraction(0), Fraction(0))


def largest(parts: list[tuple[Fraction, Fraction]], neighbours: Neighbours) -> tuple[Fraction, Fraction]:
    """How much of disjoint parts one change of the database can reach, in each of the two numbers."""
    touched = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    amounts = sorted((amount for amount, _ in parts), reverse=True)
    deltas = sorted((delta for _, delta in parts), reverse=True)
    return sum(amounts[:touched], Fraction(0)), sum(deltas[:touched], Fraction(0))
