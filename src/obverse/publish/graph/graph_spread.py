"""How fast rumours spread on networks drawn from a released model; and whether that is like the network, told privately."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from obverse.core.types import Type
from obverse.plan.strategy.graph.graph_degrees import Degrees
from obverse.plan.strategy.graph.graph_mixing import Mixing
from obverse.plan.strategy.graph.triangles import triangles
from obverse.publish.graph.graph_draws import Draws
from obverse.publish.graph.graph_model import Model, Spread, between, network_of, spread
from obverse.publish.graph.graph_tables import Measured, degree_counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NETWORKS, RUNS = 4, 8  # drawn, and of each so many rumours
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
                    "friends of one person know each other more often than the attribute and the degrees explain, and in such "
                    "networks rumours spread more slowly than simulated here"
                    if more
                    else "friends of one person know each other less often than the attribute and the degrees say"
                )
                return f"Warning: the model does not fit. {told[0].upper()}{told[1:]}, {drawn}: {why}."


def rumour(measured: Measured, attribute: str, tell: float) -> Rumour:
    """Networks drawn by the released degrees and numbers between blocks; a rumour on each, several times."""
    import numpy as np

    assert measured.values is not None
    mixing, degrees = Mixing(attribute), Degrees(attribute)
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
    return Rumour(attribute, run, float(np.mean(found)), float(np.std(found)), noisy, measured.half_width("triangles"))


def spread_table(found: Rumour) -> tuple[dict[str, Any], dict[str, Type]]:
    """The share of connected people who have heard it, after each step: the mean of all runs, and where nine in ten lie."""
    import numpy as np

    low, high = np.quantile(found.run.shares, [0.05, 0.95], axis=0)
    columns = {"step": np.arange(found.run.shares.shape[1]), "share": found.run.shares.mean(axis=0), "low": low, "high": high}
    return columns, {name: Type.INTEGER if name == "step" else Type.DOUBLE for name in columns}
