"""A block model of a released network: blocks of a public attribute, released degrees, released numbers between blocks.

How fast rumours spread on networks drawn from a released model; and whether that is like the network, told privately.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from obverse.core.types import Type
from obverse.plan.strategy.graph.counts import Mixing, pairs
from obverse.plan.strategy.graph.degrees import Degrees
from obverse.plan.strategy.graph.network import Graph
from obverse.plan.strategy.graph.triangles import triangles
from obverse.publish.graph.tables import Draws, Measured, degree_counts

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


AGAIN = 6  # times that edges which fell on each other are drawn again
STEPS_MAX = 400
HALF = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What networks are drawn from: for each block its people's degrees, and edges for each pair of blocks."""

    degrees: tuple[Integers, ...]
    edges: Integers  # in the order of `pairs`

    @property
    def people(self) -> int:
        return sum(len(one) for one in self.degrees)


def between(values: Floats, stddev: float) -> Integers:
    """Edges for each pair of blocks: what stands out of the noise, scaled to the total, which is unbiased."""
    kept = np.where(values > 2 * stddev, values, 0.0) if len(values) > 3 else np.maximum(values, 0.0)
    whole = max(float(values.sum()), 0.0)
    return np.rint(kept * (whole / kept.sum() if kept.sum() > 0 else 0.0)).astype(np.int64)


