"""The conformance suite of aggregates: no unit moves the measures further than claimed, and error bars cover the
truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.answers.answer import Bar
from obverse.attack.lower_bound.binomial import lower, upper
from obverse.core.engine import Columns
from obverse.core.rng import Rng
from obverse.core.secret import Exact
from obverse.core.types import Type, Value
from obverse.mechanisms.base import Additive
from obverse.plan.aggregates import BY_NAME
from obverse.plan.emit.sums import long_form
from obverse.plan.expressions import AggregateRef, as_number, domain
from obverse.plan.measures import Grid, Measure, Term
from obverse.plan.pricing import Plan, with_mechanisms
from obverse.plan.release.noise import randomize
from obverse.plan.release.postprocess import finish
from obverse.plan.sensitivity import MeasuredPlan
from obverse.plan.stability.joint import value_on
from obverse.testing.noiseless import Identity

Vector = NDArray[np.int64]
Floats = NDArray[np.float64]


SQUARED = ("l2", "joint l2")
FALSE_ALARM = 1e-6  # of each binomial test
DERIVED_MOST = 0.995


@dataclass(frozen=True, slots=True)
class Claimed:
    """One norm that a plan claims for one measure, or for all of them together (measure -1), with what was reached of
    it.

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


def reached(plan: MeasuredPlan, left: Sequence[Vector], right: Sequence[Vector]) -> tuple[Claimed, ...]:
    """What two neighbours, given by the exact vectors of all measures, reach of each claim of the plan.

    The joint norms divide each measure by its own linf, as the noise is: sum |diff_i| / linf_i and sum diff_i^2 /
    linf_i^2.
    """
    found: list[Claimed] = []
    joint_l1 = joint_l2 = Fraction(0)
    for i, measure in enumerate(plan.measures):
        claim = measure.proven
        moves = [abs(int(a) - int(b)) for a, b in zip(left[i], right[i]) if a != b]
        total = sum(moves)
        squares = sum(m * m for m in moves)
        largest = max(moves, default=0)
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
    """Many answers to one question on one set of exact measures: the truth, and what was answered each time.

    Dates count as their numbers; ends are NaN where there is no interval.
    """

    truth: float
    value: Floats
    low: Floats
    high: Floats

    @property
    def slack(self) -> float:
        """The last digits of doubles are forgiven."""
        return 1e-9 * max(1.0, abs(self.truth))

    @property
    def covered(self) -> int:
        """How many intervals hold the truth."""
        return int(((self.low <= self.truth + self.slack) & (self.truth - self.slack <= self.high)).sum())

    @property
    def inside(self) -> bool:
        """Whether every answer lies within its own interval."""
        return bool(((self.low - self.slack <= self.value) & (self.value <= self.high + self.slack)).all())

    @property
    def width(self) -> float:
        """The interval's, as a median."""
        return float(np.median(self.high - self.low))


Table = Sequence[tuple[Mapping[str, Value], int]]  # rows, and how often each stands there
Content = Mapping[int, int]  # the integer at each leaf; a measure that is no tree and no choice has the leaf 0 alone


def exact_measures(plan: MeasuredPlan, table: Table, weight: Fraction = Fraction(1)) -> tuple[Content, ...]:
    """What the engine would find in one cell, for each measure: rows of as many units, all of the same weight."""
    return tuple(_content(measure, table, weight) for measure in plan.measures)


def _content(measure: Measure, table: Table, weight: Fraction) -> Content:
    term = measure.term
    found: dict[int, int] = {}
    seen: set[Value] = set()
    for row, times in table:
        value = 1 if term.expr is None else value_on(term.expr, dict(row))
        other = None if term.other is None else value_on(term.other, dict(row))
        number = term_of(term, value, other)
        if number is None or times == 0:
            continue
        if term.kind == "distinct":
            times = 1 if value not in seen else 0
        seen.add(value)
        leaf, share = (number, 1) if term.leaves is not None else (0, number)
        found[leaf] = found.get(leaf, 0) + times * share
    return {leaf: int((total << measure.bits) * (weight if measure.bits else 1)) for leaf, total in found.items()}


