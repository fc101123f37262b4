"""Tables of a released network: degrees, who is connected with whom, and how a rumour spreads; from noisy integers
alone.

Numbers for simulations on what was released: whoever has the release draws the same ones. Never noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.core.types import Type
from obverse.mechanisms.ladder import Ladder
from obverse.plan.strategy.graph.counts import Mixing, pairs
from obverse.plan.strategy.graph.degrees import Degrees
from obverse.plan.strategy.graph.network import GraphFacts
from obverse.plan.strategy.graph.pricing import Part
from obverse.plan.strategy.graph.registry import REACHES
from obverse.publish.method import LEVEL
from obverse.publish.rounding import isotonic

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


# of splitmix64
STEP = 0x9E3779B97F4A7C15
MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
WORD = (1 << 64) - 1


class Draws:
    """Uniform numbers in [0, 1) that follow from what was measured alone (splitmix64)."""

    def __init__(self, measured: Sequence[Integers], what: str) -> None:
        digest = hashlib.sha256(what.encode())
        for values in measured:
            digest.update(values.astype("<i8").tobytes())
        self._state = int.from_bytes(digest.digest()[:8], "little")

    def uniform(self, n: int) -> Floats:
        x = np.uint64(self._state) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(STEP)
        self._state = (self._state + n * STEP) & WORD
        for shift, factor in zip((30, 27), MIX):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        return ((x ^ (x >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def noise(self, n: int, stddev: float, *, gaussian: bool) -> Floats:
        """Like the noise of a measurement, in doubles: to see how far what follows from it may be off."""
        u = 1 - self.uniform(n)
        if gaussian:
            found: Floats = stddev * np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * self.uniform(n))
            return found
        sign = np.where(self.uniform(n) < 0.5, -1.0, 1.0)
        return -sign * np.log(u) * stddev / 2**0.5


SIMULATED = 400  # of noise, to see how far assortativity may be off


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What was measured of a network, by the kernels' texts; values are None before it was."""

    facts: GraphFacts
    parts: tuple[Part, ...]
    values: tuple[Integers, ...] | None = None

    def part(self, text: str) -> Part | None:
        return next((one for one in self.parts if one.kernel.text == text), None)

    def of(self, text: str) -> Integers:
        assert self.values is not None
        return next(values for one, values in zip(self.parts, self.values) if one.kernel.text == text)

    def half_width(self, text: str) -> float:
        """Half of a 95 % interval. A ladder's follows from its noisy reach, which is trusted but for half of the 5
        %.
        """
        part = self.part(text)
        assert part is not None
        if not isinstance(part.noise, Ladder):
            return float(part.noise.interval(LEVEL))
        near = self.part(REACHES[part.kernel.name].text)
        assert near is not None
        assert not isinstance(near.noise, Ladder)
        reach = int(self.of(near.kernel.text)[0]) + near.noise.interval(LEVEL)  # from above: but for 2.5 %
        return float(part.noise.half_width(reach, (1 - LEVEL) / 2))

    def stddev(self, text: str) -> float:
        """Of an entry; of a ladder about what its interval says."""
        part = self.part(text)
        assert part is not None
        return self.half_width(text) / 1.96 if isinstance(part.noise, Ladder) else part.noise.stddev()

    def degrees(self) -> Degrees | None:
        return next((one.kernel for one in self.parts if isinstance(one.kernel, Degrees)), None)

    def mixings(self) -> tuple[Mixing, ...]:
        return tuple(one.kernel for one in self.parts if isinstance(one.kernel, Mixing))


def degree_counts(measured: Measured, kernel: Degrees) -> Integers:
    """For each block and degree how many people have it: whole numbers, never negative."""
    facts = measured.facts
    values = measured.of(kernel.text).astype(np.float64)
    blocks = kernel.blocks(facts)
    if facts.unit == "edge":
        ends = np.concatenate([[0], np.cumsum(blocks.sizes)])
        found = [np.rint(np.clip(isotonic(values[a:b]), 0, facts.people - 1)) for a, b in pairwise(ends)]
        most = int(max((one.max(initial=0) for one in found), default=0))
        return np.stack([np.bincount(one.astype(np.int64), minlength=most + 1) for one in found])
    steps = kernel.steps(facts)
    rows = values.reshape(len(blocks.labels), steps)
    at_most = np.stack([np.rint(np.maximum(isotonic(row), 0)) for row in rows])
    if not facts.listed:  # everybody has some degree: the last entry is the public number of people
        at_most = np.concatenate([np.minimum(at_most, blocks.sizes[:, None]), blocks.sizes[:, None]], axis=1)
    return np.diff(at_most, prepend=0, axis=1).astype(np.int64)


