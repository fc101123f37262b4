"""Limits that were learned: private histograms of rows per unit and of units' sums, and the caps that follow from them.

Choosing a cap is post-processing of what was released, so it is free, and any choice is safe: the cap is enforced.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

ROW_BITS = 16  # a unit with more rows counts as having 2**16
SUM_BITS = (-8, 16)  # sums from 2**-8 to 2**16 times the column's largest magnitude
CAP_MAX = 2.0**400
DIFFERENT = 1 / 64  # of their range: how far units above a cap are taken to differ from the others in what they have
SURE = 8.0  # counts below so many noise deviations are taken as nobody: a hundred empty buckets pass for one in 1 of 1,000


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many units lie in (cap / 2, cap], for caps that double; the first holds all below. Noisy, with its deviation."""

    caps: tuple[float, ...]
    units: tuple[float, ...]
    deviation: float

    @property
    def believed(self) -> tuple[float, ...]:
        """Counts that noise alone hardly makes; a little noise in a far bucket would stand for many rows."""
        return tuple(n if n > SURE * self.deviation else 0.0 for n in self.units)

    def clipped(self, cap: float) -> float:
        """What units above the cap would lose in total."""
        middles = (0.75 * c for c in self.caps)
        return sum(n * max(0.0, middle - cap) for n, middle in zip(self.believed, middles))

    @property
    def total(self) -> float:
        return sum(n * 0.75 * c for n, c in zip(self.believed, self.caps))

    def best(self, noise_per_cap: float, counts: int = 1, ratios: int = 0) -> float:
        """The cap with the least expected error, over so many counts or sums, and so many averages or order statistics.

        A count loses what is clipped, and has noise that grows with the cap. An average has that noise too, over what is
        kept; it errs by what is clipped only as far as those units differ from the others: see DIFFERENT.
        """

        def error(cap: float) -> float:
            lost, noise = self.clipped(cap), noise_per_cap * cap
            kept = max(self.total - lost, 1e-9 * self.total)
            return counts * (lost + noise) / self.total + ratios * (noise / kept + DIFFERENT * lost / self.total)

        return min(self.caps, key=error if self.total else lambda cap: cap)

    def share(self, cap: float) -> float:
        """The part of all rows, or of the sum, that the cap is expected to leave out."""
        return self.clipped(cap) / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Learned:
    """What the curator once paid for, of one table."""

    table: str
    rows: Histogram
    sums: Mapping[str, Histogram]
    epsilon: str
    receipt: str

    def as_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "table": self.table,
            "epsilon": self.epsilon,
            "receipt": self.receipt,
            "rows": _as_json(self.rows),
            "sums": {name: _as_json(histogram) for name, histogram in self.sums.items()},
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Learned:
        sums = {name: _from_json(found) for name, found in fields["sums"].items()}
        return cls(fields["table"], _from_json(fields["rows"]), sums, fields["epsilon"], fields["receipt"])


def _as_json(histogram: Histogram) -> dict[str, Any]:
    return {"caps": list(histogram.caps), "units": list(histogram.units), "deviation": histogram.deviation}


def _from_json(fields: Mapping[str, Any]) -> Histogram:
    """ValueError where it is no histogram of rising caps."""
    caps, units = tuple(float(cap) for cap in fields["caps"]), tuple(float(n) for n in fields["units"])
    deviation = float(fields["deviation"])
    rising = all(0 < low < high < CAP_MAX for low, high in itertools.pairwise(caps))
    if not rising or not 2 <= len(caps) == len(units) or not all(map(math.isfinite, (*units, deviation))) or deviation < 0:
        raise ValueError("no histogram")
    return Histogram(caps, units, deviation)


def row_caps() -> tuple[int, ...]:
    return tuple(1 << bit for bit in range(ROW_BITS + 1))


def sum_caps(magnitude: Fraction) -> tuple[float, ...]:
    return tuple(float(magnitude * Fraction(2) ** bit) for bit in range(SUM_BITS[0], SUM_BITS[1] + 1))
