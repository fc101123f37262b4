"""How far one unit reaches: in a relation (Stability) and in a vector of measures (Sensitivity)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from obverse.core.bounds import Unbounded
from obverse.core.errors import invariant
from obverse.core.numbers import sqrt_up
from obverse.core.units import Neighbours


@dataclass(frozen=True, slots=True)
class Stability:
    """One unit's reach in a relation: at most `rows` rows (Unbounded before a Limit).

    The rows of a unit are a function of its own rows and of public data alone: every rule of a relation keeps this.
    """

    neighbours: Neighbours
    rows: int | Unbounded
    always_present: bool = False  # every unit surely has exactly `rows` rows (replace only)
    keyed: bool = True  # rows carry their unit's key; else each row of the table is its own unit
    cap: int | None = 1  # rows that a unit is meant to have, by declaration; None: to be learned
    groups: int | None = None  # different keys that it is meant to have; None: as many as rows
    single: bool = False  # its table is declared to have one row of each unit, not limited to one of several

    def __post_init__(self) -> None:
        invariant(isinstance(self.rows, Unbounded) or self.rows >= 1, "a unit reaches at least one row")


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Norms of the difference that one unit can make to a vector; exact or rounded up."""

    l0: int
    l1: Fraction
    l2: Fraction
    linf: Fraction

    def __post_init__(self) -> None:
        invariant(self.l0 >= 0 and min(self.l1, self.l2, self.linf) >= 0, "a norm is never negative")
        invariant(self.linf <= self.l2 <= self.l1 or self.l0 == 0, "norms are ordered: linf <= l2 <= l1")

    def stacked(self, times: int) -> Sensitivity:
        """Of as many vectors one below the other, in each of which one unit makes such a difference.

        Claim:   L1 adds up, squares of L2 do, Linf stays. Proof: the entries are different ones. Assumes: nothing.
        """
        return Sensitivity(self.l0 * times, self.l1 * times, self.l2 * sqrt_up(times), self.linf)

    def scaled(self, factor: Fraction) -> Sensitivity:
        return Sensitivity(self.l0, self.l1 * factor, self.l2 * factor, self.linf * factor)
