"""What an estimate says: its rows, and everything that they may be off by."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from obverse.collect.beyond import Uninformative
from obverse.collect.discover import Discovery
from obverse.core.numbers import plain

FLOOR_TOLD = 0.1  # of the variance


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
    beyond: Uninformative = Uninformative()  # noqa: RUF009  # shares of reports that carry no answer, of spent lifetimes
    pull: float = 0.0  # how far they would pull the furthest value, were they not divided out
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
            "beyond": {
                "share": self.beyond.supposed,
                "least": self.beyond.least,
                "most": self.beyond.most,
                "pull": self.pull,
            },
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
        from obverse.answers.chart import BARS_MAX, whiskered
        from obverse.answers.frames import extra

        rows = sorted(self.rows, key=lambda row: -row.value)[:BARS_MAX]
        bars = [{"key": row.item, "value": row.value, "low": row.low, "high": row.high} for row in rows]
        words = f"{self.n:,} reports, epsilon {plain(Fraction(self.epsilon), 4)} each; intervals at {100 * self.level:g} %"
        title = extra("altair", "plot").TitleParams(text=self.survey, subtitle=words, anchor="start", subtitleColor="#555")
        return whiskered(bars, "mean" if self.is_mean else "share", "answer", title)
