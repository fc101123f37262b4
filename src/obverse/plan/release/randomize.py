"""Exact numbers to released ones: the only caller of Exact.reveal, and the only place where noise is added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.core.engine import Columns
from obverse.core.errors import invariant
from obverse.core.rng import Rng
from obverse.core.secret import Exact
from obverse.mechanisms.base import Additive
from obverse.plan.allocate import CostedPlan, Noise
from obverse.plan.release.key_order import value_order
from obverse.plan.release.places import Leaves, asked_of, released_places
from obverse.plan.strategy.adaptive import Chosen, Course, Step, Taken, walk
from obverse.plan.strategy.graph.pricing import GraphPlan, released_parts
from obverse.plan.strategy.pricing import ground_of, priced_at
from obverse.plan.strategy.strategy import Strategy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.plan.aggregates.base import Places

    Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Released:
    """What may leave: discovered keys that passed, an integer per sum and cell, places per order statistic and choice."""

    cells: int
    sums: dict[int, Integers]  # by measure
    places: dict[int, Places]  # by aggregate
    keys: tuple[NDArray[np.object_], ...] = ()  # values of the released keys, each standing for all public cells
    named: Integers | None = None  # cells that a series names
    blocks: tuple[Integers, ...] = ()  # entries of a strategy, or what each step of a course released


def randomize(exact: Exact[Columns], costed: CostedPlan, rng: Rng) -> Released:
    """The mechanisms' release of the exact numbers.

    Claim:   the output is a release of the plan's mechanisms over all public cells of every released key, in their order.
    Proof:   rows of the engine are put at their cell's place, whatever their order; absent cells are zeros that get noise
             like any other. Keys pass the threshold first; nothing else is told of those that do not, not even their
             number.
    Assumes: cell indices lie within the plan's cells, each at most once (checked).
    """
    columns = exact.reveal()
    if costed.strategy is not None:
        return _measured(columns, costed, costed.strategy, rng)
    if costed.course is not None:
        return _walked(columns, costed, costed.course, rng)
    return _long(columns, costed, rng) if "part" in columns else _plain(columns, costed, rng)


def _measured(columns: Columns, costed: CostedPlan, strategy: Strategy, rng: Rng) -> Released:
    """A strategy's entries: exact maps of the counts, each block with its own noise."""
    limited = costed.annotated.limited
    counts = _counts(columns, costed)
    exact = strategy.apply(limited.root.public, counts)
    noisy = tuple(_additive(mechanism).sample(entries, rng) for mechanism, entries in zip(costed.mechanisms, exact))
    return Released(limited.setting.cells, {}, {}, blocks=noisy)


def _counts(columns: Columns, costed: CostedPlan) -> Integers:
    """The exact counts of all public cells."""
    counts = _dense(columns["k"], columns["m" if "part" in columns else "m0"], costed.annotated.limited.setting.cells)
    invariant(len(counts) == 0 or int(counts.min()) >= 0, "counts are not negative")
    return counts


def _walked(columns: Columns, costed: CostedPlan, course: Course, rng: Rng) -> Released:
    """A course's steps, each with its own noise; the course is shown what they released and nothing else."""
    counts, ground = _counts(columns, costed), ground_of(costed)

    def release(step: Step) -> Taken:
        if isinstance(step, Chosen):
            return (step.mechanism.sample(step.kernel.scores(ground.cells, counts), rng),)
        exact = step.strategy.apply(ground.cells, counts)
        return tuple(mechanism.sample(entries, rng) for mechanism, entries in zip(step.mechanisms, exact))

    found = walk(course, ground, priced_at(costed), release)
    return Released(len(counts), {}, {}, blocks=tuple(values for taken in found.taken for values in taken))


def _plain(columns: Columns, costed: CostedPlan, rng: Rng) -> Released:
    cells = costed.annotated.limited.setting.cells
    place = columns["k"]
    if costed.series is not None:
        named = costed.series.sample(_dense(place, columns["m0"], cells), rng)
        return Released(cells, {}, {}, named=named)
    sums = {}
    for i, mechanism in enumerate(costed.mechanisms):
        sums[i] = _additive(mechanism).sample(_dense(place, columns[f"m{i}"], cells), rng)
    return Released(cells, sums, {})


