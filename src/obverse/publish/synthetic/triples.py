"""Tables of three columns: what they tell of pairs, and what they tell beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from obverse.publish.synthetic.forest import Edge
from obverse.publish.synthetic.junction import Clique, margin, scaled
from obverse.publish.tables.effects import centred

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RAKED = 20  # sweeps


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """Counts with noise of one variance."""

    counts: Floats
    variance: float


def pooled(several: Sequence[Noisy]) -> Noisy:
    """Of the same counts, by precision."""
    precision = sum(1 / one.variance for one in several)
    counts: Floats = sum((one.counts / one.variance for one in several), start=0 * several[0].counts) / precision
    return Noisy(counts, 1 / precision)


def pairs_of(tables: Mapping[Clique, Noisy]) -> dict[Edge, Noisy]:
    """All that tables tell of every pair within them.

    Claim:   unbiased, of the variance that is told.
    Proof:   a triple's sums over its third column have its variance times that column's groups; different tables have noise of
             their own, and are averaged by precision.
    Assumes: noise of all cells is independent, and of one variance in each table.
    """
    found: dict[Edge, list[Noisy]] = {}
    for part, table in tables.items():
        for a, b in combinations(part, 2):
            counts = margin(table.counts, part, (a, b))
            found.setdefault((a, b), []).append(Noisy(counts, table.variance * table.counts.size / counts.size))
    return {edge: pooled(several) for edge, several in found.items()}


def third(plain: Floats, noisy: Noisy) -> Floats:
    """A triple's table with the pairs of `plain`, and with what no pair tells as far as it stands out of the noise.

    The deviations that are left when all sums over one column are taken off are shrunk as James and Stein do, made
    non-negative and raked to all three pairs.
    """
    import numpy as np

    apart = centred(noisy.counts) - centred(plain)
    square, free = float((apart**2).sum()), math.prod(n - 1 for n in plain.shape)
    kept = max(0.0, 1 - noisy.variance * free / square) if square > 0 else 0.0
    return raked(np.maximum(plain + kept * apart, 0), {e: margin(plain, (0, 1, 2), e) for e in combinations(range(3), 2)})


def raked(table: Floats, pairs: Mapping[Edge, Floats], sweeps: int = RAKED) -> Floats:
    for _ in range(sweeps):
        for edge, wanted in pairs.items():
            table = scaled(table, (0, 1, 2), edge, wanted)
    return table


def ratio(wanted: Floats, have: Floats) -> Floats:
    import numpy as np

    found: Floats = np.divide(wanted, have, out=np.zeros_like(have), where=have > 0)
    return found
