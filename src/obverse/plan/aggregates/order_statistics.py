"""MIN, MAX, MEDIAN, PERCENTILE_DISC: their global sensitivity is explained; a private answer needs another
mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from obverse.core.bounds import Interval
from obverse.core.errors import Refused
from obverse.core.units import Neighbours
from obverse.plan.aggregates.base import Setting
from obverse.plan.expressions import Expr
from obverse.plan.measures import bounded


@dataclass(frozen=True, slots=True)
class OrderStatistic:
    """A statistic that returns a row's own value.

    Claim:   `sensitivity` is the global sensitivity: the largest change that one unit can make, over all databases.
    Proof:   MIN, MAX, PERCENTILE_DISC: all other values at one end, the unit's value decides between the ends, so the
             whole spread is reached, and no two values are farther apart. MEDIAN as the mean of the two middle values:
             changing one row moves one of the two middle values, by at most the spread, so the mean by half of it, when
             their number is even; by all of it when it is odd. Adding or removing a row turns one value in the middle
             into two of which it is one: half the spread.
    Assumes: the argument has bounds; one row per unit.
    """

    name: str
    spoken: str

    def sensitivity(self, argument: Expr, setting: Setting) -> Fraction:
        spread = _bounds(argument, self.spoken).spread
        if self.name != "median":
            return spread
        if setting.neighbours is Neighbours.ADD_REMOVE:
            return spread / 2
        return spread / 2 if setting.size is not None and setting.size % 2 == 0 else spread


def _bounds(argument: Expr, spoken: str) -> Interval:
    try:
        return bounded(argument)
    except Refused as refused:
        refused.message = f"the sensitivity of {spoken} is unbounded here: its argument has no bounds on both sides."
        raise


ORDER_STATISTICS = (
    OrderStatistic("min", "MIN(x)"),
    OrderStatistic("max", "MAX(x)"),
    OrderStatistic("median", "MEDIAN(x)"),
    OrderStatistic("percentile_disc", "PERCENTILE_DISC(q) WITHIN GROUP (ORDER BY x)"),
)