def _dense(place: Integers, values: Integers, cells: int) -> Integers:
    """Every cell's integer; zero where the engine had no row."""
    import numpy as np

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


def _long(columns: Columns, costed: CostedPlan, rng: Rng) -> Released:
    public = costed.annotated.limited.setting.cells
    part = columns["part"]
    count, place, there = 1, columns["k"], None
    keys: tuple[NDArray[np.object_], ...] = ()
    if costed.threshold is not None:
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
    """The release of a network's kernels: their noise, and nothing else of the exact edges. Claims: `released_parts`."""
    return released_parts(exact.reveal(), plan, rng)


def randomize_keys(batches: Iterable[Exact[Columns]], costed: CostedPlan, rng: Rng) -> Released:
    """The same release of a plan whose keys come a row each, in batches of any size: only what passed is held.

    Claim:   the output has the distribution of `randomize` on the long form of the same rows.
    Proof:   a key passes by its own count and noise of its own; each sum of a key that passed gets noise of its own. All
             noise is independent and of the same mechanisms, so it does not matter in which order, or beside which other
             keys, it is drawn. The long form tells keys in the order of their values; so are they told here, at the end.
             A key that does not pass is forgotten with its batch, and no noise is drawn for its sums: as there. Noise is
             drawn here, once for each row that arrives, so an engine that tries a part of its work again draws none.
    Assumes: each key stands in one row of one batch (GROUP BY; checked of those that are released), with all its sums.
    """
    import numpy as np

    root = costed.annotated.limited.root
    kinds = [key.expr.facts.type for key in root.discovered]
    passed = [_passed(batch.reveal(), costed, rng) for batch in batches]
    found, sums = [keys for keys, _ in passed], [noisy for _, noisy in passed]
    nothing: Any = np.empty(0, dtype=object)
    keys = [np.concatenate([nothing, *(one[n] for one in found)]) for n in range(len(kinds))]
    order = value_order(keys, kinds)
    released = {}
    for i in range(len(costed.measures)):
        released[i] = np.concatenate([np.empty(0, dtype=np.int64), *(one[i] for one in sums)])[order]
    return Released(len(order), released, {}, tuple(values[order] for values in keys))


def _passed(columns: Columns, costed: CostedPlan, rng: Rng) -> tuple[list[NDArray[np.object_]], list[Integers]]:
    """Of one batch the keys that pass the threshold, and their sums with noise."""
    import numpy as np

    assert costed.threshold is not None
    votes, discovered = columns["n"], len(costed.annotated.limited.root.discovered)
    invariant(votes.dtype.kind == "i", "votes must be integers")
    there = np.flatnonzero(costed.threshold.passes(votes, rng))
    noisy = []
    for i, mechanism in enumerate(costed.mechanisms):
        values = columns[f"m{i}"]
        invariant(values.dtype.kind == "i" and len(values) == len(votes), "a measure must be an integer")
        noisy.append(_additive(mechanism).sample(values[there], rng))
    return [columns[f"f{n}"][there] for n in range(discovered)], noisy


def _keys(columns: Columns, costed: CostedPlan, rng: Rng) -> tuple[Integers, tuple[NDArray[np.object_], ...], int]:
    """For each key its place among those released, -1 for the others; the released values; how many."""
    import numpy as np

    assert costed.threshold is not None
    listed = np.flatnonzero(columns["part"] == -1)
    listed = listed[np.argsort(columns["id"][listed])]
    invariant(bool(np.array_equal(columns["id"][listed], np.arange(len(listed)))), "keys are numbered from zero")
    passed = costed.threshold.passes(columns["m"][listed], rng)
    rank = np.where(passed, np.cumsum(passed) - 1, -1) if len(listed) else np.full(1, -1)
    discovered = len(costed.annotated.limited.root.discovered)
    keys = tuple(columns[f"f{n}"][listed][passed] for n in range(discovered))
    return rank.astype(np.int64), keys, int(passed.sum())

