"""Estimates from reports: raw unbiased shares with their intervals, tests, and how far liars could move them.

The raw share is the result; it may be negative. The view on the simplex is beside it, and is labelled as what it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from obverse.core.errors import Refused
from obverse.core.numbers import plain
from obverse.local.beyond import pull, scheduled_share
from obverse.local.decode import decode
from obverse.local.detection import by_chance, corrected
from obverse.local.discover import Discovery, discover
from obverse.local.grid import Grid
from obverse.local.interval import interval
from obverse.local.protocols import Rappor
from obverse.local.protocols.base import sampled
from obverse.local.protocols.standing import repeated
from obverse.local.spec import Spec
from obverse.local.tally import Tally

if TYPE_CHECKING:
    from obverse.local.protocols.base import Codes, Doubles

LEVEL = 0.95
MALICE = 0.01  # of reports, for the worst case that is printed
FLOOR_TOLD = 0.1  # of the variance
EPSILON_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One item, or the mean: its estimate, the noise about it, and what chance alone would rarely make."""

    item: str
    value: float
    low: float
    high: float
    deviation: float
    p_value: float  # that noise alone makes a share as large; corrected for the number of items
    simplex: float | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a survey found, with everything that it may be off by."""

    survey: str
    n: int
    level: float
    simultaneous: bool
    rows: tuple[Row, ...]
    floor: float  # deviation that more reports do not lessen
    malice: float
    worst_shift: float  # of any share, by that share of malicious reports
    epsilon: str
    odd: int = 0  # reports that an honest device hardly ever sends
    beyond: float = 0.0  # a share of reports that tell nothing, because a lifetime's epsilon was spent
    pull: float = 0.0  # how far they would pull the furthest value
    unexplained: tuple[float, float] | None = None  # by regression: the share of people whom no item found explains, deviation
    discovery: Discovery | None = None  # where nobody named the items
    each: int = 1  # of reports of permanent answers, how many one device may have sent

    @property
    def is_mean(self) -> bool:
        """Whether it is of numbers: one value, and no share of anybody."""
        return [row.item for row in self.rows] == ["mean"]

    @property
    def floor_share(self) -> float:
        """How much of a variance the floor is, at most."""
        return max((self.floor**2 / row.deviation**2 for row in self.rows if row.deviation), default=0.0)

    def as_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "survey": self.survey,
            "reports": self.n,
            "level": self.level,
            "simultaneous": self.simultaneous,
            "epsilon": self.epsilon,
            "floor": self.floor,
            "malicious": {"share": self.malice, "worst_shift": self.worst_shift},
            "odd": self.odd,
            "each": self.each,
            "beyond": {"share": self.beyond, "pull": self.pull},
            "unexplained": None if self.unexplained is None else dict(zip(("share", "deviation"), self.unexplained)),
            **({} if self.discovery is None else {"discovery": self.discovery.as_json()}),
            "rows": [
                {
                    "item": row.item,
                    "share": row.value,
                    "low": row.low,
                    "high": row.high,
                    "deviation": row.deviation,
                    "p_value": row.p_value,
                    "simplex": row.simplex,
                }
                for row in self.rows
            ],
        }

    def plot(self) -> Any:
        """An altair.Chart: raw shares as bars, the most frequent first, with their intervals; from the extra `[plot]`."""
        from obverse.plan.chart import BARS_MAX, whiskered
        from obverse.plan.shown import extra

        rows = sorted(self.rows, key=lambda row: -row.value)[:BARS_MAX]
        bars = [{"key": row.item, "value": row.value, "low": row.low, "high": row.high} for row in rows]
        words = f"{self.n:,} reports, epsilon {plain(Fraction(self.epsilon), 4)} each; intervals at {100 * self.level:g} %"
        title = extra("altair", "plot").TitleParams(text=self.survey, subtitle=words, anchor="start", subtitleColor="#555")
        return whiskered(bars, "mean" if self.is_mean else "share", "answer", title)


def estimate(
    spec: Spec,
    tally: Tally,
    items: Sequence[str] = (),
    *,
    level: float = LEVEL,
    simultaneous: bool = False,
    malice: float = MALICE,
    beyond: float | None = None,
    regress: bool = False,
    among: int = 0,
    each: int | None = None,
) -> Estimate:
    """Shares of the options, or of these items, among all reports, or among more of which chance picked these.

    `beyond`: the share of reports that tell nothing, if other than by the schedule. `regress`: RAPPOR, which of the items
    explain the reports. `each`: how many reports of permanent answers are of one device at most, if not all that it may send.
    """
    import numpy as np

    enough(spec, tally.n)
    silent = float(scheduled_share(spec)) if beyond is None else beyond
    told = _Told(spec, tally, level, malice, silent, min(each or spec.survey.reports, tally.n) if spec.lasting else 1)
    if spec.grid is not None:
        return told.mean(spec.grid)
    named = tuple(items) or spec.survey.options
    if not named:
        return told.discovered(simultaneous)
    codes = np.array([spec.code(item) for item in named], dtype=np.uint64)
    if regress:
        return told.regressed(named, codes)
    found = repeated(spec.protocol.estimate(tally.counts, tally.n, codes), told.each)
    found = sampled(found, tally.n, max(among, tally.n))
    deviation = np.sqrt(found.variance)
    wide = quantile(level, len(named) if simultaneous else 1)
    tests = corrected(by_chance(found))
    whole = named == spec.survey.options
    on_simplex = simplex(found.value) if whole else np.full(len(named), np.nan)
    lows, highs = interval(found, wide)
    rows = tuple(
        Row(item, float(v), float(low), float(high), float(s), float(p), float(x) if whole else None)
        for item, v, low, high, s, p, x in zip(named, found.value, lows, highs, deviation, tests, on_simplex)
    )
    return told.estimate(rows, found.value, floor=math.sqrt(found.floor), simultaneous=simultaneous)


@dataclass(frozen=True, slots=True)
class _Told:
    """What every kind of estimate says beside its rows."""

    spec: Spec
    tally: Tally
    level: float
    malice: float
    beyond: float
    each: int

    def estimate(
        self,
        rows: tuple[Row, ...],
        shares: Doubles,
        *,
        floor: float = 0.0,
        simultaneous: bool = False,
        width: float = 1.0,
        unexplained: tuple[float, float] | None = None,
        discovery: Discovery | None = None,
        leverage: float = 0.0,
    ) -> Estimate:
        """`shares` of one are `width` in the rows; `leverage` is that of a decoder which liars can move further than others."""
        spec = self.spec
        return Estimate(
            spec.survey.name,
            self.tally.n,
            self.level,
            simultaneous,
            rows,
            floor,
            self.malice,
            max(worst_shift(spec, self.malice), self.malice * leverage) * width,
            plain(spec.loss, EPSILON_DIGITS),
            self.tally.odd,
            self.beyond,
            pull(spec, shares, self.beyond) * width,
            unexplained,
            discovery,
            self.each,
        )

    def mean(self, grid: Grid) -> Estimate:
        """The mean of numbers, by the scores of reports."""
        import numpy as np

        found = self.spec.protocol.estimate(self.tally.counts, self.tally.n, np.zeros(1, dtype=np.uint64))
        width, share = float(grid.high - grid.low), float(found.value[0])
        deviation = math.sqrt(float(found.variance[0])) * width
        half, value = quantile(self.level, 1) * deviation, grid.number(share)
        row = Row("mean", value, value - half, value + half, deviation, 1.0)
        return self.estimate((row,), found.value, width=width)

    def discovered(self, simultaneous: bool) -> Estimate:
        """Words that stand out. The choice is paid for: intervals are as wide as if all that were tested had one.

        Unless they are simultaneous, of those shown a share `level` holds on average (Benjamini and Yekutieli 2005).
        """
        import numpy as np

        quantile(self.level, 1)  # refuses what is no level
        found, told = discover(self.spec, self.tally, 1 - self.level)
        wide = quantile(self.level, found.tested / (1 if simultaneous else len(found.codes)) if len(found.codes) else 1)
        spelling, deviation = self.spec.survey.spelling, np.sqrt(found.found.variance)
        assert spelling is not None
        lows, highs = interval(found.found, wide)
        rows = tuple(
            Row(spelling.word(int(code)), float(v), float(low), float(high), float(s), float(p))
            for code, v, low, high, s, p in zip(found.codes, found.found.value, lows, highs, deviation, found.p_values)
        )
        floor = math.sqrt(found.found.floor)
        moved = found.leverage
        return self.estimate(
            rows, found.found.value, floor=floor, simultaneous=simultaneous, discovery=told, leverage=moved
        )

    def regressed(self, named: Sequence[str], codes: Codes) -> Estimate:
        """The items that are found among these candidates, by regression on the bits of all cohorts."""
        if not isinstance(self.spec.protocol, Rappor):
            raise Refused("bad_choice", "only reports of rappor are regressed.", fix="Leave --regress away.")
        found = decode(self.spec.protocol, self.tally.counts, codes, false_alarm=1 - self.level)
        wide, tests = quantile(self.level, 1), corrected(found.p_value)
        rows = tuple(
            Row(item, float(v), float(v - wide * s), float(v + wide * s), float(s), float(p))
            for item, v, s, p, seen in zip(named, found.value, found.sd, tests, found.found)
            if seen
        )
        unexplained = (found.unexplained, found.unexplained_sd)
        return self.estimate(rows, found.value[found.found], unexplained=unexplained, leverage=found.leverage)


def enough(spec: Spec, n: int) -> None:
    if n < spec.survey.minimum:
        raise Refused(
            "too_few_reports",
            f"nothing is estimated from fewer than {spec.survey.minimum} reports.",
            why="the noise of so few is larger than any share, and a handful of people is nobody's population.",
            fix="Collect more.",
        )


def quantile(level: float, tests: float) -> float:
    """How many deviations an interval reaches on each side; for several at once by Bonferroni."""
    if not 0 < level < 1:
        raise Refused("bad_parameter", "a level lies between 0 and 1.", fix="Write a level such as 0.95.")
    return -NormalDist().inv_cdf((1 - level) / (2 * tests))


def worst_shift(spec: Spec, malice: float) -> float:
    """By how much of all reports a share of crafted ones can move any item, up or down, from what is true of their senders."""
    return malice * spec.protocol.leverage()


def simplex(shares: Doubles) -> Doubles:
    """The nearest shares that are not negative and add up to one; biased, and only for looking at."""
    import numpy as np

    falling = np.sort(shares)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(shares) + 1)
    kept = int(np.flatnonzero(falling > excess)[-1])
    found: Doubles = np.maximum(shares - excess[kept], 0.0)
    return found
