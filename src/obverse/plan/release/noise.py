"""Exact numbers to released ones: the only caller of Exact.reveal, and the only place where noise is added.

The order in which released keys are told: that of their values, so that where an engine keeps them tells nothing.

Order statistics and choices of each cell: what a tree or a vector of scores releases for the aggregates that it serves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from obverse.core.engine import Columns
from obverse.core.errors import invariant
from obverse.core.rng import Rng
from obverse.core.secret import Exact
from obverse.core.types import Type
from obverse.mechanisms.base import Additive
from obverse.plan.aggregates.base import Places
from obverse.plan.aggregates.mode import SCORES_MAX
from obverse.plan.expressions import aggregates_in
from obverse.plan.measures import Measure
from obverse.plan.pricing import Adaptive, Independent, MatrixStrategy, Noise, Plan, SparseVectorRun, Thresholded
from obverse.plan.release.quantile_tree import NoisyTree, Quantiles, extreme, percentile_cont, percentile_disc
from obverse.plan.strategy.adaptive import Chosen, Course, Step, Taken, walk
from obverse.plan.strategy.graph.pricing import GraphPlan, released_parts
from obverse.plan.strategy.matrix import Strategy
from obverse.plan.strategy.pricing import ground_of, priced_at

Keys = Sequence[NDArray[np.object_]]


# texts and times compare as Python's own
NATIVE = {Type.INTEGER: "int64", Type.DOUBLE: "float64", Type.BOOLEAN: "bool"}


def value_order(keys: Keys, kinds: Sequence[Type]) -> NDArray[np.intp]:
    """Places of the keys by their first values, then their second ...: as engines order them, NaN last and NULL after
    it.

    No key stands twice: one that did would have had noise twice.
    """
    order = np.arange(len(keys[0]))
    for values, kind in reversed(list(zip(keys, kinds))):
        order = order[_ascending(values[order], kind)]
    told = [values[order] for values in keys]
    again = np.logical_and.reduce([values[1:] == values[:-1] for values in told])
    invariant(not np.any(again), "a key stands twice")
    return order


def _ascending(values: NDArray[Any], kind: Type) -> NDArray[np.intp]:
    nothing: Any = None
    null = np.equal(values, nothing).astype(bool)
    there = np.flatnonzero(~null)
    known = values[there].astype(NATIVE.get(kind, object))
    return np.concatenate([there[np.argsort(known, kind="stable")], np.flatnonzero(null)])


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


def asked_of(costed: Plan, measure: int) -> tuple[Asked, ...]:
    """The aggregates that the measure serves, each at the level that its outputs need."""
    found = []
    for place, (call, serves) in enumerate(zip(costed.question.aggregates, costed.serves)):
        if measure in serves:
            q = float(call.parameter) if isinstance(call.parameter, (int, float)) else 0.5
            found.append(Asked(place, call.function, q, level_of(costed, place)))
    return tuple(found)


def level_of(costed: Plan, place: int) -> float:
    """An output of n aggregates holds when each of them holds at 1 - (1 - level) / n."""
    most = 1
    for output in costed.question.outputs:
        together = aggregates_in(output.expr)
        if place in together:
            most = max(most, len(together))
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
    return Places(*(np.minimum(x[:, 0], last) for x in (found.value, found.low, found.high)))


def _chosen(leaves: Leaves, cells: int, measure: Measure, mechanism: Noise, rng: Rng) -> Places:
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


@dataclass(frozen=True, slots=True)
class Released:
    """What may leave: discovered keys that passed, an integer per sum and cell, places per order statistic and
    choice.
    """

    cells: int
    sums: dict[int, Integers]  # by measure
    places: dict[int, Places]  # by aggregate
    keys: tuple[NDArray[np.object_], ...] = ()  # values of the released keys, each standing for all public cells
    named: Integers | None = None  # cells that a series names
    blocks: tuple[Integers, ...] = ()  # entries of a strategy, or what each step of a course released


def randomize(exact: Exact[Columns], costed: Plan, rng: Rng) -> Released:
    """The mechanisms' release of the exact numbers.

    Claim:   the output is a release of the plan's mechanisms over all public cells of every released key, in their
             order.
    Proof:   rows of the engine are put at their cell's place, whatever their order; absent cells are zeros that get
             noise like any other. Keys pass the threshold first; nothing else is told of those that do not, not even
             their number.
    Assumes: cell indices lie within the plan's cells, each at most once (checked).
    """
    columns = exact.reveal()
    match costed.noise:
        case MatrixStrategy(strategy, _):
            return _measured(columns, costed, strategy, rng)
        case Adaptive(course):
            return _walked(columns, costed, course, rng)
        case SparseVectorRun(mechanism):
            cells = costed.setting.cells
            return Released(cells, {}, {}, named=mechanism.sample(_dense(columns["k"], columns["m0"], cells), rng))
        case Independent() | Thresholded():
            return _long(columns, costed, rng) if "part" in columns else _plain(columns, costed, rng)
        case _:
            assert_never(costed.noise)


def _measured(columns: Columns, costed: Plan, strategy: Strategy, rng: Rng) -> Released:
    """A strategy's entries: exact maps of the counts, each block with its own noise."""
    exact = strategy.apply(costed.root.public, _counts(columns, costed))
    noisy = tuple(_additive(mechanism).sample(entries, rng) for mechanism, entries in zip(costed.mechanisms, exact))
    return Released(costed.setting.cells, {}, {}, blocks=noisy)


