"""The conformance suite of aggregates: no unit moves the measures further than claimed, and error bars cover the truth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from obverse.core.engine import Columns
from obverse.core.rng import Rng
from obverse.core.secret import Exact
from obverse.core.types import Type, Value
from obverse.plan.aggregates import BY_NAME
from obverse.plan.allocate import CostedPlan
from obverse.plan.annotate import AnnotatedPlan
from obverse.plan.expressions import Ref
from obverse.plan.finish import finish
from obverse.plan.measure import Term
from obverse.plan.randomize import randomize
from obverse.testing.identity import Identity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.int64]
    Floats = NDArray[np.float64]

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


@dataclass(frozen=True, slots=True)
class Simulated:
    """Many answers to one question on one set of exact measures: the truth, and what was answered each time."""

    truth: float
    value: Floats
    low: Floats
    high: Floats

    @property
    def covered(self) -> int:
        """How many intervals hold the truth (forgiving the last digits of doubles)."""
        slack = 1e-9 * max(1.0, abs(self.truth))
        return int(((self.low <= self.truth + slack) & (self.truth - slack <= self.high)).sum())

    @property
    def inside(self) -> bool:
        """Whether every answer lies within its own interval."""
        slack = 1e-9 * max(1.0, abs(self.truth))
        return bool(((self.low - slack <= self.value) & (self.value <= self.high + slack)).all())


def exact_measures(plan: AnnotatedPlan, values: Mapping[float, int]) -> tuple[int, ...]:
    """What the engine would add up for a table that holds each value that many times, by units below their caps."""
    found = []
    for measure in plan.measures:
        total = sum(times * (term_of(measure.term, value) or 0) for value, times in values.items())
        found.append(total << measure.bits)
    return tuple(found)


def simulate(costed: CostedPlan, exact: Sequence[int], trials: int, rng: Rng) -> Simulated:
    """Answer a question with one aggregate `trials` times at once: each trial is a cell with the same exact measures.

    The truth is the same plan without noise. The plan may be grouped; its keys are left out here.
    """
    import numpy as np

    def exactly(cells: int) -> Exact[Columns]:
        sums = {f"m{i}": np.full(cells, v, dtype=np.int64) for i, v in enumerate(exact)}
        return Exact({"k": np.arange(cells)} | sums)

    bare = _with_cells(replace(costed, mechanisms=tuple(Identity() for _ in costed.mechanisms)), 1)
    truth = finish(randomize(exactly(1), bare, rng), bare).rows[0][0]
    assert isinstance(truth, (int, float))
    wide = _with_cells(costed, trials)
    found = finish(randomize(exactly(trials), wide, rng), wide)
    ends = np.array([bars[0] for bars in found.intervals], dtype=float)
    values = np.array([row[0] for row in found.rows], dtype=float)
    return Simulated(float(truth), values, ends[:, 0], ends[:, 1])


def most_covered(costed: CostedPlan) -> float:
    """For an aggregate of one measure: what its interval may cover at most, being the mechanism's own plus one atom.

    Where weights left fractions, whole numbers are released, which widens it by up to one on either side.
    """
    (measure,), (mechanism,) = costed.measures, costed.mechanisms
    call = costed.annotated.limited.question.aggregates[0]
    whole = BY_NAME[call.function].type(call.argument) is Type.INTEGER
    reach = mechanism.interval(costed.level) + 1 + (1 << measure.bits if whole and measure.bits else 0)
    tail = float(mechanism.tail(reach)[0])
    return 1 - (tail or float(mechanism.tail(reach + 2)[1]))  # large Gaussians: the tails of both kinds interlace


def term_of(term: Term, value: Value) -> int | None:
    """The integer that a term makes of its argument's value; NULL stays NULL."""
    if value is None:
        return None
    if term.grid is None:
        return 1
    grid = term.grid
    assert isinstance(value, (int, float))
    clamped = min(max(value, grid.lo), grid.hi)
    whole = isinstance(grid.lo, int) and grid.factor == grid.divisor == 1.0
    number = (int(clamped) if whole else round(float(clamped) * grid.factor / grid.divisor)) - grid.centre
    if term.kind == "sum":
        return number
    return (number * number + ((1 << term.shift) >> 1)) >> term.shift


def _with_cells(costed: CostedPlan, cells: int) -> CostedPlan:
    limited = costed.annotated.limited
    outputs = tuple(o for o in limited.question.outputs if isinstance(o.expr, Ref) and o.expr.name == "agg0")
    question = replace(limited.question, keys=(), outputs=outputs)
    limited = replace(limited, question=question, setting=replace(limited.setting, cells=cells))
    return replace(costed, annotated=replace(costed.annotated, limited=limited))
