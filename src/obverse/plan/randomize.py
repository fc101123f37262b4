"""Exact numbers to released ones: the only caller of Exact.reveal, and the only place where noise is added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.core.engine import Columns
from obverse.core.errors import invariant
from obverse.core.rng import Rng
from obverse.core.secret import Exact
from obverse.mechanisms.base import Additive
from obverse.plan.allocate import CostedPlan, Noise
from obverse.plan.places import Leaves, asked_of, released_places

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


def randomize(exact: Exact[Columns], costed: CostedPlan, rng: Rng) -> Released:
    """The mechanisms' release of the exact numbers.

    Claim:   the output is a release of the plan's mechanisms over all public cells of every released key, in their order.
    Proof:   rows of the engine are put at their cell's place, whatever their order; absent cells are zeros that get noise
             like any other. Keys pass the threshold first; nothing else is told of those that do not, not even their
             number.
    Assumes: cell indices lie within the plan's cells, each at most once (checked).
    """
    columns = exact.reveal()
    return _long(columns, costed, rng) if "part" in columns else _plain(columns, costed, rng)


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