def _counts(columns: Columns, costed: Plan) -> Integers:
    """The exact counts of all public cells."""
    counts = _dense(columns["k"], columns["m" if "part" in columns else "m0"], costed.setting.cells)
    invariant(len(counts) == 0 or int(counts.min()) >= 0, "counts are not negative")
    return counts


def _walked(columns: Columns, costed: Plan, course: Course, rng: Rng) -> Released:
    """A course's steps, each with its own noise; the course is shown what they released and nothing else."""
    counts = _counts(columns, costed)
    ground = ground_of(costed)

    def release(step: Step) -> Taken:
        if isinstance(step, Chosen):
            return (step.mechanism.sample(step.kernel.scores(ground.cells, counts), rng),)
        exact = step.strategy.apply(ground.cells, counts)
        return tuple(mechanism.sample(entries, rng) for mechanism, entries in zip(step.mechanisms, exact))

    found = walk(course, ground, priced_at(costed), release)
    return Released(len(counts), {}, {}, blocks=tuple(values for taken in found.taken for values in taken))


def _plain(columns: Columns, costed: Plan, rng: Rng) -> Released:
    cells = costed.setting.cells
    place = columns["k"]
    sums = {}
    for i, mechanism in enumerate(costed.mechanisms):
        sums[i] = _additive(mechanism).sample(_dense(place, columns[f"m{i}"], cells), rng)
    return Released(cells, sums, {})


def _dense(place: Integers, values: Integers, cells: int) -> Integers:
    """Every cell's integer; zero where the engine had no row."""
    invariant(place.dtype.kind == "i" and (len(place) == 0 or (place.min() >= 0 and place.max() < cells)), "cell index")
    invariant(values.dtype.kind == "i", "a measure must be an integer")
    seen = np.zeros(cells, dtype=bool)
    seen[place] = True
    invariant(int(seen.sum()) == len(place), "a cell stands twice")
    dense = np.zeros(cells, dtype=np.int64)
    dense[place] = values
    return dense


def _additive(mechanism: Noise) -> Additive:
    invariant(isinstance(mechanism, Additive), "a sum gets additive noise")
    assert isinstance(mechanism, Additive)
    return mechanism


def _long(columns: Columns, costed: Plan, rng: Rng) -> Released:
    public = costed.setting.cells
    part = columns["part"]
    count = 1
    place = columns["k"]
    there = None
    keys: tuple[NDArray[np.object_], ...] = ()
    if isinstance(costed.noise, Thresholded):
        rank, keys, count = _keys(columns, costed, rng)
        place = rank[columns["id"]] * public + columns["k"]
        there = (part >= 0) & (rank[columns["id"]] >= 0)
    cells = count * public
    sums: dict[int, Integers] = {}
    found: dict[int, Places] = {}
    for i, (measure, mechanism) in enumerate(zip(costed.measures, costed.mechanisms)):
        mine: Any = part == i if there is None else there & (part == i)
        if len(costed.measures) == 1 and there is None:
            mine = slice(None)  # all of them
        if measure.noised:
            sums[i] = _additive(mechanism).sample(_dense(place[mine], columns["m"][mine], cells), rng)
        elif cells:
            leaves = Leaves(place[mine], columns["leaf"][mine], columns["m"][mine])
            found |= released_places(leaves, cells, measure, mechanism, asked_of(costed, i), rng)
    return Released(cells, sums, found, keys)


