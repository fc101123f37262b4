"""The conformance suite of aggregates, first half: no unit moves the measures further than the plan claims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from obverse.plan.annotate import AnnotatedPlan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.int64]

SQUARED = ("l2", "joint l2")


@dataclass(frozen=True, slots=True)
class Claimed:
    """One norm that a plan claims for one measure, or for all of them together (measure -1), with what was reached of it.

    share: the reached part of the claim, squared for L2 norms, so that it is exact.
    """

    measure: int
    norm: str
    share: Fraction

    @property
    def ratio(self) -> float:
        return math.sqrt(self.share) if self.norm in SQUARED else float(self.share)

    def holds(self, factor: Fraction = Fraction(1)) -> bool:
        """Whether the claim would stand if it were cut to this part of it."""
        return self.share <= (factor**2 if self.norm in SQUARED else factor)


def reached(plan: AnnotatedPlan, left: Sequence[Vector], right: Sequence[Vector]) -> tuple[Claimed, ...]:
    """What two neighbours, given by the exact vectors of all measures, reach of each claim of the plan.

    The joint norms divide each measure by its own linf, as the noise is: sum |diff_i| / linf_i and sum diff_i^2 / linf_i^2.
    """
    found: list[Claimed] = []
    joint_l1 = joint_l2 = Fraction(0)
    for i, measure in enumerate(plan.measures):
        claim = measure.proven
        moves = [abs(int(a) - int(b)) for a, b in zip(left[i], right[i]) if a != b]
        total, squares, largest = sum(moves), sum(m * m for m in moves), max(moves, default=0)
        joint_l1 += total / claim.linf
        joint_l2 += squares / claim.linf**2
        found += [
            Claimed(i, "l0", Fraction(len(moves), max(claim.l0, 1))),
            Claimed(i, "l1", total / claim.l1),
            Claimed(i, "l2", squares / claim.l2**2),
            Claimed(i, "linf", largest / claim.linf),
        ]
    return (
        *found,
        Claimed(-1, "joint l1", joint_l1 / plan.joint.l1),
        Claimed(-1, "joint l2", joint_l2 / plan.joint.l2_squared),
    )


def furthest(reaches: Sequence[tuple[Claimed, ...]]) -> tuple[Claimed, ...]:
    """Of many pairs of neighbours of one plan, the largest share of each claim."""
    return tuple(max(one, key=lambda claimed: claimed.share) for one in zip(*reaches))
