"""Order statistics and choices of each cell: what a tree or a vector of scores releases for the aggregates that it serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.core.errors import invariant
from obverse.core.rng import Rng
from obverse.mechanisms.base import Additive
from obverse.plan.aggregates.base import Places
from obverse.plan.aggregates.mode import SCORES_MAX
from obverse.plan.allocate import CostedPlan, Noise
from obverse.plan.expressions import refs
from obverse.plan.measures import Measure
from obverse.plan.release.quantile_tree import NoisyTree, Quantiles, extreme, percentile_cont, percentile_disc

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Leaves:
    """Exact weights per cell and leaf: seen by nobody but mechanisms."""

    cell: Integers
    leaf: Integers
    weight: Integers


@dataclass(frozen=True, slots=True)
class Asked:
    """One aggregate that a tree or a choice serves: its place in the question, what it is, and its level."""

    place: int
    function: str
    q: float
    level: float


def asked_of(costed: CostedPlan, measure: int) -> tuple[Asked, ...]:
    """The aggregates that the measure serves, each at the level that its outputs need."""
    limited = costed.annotated.limited
    found = []
    for place, (call, serves) in enumerate(zip(limited.question.aggregates, limited.serves)):
        if measure in serves:
            q = float(call.parameter) if isinstance(call.parameter, (int, float)) else 0.5
            found.append(Asked(place, call.function, q, level_of(costed, place)))
    return tuple(found)


def level_of(costed: CostedPlan, place: int) -> float:
    """An output of n aggregates holds when each of them holds at 1 - (1 - level) / n."""
    most = 1
    for output in costed.annotated.limited.question.outputs:
        names = {ref.name for ref in refs(output.expr) if ref.name.startswith("agg")}
        if f"agg{place}" in names:
            most = max(most, len(names))
    return 1 - (1 - costed.level) / most


def released_places(
    leaves: Leaves, cells: int, measure: Measure, mechanism: Noise, asked: tuple[Asked, ...], rng: Rng
) -> dict[int, Places]:
    """Places of every aggregate that the measure serves."""

    assert measure.term.leaves is not None
    if measure.term.kind == "choice":
        return dict.fromkeys((one.place for one in asked), _chosen(leaves, cells, measure, mechanism, rng))
    invariant(isinstance(mechanism, Additive), "a tree gets additive noise")
    assert isinstance(mechanism, Additive)
    shape = measure.term.leaves.branching, measure.term.leaves.height
    tree = NoisyTree(cells, *shape, leaves.cell, leaves.leaf, leaves.weight, mechanism, rng)
    last = measure.term.leaves.count - 1
    return {one.place: _within(_statistic(tree, one, 1 << measure.bits), last) for one in asked}


def _statistic(tree: NoisyTree, asked: Asked, one: int) -> Quantiles:
    match asked.function:
        case "min" | "max":
            return extreme(tree, "min" if asked.function == "min" else "max", asked.level)
        case "percentile_disc":
            return percentile_disc(tree, [asked.q], asked.level)
        case _:
            return percentile_cont(tree, [asked.q], asked.level, one=one)


def _within(found: Quantiles, last: int) -> Places:
    """Leaves beyond the last value of the domain are there to fill the tree only."""
    import numpy as np

    return Places(*(np.minimum(x[:, 0], last) for x in (found.value, found.low, found.high)))


def _chosen(leaves: Leaves, cells: int, measure: Measure, mechanism: Noise, rng: Rng) -> Places:
    import numpy as np

    assert measure.term.leaves is not None
    values = measure.term.leaves.count
    chosen = np.empty(cells, dtype=np.float64)
    several = max(1, SCORES_MAX // values)  # cells whose scores fit into memory
    for start in range(0, cells, several):
        end = min(start + several, cells)
        mine = (leaves.cell >= start) & (leaves.cell < end)
        scores = np.zeros((end - start, values), dtype=np.int64)
        scores[leaves.cell[mine] - start, leaves.leaf[mine]] = leaves.weight[mine]
        chosen[start:end] = mechanism.each(scores, rng)  # type: ignore[union-attr]
    return Places(chosen, np.full(cells, -np.inf), np.full(cells, np.inf))