def randomize_graph(exact: Exact[Columns], plan: GraphPlan, rng: Rng) -> tuple[Integers, ...]:
    """The release of a network's kernels: their noise, and nothing else of the exact edges.

    Claims: `released_parts`.
    """
    return released_parts(exact.reveal(), plan, rng)


def randomize_keys(batches: Iterable[Exact[Columns]], costed: Plan, rng: Rng) -> Released:
    """The same release of a plan whose keys come a row each, in batches of any size: only what passed is held.

    Claim:   the output has the distribution of `randomize` on the long form of the same rows.
    Proof:   a key passes by its own count and noise of its own; each sum of a key that passed gets noise of its own.
             All noise is independent and of the same mechanisms, so it does not matter in which order, or beside which
             other keys, it is drawn. The long form tells keys in the order of their values; so are they told here, at
             the end. A key that does not pass is forgotten with its batch, and no noise is drawn for its sums: as
             there. Noise is drawn here, once for each row that arrives, so an engine that tries a part of its work
             again draws none.
    Assumes: each key stands in one row of one batch (GROUP BY; checked of those that are released), with all its sums.
    """
    root = costed.root
    kinds = [key.expr.facts.type for key in root.discovered]
    passed = [_passed(batch.reveal(), costed, rng) for batch in batches]
    found = [keys for keys, _ in passed]
    sums = [noisy for _, noisy in passed]
    nothing: Any = np.empty(0, dtype=object)
    keys = [np.concatenate([nothing, *(one[n] for one in found)]) for n in range(len(kinds))]
    order = value_order(keys, kinds)
    released = {}
    for i in range(len(costed.measures)):
        released[i] = np.concatenate([np.empty(0, dtype=np.int64), *(one[i] for one in sums)])[order]
    return Released(len(order), released, {}, tuple(values[order] for values in keys))


def _passed(columns: Columns, costed: Plan, rng: Rng) -> tuple[list[NDArray[np.object_]], list[Integers]]:
    """Of one batch the keys that pass the threshold, and their sums with noise."""
    assert isinstance(costed.noise, Thresholded)
    votes = columns["n"]
    discovered = len(costed.root.discovered)
    invariant(votes.dtype.kind == "i", "votes must be integers")
    there = np.flatnonzero(costed.noise.threshold.passes(votes, rng))
    noisy = []
    for i, mechanism in enumerate(costed.mechanisms):
        values = columns[f"m{i}"]
        invariant(values.dtype.kind == "i" and len(values) == len(votes), "a measure must be an integer")
        noisy.append(_additive(mechanism).sample(values[there], rng))
    return [columns[f"f{n}"][there] for n in range(discovered)], noisy


def _keys(columns: Columns, costed: Plan, rng: Rng) -> tuple[Integers, tuple[NDArray[np.object_], ...], int]:
    """For each key its place among those released, -1 for the others; the released values; how many."""
    assert isinstance(costed.noise, Thresholded)
    listed = np.flatnonzero(columns["part"] == -1)
    listed = listed[np.argsort(columns["id"][listed])]
    invariant(bool(np.array_equal(columns["id"][listed], np.arange(len(listed)))), "keys are numbered from zero")
    passed = costed.noise.threshold.passes(columns["m"][listed], rng)
    rank = np.where(passed, np.cumsum(passed) - 1, -1) if len(listed) else np.full(1, -1)
    discovered = len(costed.root.discovered)
    keys = tuple(columns[f"f{n}"][listed][passed] for n in range(discovered))
    return rank.astype(np.int64), keys, int(passed.sum())