def simulate(costed: Plan, exact: Sequence[Content], trials: int, rng: Rng) -> Simulated:
    """Answer a question with one aggregate `trials` times at once: each trial is a cell with the same exact measures.

    The truth is the same plan without noise. The plan may be grouped; its keys are left out here.
    """
    (truth,), _ = _answers(without_noise(costed), exact, 1, rng)
    value, bars = _answers(costed, exact, trials, rng)
    low, high = (_numbers([np.nan if bar is None else bar[end] for bar in bars]) for end in (0, 1))
    return Simulated(float(_numbers([truth])[0]), _numbers(value), low, high)


def without_noise(costed: Plan) -> Plan:
    """The plan with the identity in place of each mechanism."""
    return with_mechanisms(costed, tuple(Identity() for _ in costed.mechanisms))


def _answers(costed: Plan, exact: Sequence[Content], cells: int, rng: Rng) -> tuple[list[Value], list[Bar]]:
    wide = _with_cells(costed, cells)
    found = finish(randomize(Exact(columns_of(costed, exact, cells)), wide, rng), wide)
    return [row[0] for row in found.rows], [bars[0] for bars in found.intervals]


def columns_of(costed: Plan, exact: Sequence[Content], cells: int) -> Columns:
    """As the engine hands it over, for so many cells alike: one row per cell, or the long form where the plan needs
    it.
    """
    each = np.arange(cells, dtype=np.int64)
    if not long_form(costed.root):
        return {"k": each} | {
            f"m{i}": np.full(cells, content.get(0, 0), dtype=np.int64) for i, content in enumerate(exact)
        }
    rows = np.array([(i, leaf, m) for i, content in enumerate(exact) for leaf, m in content.items()], dtype=np.int64)
    part, leaf, m = np.tile(rows.reshape(-1, 3), (cells, 1)).T
    return {"part": part, "id": np.zeros_like(part), "k": np.repeat(each, len(rows)), "leaf": leaf, "m": m}


def _numbers(values: list[Value]) -> Floats:
    plain = isinstance(values[0], (int, float))
    return np.array(values if plain else [as_number(value) for value in values], dtype=np.float64)


def most_covered(costed: Plan) -> float:
    """For an aggregate of one measure: what its interval may cover at most, being the mechanism's own plus one atom.

    Where weights left fractions, whole numbers are released, which widens it by up to one on either side.
    """
    (measure,) = costed.measures
    (mechanism,) = costed.mechanisms
    assert isinstance(mechanism, Additive)
    call = costed.question.aggregates[0]
    whole = BY_NAME[call.function].type(call) is Type.INTEGER
    reach = mechanism.interval(costed.level) + 1 + (1 << measure.bits if whole and measure.bits else 0)
    tail = float(mechanism.tail(reach)[0])
    return 1 - (tail or float(mechanism.tail(reach + 2)[1]))  # large Gaussians: the tails of both kinds interlace


def informative(costed: Plan, units: int) -> bool:
    """Whether the count's noise is a small part of the count, and not a matter of one or two atoms."""
    mechanism = costed.mechanisms[0]
    unit = float(costed.measures[0].unit)
    assert isinstance(mechanism, Additive)
    return float(mechanism.interval(costed.level)) * unit < units / 15 and mechanism.stddev() * unit >= 2


