"""Estimates from reports: raw unbiased shares with their intervals, tests, and how far liars could move them.

The raw share is the result; it may be negative. The view on the simplex is beside it, and is labelled as what it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

from obverse.collect.beyond import Uninformative, pull, uniform_shares, uninformative
from obverse.collect.decode import decode
from obverse.collect.detection import by_chance, corrected
from obverse.collect.discover import Discovery, discover
from obverse.collect.interval import interval
from obverse.collect.protocols import Rappor
from obverse.collect.protocols.base import sampled
from obverse.collect.protocols.standing import repeated
from obverse.collect.randomness.grid import Grid
from obverse.collect.result import Estimate, Row
from obverse.collect.spec import Spec
from obverse.collect.tally import Tally
from obverse.core.errors import Refused
from obverse.core.numbers import plain

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Codes, Doubles, Estimated

LEVEL = 0.95
MALICE = 0.01  # of reports, for the worst case that is printed
EPSILON_DIGITS = 10


def estimate(
    spec: Spec,
    tally: Tally,
    items: Sequence[str] = (),
    *,
    level: float = LEVEL,
    simultaneous: bool = False,
    malice: float = MALICE,
    beyond: float | Uninformative | None = None,
    regress: bool = False,
    among: int = 0,
    each: int | None = None,
    people: int | None = None,
) -> Estimate:
    """Shares of the options, or of these items, among all reports that carry an answer, or among more of which chance picked
    these.

    `beyond`: the share of reports that carry none, where it is known. `regress`: RAPPOR, which of the items explain the
    reports. `each`: how many reports are of one device at most, if not all that it may send. `people`: how many devices sent
    any, at most.
    """
    import numpy as np

    enough(spec, tally.n)
    silent = beyond
    if not isinstance(silent, Uninformative):
        silent = uninformative(spec, tally.n, share=silent, each=each, people=people, gone=tally.gone)
    most = min(each or spec.survey.reports, tally.n) if spec.lasting else 1
    told = _Told(spec, tally, level, malice, silent, max(among, tally.n), most)
    if spec.grid is not None:
        return told.mean(spec.grid)
    named = tuple(items) or spec.survey.options
    if not named:
        return told.discovered(simultaneous)
    codes = np.array([spec.code(item) for item in named], dtype=np.uint64)
    if regress:
        return told.regressed(named, codes)
    found = repeated(spec.protocol.estimate(tally.counts, tally.n, codes), told.each)
    found, towards = sampled(found, tally.n, told.among), uniform_shares(spec, named)
    found = replace(found, variance=found.variance + silent.noise(towards, told.among, told.each))
    wide = quantile(level, len(named) if simultaneous else 1)
    tests = corrected(by_chance(found, silent.most * towards))
    rows = told.rows(named, found, towards, wide, tests)
    if named == spec.survey.options:
        on_simplex = simplex(np.array([row.value for row in rows]))
        rows = tuple(replace(row, simplex=float(share)) for row, share in zip(rows, on_simplex))
    return told.estimate(rows, found.value, towards, floor=math.sqrt(found.floor), simultaneous=simultaneous)


@dataclass(frozen=True, slots=True)
class _Told:
    """What every kind of estimate says beside its rows."""

    spec: Spec
    tally: Tally
    level: float
    malice: float
    silent: Uninformative
    among: int
    each: int

    def rows(self, named: Sequence[str], found: Estimated, towards: Doubles, wide: float, tests: Doubles) -> tuple[Row, ...]:
        """Shares among reports that carry an answer, by those of all reports."""
        import numpy as np

        values = self.silent.informed(found.value, towards)
        lows, highs = self.silent.interval(*interval(found, wide), towards)
        deviation = np.sqrt(found.variance) / (1 - self.silent.supposed)
        return tuple(
            Row(item, float(v), float(low), float(high), float(s), float(p))
            for item, v, low, high, s, p in zip(named, values, lows, highs, deviation, tests)
        )

    def estimate(
        self,
        rows: tuple[Row, ...],
        shares: Doubles,
        towards: Doubles | float,
        *,
        floor: float = 0.0,
        simultaneous: bool = False,
        width: float = 1.0,
        unexplained: tuple[float, float] | None = None,
        discovery: Discovery | None = None,
        leverage: float = 0.0,
    ) -> Estimate:
        """`shares` are of all reports, one of them is `width` in the rows; `leverage` is that of a decoder which liars can move
        further than others."""
        spec, silent = self.spec, self.silent
        shift = max(worst_shift(spec, self.malice), self.malice * leverage)
        return Estimate(
            spec.survey.name,
            self.tally.n,
            self.level,
            simultaneous,
            rows,
            floor / (1 - silent.supposed),
            self.malice,
            shift * width / (1 - silent.most),
            plain(spec.loss, EPSILON_DIGITS),
            self.tally.odd,
            silent,
            pull(shares, towards, silent.most) * width,
            unexplained,
            discovery,
            self.each,
        )

    def mean(self, grid: Grid) -> Estimate:
        """The mean of numbers, by the scores of reports; of those that carry no answer it is the middle."""
        import numpy as np

        found = self.spec.protocol.estimate(self.tally.counts, self.tally.n, np.zeros(1, dtype=np.uint64))
        width, deviation = float(grid.high - grid.low), np.sqrt(found.variance)
        half = quantile(self.level, 1) * deviation
        middle = 0.5
        ends = (
            self.silent.informed(found.value, middle),
            *self.silent.interval(found.value - half, found.value + half, middle),
        )
        value, low, high = (grid.number(float(end[0])) for end in ends)
        row = Row("mean", value, low, high, float(deviation[0]) * width / (1 - self.silent.supposed), 1.0)
        return self.estimate((row,), found.value, middle, width=width)

    def discovered(self, simultaneous: bool) -> Estimate:
        """Words that stand out. The choice is paid for: intervals are as wide as if all that were tested had one.

        Unless they are simultaneous, of those shown a share `level` holds on average (Benjamini and Yekutieli 2005).
        """
        quantile(self.level, 1)  # refuses what is no level
        found, told = discover(self.spec, self.tally, 1 - self.level)
        wide = quantile(self.level, found.tested / (1 if simultaneous else len(found.codes)) if len(found.codes) else 1)
        spelling = self.spec.survey.spelling
        assert spelling is not None
        words = [spelling.word(int(code)) for code in found.codes]
        towards = uniform_shares(self.spec, words)
        rows = self.rows(words, found.found, towards, wide, found.p_values)
        floor = math.sqrt(found.found.floor)
        moved = found.leverage
        return self.estimate(
            rows, found.found.value, towards, floor=floor, simultaneous=simultaneous, discovery=told, leverage=moved
        )

    def regressed(self, named: Sequence[str], codes: Codes) -> Estimate:
        """The items that are found among these candidates, by regression on the bits of all cohorts."""
        import numpy as np

        if not isinstance(self.spec.protocol, Rappor):
            raise Refused("bad_choice", "only reports of rappor are regressed.", fix="Leave --regress away.")
        found = decode(self.spec.protocol, self.tally.counts, codes, false_alarm=1 - self.level)
        wide, tests = quantile(self.level, 1), corrected(found.p_value)
        towards = uniform_shares(self.spec, named)
        values = self.silent.informed(found.value, towards)
        lows, highs = self.silent.interval(found.value - wide * found.sd, found.value + wide * found.sd, towards)
        left = 1 - self.silent.supposed
        rows = tuple(
            Row(item, float(v), float(low), float(high), float(s) / left, float(p))
            for item, v, low, high, s, p, seen in zip(named, values, lows, highs, found.sd, tests, found.found)
            if seen
        )
        rest = self.silent.informed(np.array([found.unexplained]), 1.0)[0]  # no item explains a report of no answer
        unexplained = (float(rest), found.unexplained_sd / left)
        seen = found.found
        return self.estimate(rows, found.value[seen], towards[seen], unexplained=unexplained, leverage=found.leverage)


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