def degree_table(measured: Measured, kernel: Degrees) -> tuple[dict[str, Any], dict[str, Type]]:
    counts = degree_counts(measured, kernel)
    labels = kernel.blocks(measured.facts).labels
    many, steps = counts.shape
    columns: dict[str, Any] = {}
    if kernel.attribute:
        columns[kernel.attribute] = np.repeat(np.array(labels, dtype=object), steps)
    columns["degree"] = np.tile(np.arange(steps), many)
    columns["count"] = counts.reshape(-1)
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    columns["share_at_most"] = (np.cumsum(counts, axis=1) / total).reshape(-1)
    kinds = {"degree": Type.INTEGER, "count": Type.INTEGER, "share_at_most": Type.DOUBLE}
    return columns, {name: kinds.get(name, Type.TEXT) for name in columns}


def mixing_table(measured: Measured, kernel: Mixing) -> tuple[dict[str, Any], dict[str, Type]]:
    labels = np.array(measured.facts.blocks[kernel.attribute].labels, dtype=object)
    first, second = pairs(len(labels))
    values = measured.of(kernel.text).astype(np.float64)
    half = measured.half_width(kernel.text)
    columns: dict[str, Any] = {
        f"{kernel.attribute}_1": labels[first],
        f"{kernel.attribute}_2": labels[second],
        "count": np.maximum(measured.of(kernel.text), 0),
        "estimate": values,
        "low": values - half,
        "high": values + half,
    }
    kinds = {"count": Type.INTEGER, "estimate": Type.DOUBLE, "low": Type.DOUBLE, "high": Type.DOUBLE}
    return columns, {name: kinds.get(name, Type.TEXT) for name in columns}


def square(values: Floats) -> Floats:
    """Unordered pairs as a symmetric matrix of ends: half of each side for two values, whole for one."""
    many = int((np.sqrt(8 * values.shape[-1] + 1) - 1) / 2)
    first, second = pairs(many)
    found = np.zeros((*values.shape[:-1], many, many))
    found[..., first, second] += values / 2
    found[..., second, first] += values / 2
    return found


def alike(values: Floats, variance: float = 0.0) -> dict[str, Floats]:
    """Of numbers between blocks: the share of edges within them, what chance would give, and assortativity (Newman
    2003).

    `variance`: of each number's noise. Numbers stay as they are, negative ones too: without them, sums would be too
    large by what noise is above zero, in every pair of blocks. The ends of one of m blocks have (m + 3) / 4 of the
    variance, which is taken off their squares.
    """
    ends = square(values)
    many = ends.shape[-1]
    total = np.maximum(ends.sum(axis=(-2, -1)), 1e-9)
    within = np.trace(ends, axis1=-2, axis2=-1) / total
    squares = (ends.sum(axis=-1) ** 2).sum(axis=-1) - variance * many * (many + 3) / 4
    chance = np.clip(squares / total**2, 1 / many, 1.0)
    excess = np.clip((within - chance) / np.maximum(1 - chance, 1e-9), -1.0, 1.0)
    return {"within": np.clip(within, 0.0, 1.0), "chance": chance, "assortativity": excess}


def alike_intervals(measured: Measured, kernel: Mixing) -> Mapping[str, tuple[float, float, float]]:
    """Each of `alike` with the ends of its 95 % interval, simulated: as much noise again, and what follows from it."""
    assert measured.values is not None
    values = measured.of(kernel.text).astype(np.float64)
    part = measured.part(kernel.text)
    assert part is not None
    draws = Draws(measured.values, f"noise {kernel.text}")
    gaussian = part.noise.name == "discrete_gaussian"
    spread = measured.stddev(kernel.text)
    noise = draws.noise(SIMULATED * len(values), spread, gaussian=gaussian).reshape(SIMULATED, -1)
    centre = alike(values, spread**2)
    around = alike(values + noise, 2 * spread**2)
    found = {}
    for name, value in centre.items():
        low, high = np.quantile(around[name], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        found[name] = (float(value), float(min(low, value)), float(max(high, value)))
    return found