def check_coverage(costed: Plan, found: Simulated, units: int, where: str) -> None:
    """AssertionError where answers lie outside their intervals, or intervals hold the truth less often than they say.

    Those of one noised measure must not hold it more often than its noise forces them to, those of a mean or a variance
    not much more often.
    """
    call = costed.question.aggregates[0]
    trials = len(found.value)
    covered = found.covered
    told = f"{costed.accounting} at {float(costed.epsilon)}, {call.function}, {where}: covers {covered / trials}"
    assert found.inside, f"{told}: an answer lies outside its own interval"
    assert upper(covered, trials, FALSE_ALARM) >= costed.level, told
    if len(costed.measures) == 1 and costed.measures[0].noised:
        assert lower(covered, trials, FALSE_ALARM) <= most_covered(costed), (
            f"{told}, at most {most_covered(costed)} is needed"
        )
    elif call.function.startswith(("avg", "var", "stddev")) and informative(costed, units):
        assert lower(covered, trials, FALSE_ALARM) <= DERIVED_MOST, f"{told}, its bars are too wide"


def plainly(name: str, y: Floats, x: Floats, q: float) -> float:
    """An aggregate of plain numbers by its textbook formula."""
    formulas: dict[str, Callable[[], Any]] = {
        "count": lambda: len(y), "count_units": lambda: len(y), "regr_count": lambda: len(y),
        "count_distinct": lambda: len(set(y)), "sum": lambda: y.sum(), "avg": lambda: y.mean(),
        "var_pop": lambda: y.var(), "var_samp": lambda: y.var(ddof=1),
        "stddev_pop": lambda: y.std(), "stddev_samp": lambda: y.std(ddof=1),
        "covar_pop": lambda: np.cov(x, y, ddof=0)[0, 1], "covar_samp": lambda: np.cov(x, y)[0, 1],
        "corr": lambda: np.corrcoef(x, y)[0, 1], "regr_r2": lambda: np.corrcoef(x, y)[0, 1] ** 2,
        "regr_slope": lambda: np.polyfit(x, y, 1)[0], "regr_intercept": lambda: np.polyfit(x, y, 1)[1],
        "median": lambda: np.median(y), "min": lambda: y.min(), "max": lambda: y.max(),
        "quantile_cont": lambda: np.quantile(y, q), "percentile_disc": lambda: np.quantile(y, q, method="inverted_cdf"),
        "mode": lambda: np.bincount(y.astype(int)).argmax(),
    }  # fmt: skip
    return float(formulas[name]())


def term_of(term: Term, value: Value, other: Value = None) -> int | None:
    """The integer that a term makes of its argument's value, and of the second one's; NULL stays NULL."""
    if value is None or (term.other is not None and other is None):
        return None
    match term.kind:
        case "tree":
            return _leaf(term, value)
        case "choice":
            assert term.expr is not None
            return (domain(term.expr.facts) or ()).index(value)
        case "count" | "distinct" | "units":
            return 1
    number = _on_grid(term.grid, value)
    if term.kind == "sum":
        return number
    product = number * (number if term.other is None else _on_grid(term.other_grid, other))
    size = (abs(product) + ((1 << term.shift) >> 1)) >> term.shift
    return -size if product < 0 else size


def _on_grid(grid: Grid | None, value: Value) -> int:
    assert grid is not None
    assert isinstance(value, (int, float))
    clamped = min(max(value, grid.lo), grid.hi)
    whole = isinstance(grid.lo, int) and grid.factor == grid.divisor == 1.0
    return (int(clamped) if whole else round(float(clamped) * grid.factor / grid.divisor)) - grid.centre


def _leaf(term: Term, value: Value) -> int:
    assert term.leaves is not None
    leaves = term.leaves
    number = as_number(value)
    assert number is not None
    if isinstance(value, float) or leaves.step != 1:
        number = Fraction(round(float(number) * float(leaves.step.denominator) / float(leaves.step.numerator)))
    return min(max((int(number) - leaves.first) >> leaves.shift, 0), leaves.count - 1)


def _with_cells(costed: Plan, cells: int) -> Plan:
    outputs = tuple(o for o in costed.question.outputs if isinstance(o.expr, AggregateRef) and o.expr.index == 0)
    question = replace(costed.question, keys=(), outputs=outputs)
    root = replace(costed.root, child=replace(costed.root.child, keys=(), sets=()))
    return replace(costed, question=question, root=root, setting=replace(costed.setting, cells=cells))