def network_of(model: Model, draws: Draws) -> Graph:
    """One network: people's degrees are dealt out to the edges between blocks; doubles and loops are drawn again, by
    degree.
    """
    first, second = pairs(len(model.degrees))
    sizes = np.array([len(one) for one in model.degrees], dtype=np.int64)
    wanted = np.where((sizes[first] > 0) & (sizes[second] > 0), model.edges, 0)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    people = model.people
    keys = np.empty(0, dtype=np.int64)
    missing = wanted
    for n in range(AGAIN):
        cell = np.repeat(np.arange(len(wanted)), missing)
        blocks = np.concatenate([first[cell], second[cell]])
        chosen = _dealt(model, blocks, draws) if n == 0 else _by_degree(model, blocks, draws)
        a = chosen[: len(cell)]
        b = chosen[len(cell) :]
        fresh = np.where(a != b, np.minimum(a, b) * people + np.maximum(a, b), -1)
        keys = np.unique(np.concatenate([keys, fresh[fresh >= 0]]))
        block = np.searchsorted(ends, np.stack([keys // people, keys % people]), side="right") - 1
        found = np.bincount(_cell(block[0], block[1], len(sizes)), minlength=len(wanted))
        missing = np.maximum(wanted - found, 0)
        if not missing.any():
            break
    return Graph(people, keys // people, keys % people)


def _dealt(model: Model, blocks: Integers, draws: Draws) -> Integers:
    """Of each block somebody, as often as their degree says, in random order; by degree where that is not often enough.

    Drawing all ends by degree would make degrees differ more than they do, and with them triangles.
    """
    found = _by_degree(model, blocks, draws)
    order = np.argsort(blocks, kind="stable")
    start = 0
    many = np.bincount(blocks, minlength=len(model.degrees))
    before = np.concatenate([[0], np.cumsum([len(one) for one in model.degrees])])
    for block, degrees in enumerate(model.degrees):
        ends = np.repeat(before[block] + np.arange(len(degrees)), degrees)
        ends = ends[np.argsort(draws.uniform(len(ends)))][: many[block]]
        found[order[start : start + len(ends)]] = ends
        places = order[start : start + many[block]]
        found[places] = found[places][np.argsort(draws.uniform(len(places)))]
        start += int(many[block])
    return found


def _cell(a: Integers, b: Integers, many: int) -> Integers:
    """The place of a pair of blocks among `pairs`."""
    place: Integers = a * many - a * (a - 1) // 2 + (b - a)
    return place


def _by_degree(model: Model, blocks: Integers, draws: Draws) -> Integers:
    """Of each block somebody, as likely as their degree says."""
    weight = np.concatenate([one.astype(np.float64) if one.sum() else np.ones(len(one)) for one in model.degrees])
    bounds = np.concatenate([[0.0], np.cumsum(weight)])
    ends = np.concatenate([[0], np.cumsum([len(one) for one in model.degrees])])
    low = bounds[ends[blocks]]
    high = bounds[ends[blocks + 1]]
    found = np.searchsorted(bounds, low + draws.uniform(len(blocks)) * (high - low), side="right") - 1
    chosen: Integers = np.clip(found, ends[blocks], ends[blocks + 1] - 1)
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """How a rumour went, in each run: the share of connected people who have heard it after each step."""

    shares: Floats  # runs by steps

    def half(self) -> Floats:
        """Steps until half of the connected people have heard it, for each run that comes so far."""
        told = self.shares >= HALF
        found: Floats = np.argmax(told, axis=1)[told.any(axis=1)].astype(np.float64)
        return found


def spread(graphs: list[Graph], runs: int, tell: float, draws: Draws) -> Spread:
    """Somebody who is connected knows a rumour; whoever knows it tells each friend with probability `tell` in each
    step.
    """
    curves = [_run(graph, tell, draws) for graph in graphs for _ in range(runs)]
    longest = max(len(one) for one in curves)
    return Spread(np.stack([np.concatenate([one, np.full(longest - len(one), one[-1])]) for one in curves]))


def _run(graph: Graph, tell: float, draws: Draws) -> Floats:
    connected = np.flatnonzero(graph.degrees)
    if not len(connected):
        return np.zeros(1)
    heard = np.zeros(graph.people, dtype=bool)
    heard[connected[int(draws.uniform(1)[0] * len(connected))]] = True
    curve = [1 / len(connected)]
    still = 0
    quiet = 3 / tell  # steps without news after which nothing more is expected
    while len(curve) < STEPS_MAX and curve[-1] < 1 and still < quiet:
        friends = np.bincount(graph.low, weights=heard[graph.high], minlength=graph.people)
        friends += np.bincount(graph.high, weights=heard[graph.low], minlength=graph.people)
        heard |= draws.uniform(graph.people) < 1 - (1 - tell) ** friends
        curve.append(float(heard.sum()) / len(connected))
        still = still + 1 if curve[-1] == curve[-2] else 0
    return np.array(curve)


# drawn, and of each so many rumours
NETWORKS = 4
RUNS = 8
LARGE = 200_000  # edges beyond which fewer are run
FAR = 0.2  # of the triangles: what is further off than noise and this does not fit
Verdict = Literal["fits", "does not fit", "cannot be told"]


@dataclass(frozen=True, slots=True, eq=False)
class Rumour:
    """A spread with the triangles of the networks that it ran on, beside those that were measured."""

    attribute: str
    run: Spread
    model: float  # triangles of drawn networks, on average
    model_spread: float
    measured: float
    half_width: float

    @property
    def verdict(self) -> Verdict:
        noise = 2 * math.hypot(self.half_width / 1.96, self.model_spread)
        larger = max(self.measured, self.model, 1.0)
        if abs(self.measured - self.model) > max(noise, FAR * larger):
            return "does not fit"
        return "cannot be told" if noise > larger else "fits"

    @property
    def words(self) -> str:
        """What the reader has to know of it."""
        told = f"about {max(self.measured, 0):,.0f} triangles (± {self.half_width:,.0f}) were measured"
        drawn = f"networks drawn from the model have about {self.model:,.0f}"
        match self.verdict:
            case "fits":
                return f"The model fits in this: {told}, {drawn}."
            case "cannot be told":
                return f"Warning: whether the model fits cannot be told at this noise: {told}, {drawn}."
            case _:
                more = self.measured > self.model
                why = (
                    "friends of one person know each other more often than the attribute and the degrees explain, and "
                    "in such "
                    "networks rumours spread more slowly than simulated here"
                    if more
                    else "friends of one person know each other less often than the attribute and the degrees say"
                )
                return f"Warning: the model does not fit. {told[0].upper()}{told[1:]}, {drawn}: {why}."


def rumour(measured: Measured, attribute: str, tell: float) -> Rumour:
    """Networks drawn by the released degrees and numbers between blocks; a rumour on each, several times."""
    assert measured.values is not None
    mixing = Mixing(attribute)
    degrees = Degrees(attribute)
    values = measured.of(mixing.text).astype(np.float64)
    counts = degree_counts(measured, degrees)
    steps = np.arange(counts.shape[1])
    model = Model(tuple(np.repeat(steps, row) for row in counts), between(values, measured.stddev(mixing.text)))
    draws = Draws(measured.values, f"spread {attribute}")
    large = int(model.edges.sum()) > LARGE
    graphs = [network_of(model, draws) for _ in range(NETWORKS if not large else 2)]
    found = [float(triangles(graph)) for graph in graphs]
    run = spread(graphs, RUNS if not large else 2, tell, draws)
    noisy = float(measured.of("triangles")[0])
    return Rumour(
        attribute=attribute,
        run=run,
        model=float(np.mean(found)),
        model_spread=float(np.std(found)),
        measured=noisy,
        half_width=measured.half_width("triangles"),
    )


def spread_table(found: Rumour) -> tuple[dict[str, Any], dict[str, Type]]:
    """The share of connected people who have heard it, after each step: the mean of all runs, and where nine in ten
    lie.
    """
    low, high = np.quantile(found.run.shares, [0.05, 0.95], axis=0)
    columns = {
        "step": np.arange(found.run.shares.shape[1]),
        "share": found.run.shares.mean(axis=0),
        "low": low,
        "high": high,
    }
    return columns, {name: Type.INTEGER if name == "step" else Type.DOUBLE for name in columns}
