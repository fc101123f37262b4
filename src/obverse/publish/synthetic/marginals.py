"""What noisy columns tell before tables are chosen: groups, margins, and from when on a table is worth measuring."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.publish.synthetic.model import Clique, cells, grown, junction

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


# of the price: for the columns, for choosing a forest; the rest measures
ONES = Fraction(1, 5)
CHOICES = Fraction(1, 20)
SEEN = 3  # standard deviations from which a value stands by itself; what is below goes together
MEAN_ABS = 7979, 10000  # of noise with standard deviation one
MODEL_MAX = 1 << 18  # cells of all cliques


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What follows from the noisy columns: groups of values, margins without negatives, the total, noise to come."""

    groups: tuple[Integers, ...]
    margins: tuple[Floats, ...]  # of groups; they add up to the total
    total: int
    noise: int  # standard deviation of a table's cell, if it is measured; all in released integers
    stray: tuple[int, ...]  # how far noise has carried each column's groups
    luck: int  # how far chance lifts a score

    def worth(self, parts: Iterable[Clique]) -> tuple[Clique, ...]:
        """Of these tables, those whose noise may be below all that could be gained."""
        return tuple(p for p in parts if min(map(self.many, p)) > 1 and self.penalty(p) < 2 * self.total)

    def many(self, place: int) -> int:
        return len(self.margins[place])

    def cells(self, part: Clique) -> int:
        return math.prod(map(self.many, part))

    def penalty(self, part: Clique, noise: int = 0) -> int:
        """How far a table would seem from what is known by noise alone, and how far noise (no less than planned)
        carries it.
        """
        stray = sum(self.stray[i] for i in part)
        return MEAN_ABS[0] * (max(noise, self.noise) * self.cells(part) + stray) // MEAN_ABS[1] + self.luck


def variance(mechanism: Additive) -> Fraction:
    """Of its noise, exactly enough, and the same on every machine."""
    if isinstance(mechanism, DiscreteGaussian):
        return mechanism.sigma_squared
    invariant(isinstance(mechanism, DiscreteLaplace), "noise that is known here")
    assert isinstance(mechanism, DiscreteLaplace)
    return 2 * mechanism.scale**2


def share_for(cells: int) -> Fraction:
    """Shares that grow with cells to the two thirds make the sum of all cells' mean errors least."""
    return Fraction(round(cells ** (2 / 3) * 1024), 1024)


def components(columns: int, edges: tuple[Clique, ...]) -> list[int]:
    """For each column the least one that it hangs together with."""
    found = list(range(columns))
    for a, b in edges:
        low, high = sorted((found[a], found[b]))
        found = [low if one == high else one for one in found]
    return found


@lru_cache(maxsize=1024)
def beside(sizes: tuple[int, ...], parts: tuple[Clique, ...], worth: tuple[Clique, ...]) -> tuple[Clique, ...]:
    """Tables that may be measured with these: none that is within one of them, and those whose model stays small
    enough.
    """
    tree = junction(sizes, parts)
    have = [{*part} for part in parts]
    new = [part for part in worth if not any({*part} <= one for one in have)]
    return tuple(part for part in new if cells(grown(sizes, tree, part), sizes) <= MODEL_MAX)


class Known:
    """Figures and arrays that are told apart by a digest: what follows from the same releases is worked out once."""

    __slots__ = ("digest", "parts")

    def __init__(self, names: object, arrays: tuple[Integers, ...], parts: tuple[Any, ...]) -> None:
        found = hashlib.sha256(repr(names).encode())
        for values in arrays:
            found.update(len(values).to_bytes(8, "little") + values.astype("<i8").tobytes())
        self.digest = found.digest()
        self.parts = parts

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and self.digest == other.digest
