"""Estimates from reports: raw unbiased shares with their intervals, tests, and how far liars could move them.

The raw share is the result; it may be negative. The view on the simplex is beside it, and is labelled as what it is.

Reports that carry no answer, because their device had spent the lifetime's epsilon: how many there may be, and shares
among the others.

Nobody can tell which reports these are. Of fresh coins a device sends its answer `min(reports, lifetime / epsilon)`
times and then a report of no answer, to the end of the schedule; so their share is known where every device sent all of
its reports, and bounded where some stopped. Of permanent answers it depends on how often answers change, and is bounded
only.

Tests of shares: how likely noise alone makes one as large, where nobody has the item.

Intervals about shares: all shares under which noise would hardly make what was reported.

What an estimate says: its rows, and everything that they may be off by.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from obverse.collect.discovery import Discovery, decode, discover
from obverse.collect.protocols import Loloha, Rappor
from obverse.collect.protocols.base import Codes, Doubles, Estimated, repeated, sampled
from obverse.collect.randomness.hashing import Grid
from obverse.collect.spec import Spec
from obverse.collect.tally import Tally
from obverse.core.errors import Refused
from obverse.core.numbers import plain


@dataclass(frozen=True, slots=True)
class Uninformative:
    """The least and the greatest share of reports that may carry no answer, and the one that values suppose."""

    least: float = 0.0
    most: float = 0.0
    supposed: float = 0.0

    @property
    def known(self) -> bool:
        return self.least == self.most

    def informed(self, values: Doubles, towards: Doubles | float) -> Doubles:
        """Shares among reports that carry an answer, by shares of all reports, at the share that is supposed."""
        return (values - self.supposed * towards) / (1 - self.supposed)

    def interval(self, low: Doubles, high: Doubles, towards: Doubles | float) -> tuple[Doubles, Doubles]:
        """The same of an interval: all of it, at every share that may be.

        Claim:   where [low, high] holds the share of all reports, this holds the one among reports that carry an
                 answer.
        Proof:   with s the share of reports that carry none, of which `towards` are of the item, all reports have a
                 share (1 - s) f + s towards. Solved for f it rises with the share of all reports, and is monotone in s:
                 the ends of both intervals bound it.
        Assumes: s lies between `least` and `most`.
        """
        ends = [(s, 1 - s) for s in (self.least, self.most)]
        lows, highs = ([(end - s * towards) / left for s, left in ends] for end in (low, high))
        return np.minimum(*lows), np.maximum(*highs)

    def noise(self, towards: Doubles | float, n: int, each: int) -> Doubles | float:
        """The variance of the share of all `n` reports which items drawn at random add.

        Claim:   at least that of the reports that carry no answer, whose items are coins of chance `towards`.
        Proof:   there are s n of them. Those of fresh coins are independent; a device of permanent answers draws one
                 item for all of its own, `each` at most, so that the squares of these numbers add up to s n each.
        Assumes: s is at most `most`.
        """
        return self.most * towards * (1 - towards) * each / n


def uninformative(
    spec: Spec, n: int, *, share: float | None = None, each: int | None = None, people: int | None = None, gone: int = 0
) -> Uninformative:
    """Of n reports. `share`: the curator knows it. `each`: no device sent more of them. `people`: no more devices took
    part. `gone`: so many more were sent, and are deleted with their counts.

    Claim:   the share lies between `least` and `most`. They are equal if `people` devices sent `each` reports.
    Proof:   a device of k reports sends at least `telling(k)[0]` of its answer, if it sends so many, and at most
             `telling(k)[1]`; both rise with k and by no more than one for each report. So of n + gone reports at most
             (n + gone) (1 - telling(each)[0] / each) carry none, all of which may be among the n; and all but
             people * telling(each)[1] carry none.
    Assumes: devices keep their schedule, nothing that they sent was lost on the way, and nobody whose answer is
             permanent withdraws consent and gives it again.
    """
    asked = spec.survey
    lasting = spec.lasting is not None
    if share is not None:
        return _sure(share)
    each = min(each or asked.reports, asked.reports, n + gone)
    if people is not None and people * each < n:
        raise Refused(
            "bad_parameter",
            f"{n:,} reports are more than {people:,} people sent.",
            why=f"nobody sent more than {each:,}.",
            fix="Give the number of all people who took part, or leave --people away.",
        )
    fewest, most = telling(spec, each)
    greatest = min((1 - Fraction(fewest, each)) * (n + gone) / n, Fraction(1))
    if gone and greatest == 1:
        raise Refused(
            "too_few_reports",
            f"perhaps none of these {n:,} reports carries an answer, so nothing is estimated.",
            why=f"{gone:,} others were deleted, too few at a time for their counts to stay, and may have spent the "
            "lifetimes.",
            fix="Give the share that carries none as --beyond, if you know it; ask the next time with a longer "
            "retention_days.",
        )
    least = 0.0 if people is None else max(1 - Fraction(people * most, n), Fraction(0))
    usual = scheduled_share(spec, each) if lasting else greatest
    found = Uninformative(float(least), float(greatest), float(min(max(usual, least), greatest)))
    return _sure(found.most) if found.least >= 1 or found.most >= 1 else found


def telling(spec: Spec, reports: int) -> tuple[int, int]:
    """Of so many reports of one device, how many carry its answer: at least, and at most.

    Claim:   as `client.next_step` charges them.
    Proof:   of fresh coins each report costs its loss until one more would exceed the lifetime. A permanent answer
             costs `first` when it is used, and `again` when it is used once more; after that nothing. Answers that
             change as is most costly use a new one and use it again, in turn, or all new ones first, whichever costs
             more; a device that never changes its answer pays for one.
    Assumes: of permanent answers, no consent is withdrawn and given again, which pays for them anew.
    """
    lifetime = spec.survey.lifetime
    permanent = spec.permanent
    if permanent is None:
        number = min(reports, int(lifetime / spec.loss))
        return number, number
    first = min(spec.loss, permanent)
    fewest = bisect_left(range(1, reports + 1), True, key=lambda sent: dearest(spec, sent) > lifetime)
    most = reports if lifetime >= permanent else min(reports, int(lifetime / first))
    return fewest, most


def dearest(spec: Spec, sent: int) -> Fraction:
    """The most that so many reports of permanent answers cost one device, however its answers change."""
    permanent = spec.permanent or spec.loss
    first = min(spec.loss, permanent)
    again = permanent - first
    kinds = _kinds(spec, sent)
    if again >= first:
        pairs, odd = divmod(min(sent, 2 * kinds), 2)
        return pairs * permanent + odd * first
    new = min(sent, kinds)
    return new * first + min(sent - new, new) * again


def scheduled_share(spec: Spec, reports: int | None = None) -> Fraction:
    """The share of reports that carry no answer, once everybody has sent all of theirs; of people whose answer
    stays.
    """
    reports = spec.survey.reports if reports is None else reports
    fewest, most = telling(spec, reports)
    if spec.permanent is not None:
        fewest = reports if spec.survey.lifetime >= spec.permanent else min(most, 1)
    return 1 - Fraction(fewest, reports)


def uniform_shares(spec: Spec, items: Sequence[str]) -> Doubles:
    """The share that each of these items has among reports that carry no answer: all of the option for no answer, else
    as
    `client` draws them; a text has none."""
    asked = spec.survey
    if asked.none is not None:
        return np.array([float(item == asked.none) for item in items])
    if asked.options:
        return np.full(len(items), 1 / len(asked.options))
    spelling = asked.spelling
    return np.full(len(items), 0.0 if spelling is None else 0.5 ** (spelling.letters * spelling.bits))


def pull(values: Doubles, towards: Doubles | float, share: float) -> float:
    """How far off the furthest of these shares of all reports is, if such a share of them carries no answer."""
    return share / (1 - share) * float(np.abs(np.clip(values, 0.0, 1.0) - towards).max(initial=0.0))


def without(found: Estimated, share: Doubles | float) -> tuple[Doubles, Doubles]:
    """By how much values exceed this share, and the variance that they have at it."""
    known = np.clip(found.value, 0.0, 1.0)
    none = found.variance - found.tilt * known + found.bend * known**2
    return found.value - share, none + found.tilt * share - found.bend * np.square(share)


def _kinds(spec: Spec, reports: int) -> int:
    """How many permanent answers one device can have."""
    known = len(spec.survey.options) or reports
    return min(known, spec.protocol.symbols) if isinstance(spec.protocol, Loloha) else known


def _sure(share: float) -> Uninformative:
    if not 0 <= share < 1:
        raise Refused(
            "bad_parameter",
            "no report carries an answer, so nothing is estimated.",
            why="every device had spent its lifetime's epsilon.",
            fix="Give a share below 1 as --beyond, or declare a survey whose lifetime is at least the epsilon of a "
            "report.",
        )
    return Uninformative(share, share, share)


LEAST = 1e-300  # of a variance
SURELY = -40.0  # deviates of what is always so
NEAR = 1e-3  # deviates within which the tail is one half


def by_chance(found: Estimated, null: Doubles | float = 0.0) -> Doubles:
    """For each item the chance of so large a share, or a larger one, if its share is none; or `null`, which reports
    that carry no answer give it.

    Claim:   where reports support an item or do not, by fresh hashes or none, it is at most 4 % smaller and 6 % larger
             than the chance itself, of 20 people and more, and down to one in a million. Of others it is as near as the
             normal law at the variance of no share, half a report off.
    Proof:   under no share every report supports the item by a coin of the same chance, so support is binomial; its
             tail is that of `deviates`. Compared by enumeration: tests/unit/collect/test_estimate_detection.py.
             What has more variance than the coins, by collisions or by coins that devices keep, is by as much nearer
             to nothing in deviates.
    Assumes: the variance at no share is what `tilt` and `bend` tell. Where `null` is given, each report that carries no
             answer supports the item by a coin of its own, or their sum varies less.
    """
    value, none = without(found, null)
    none = np.maximum(none, LEAST)
    if found.coins is None:
        off = (value - found.grain) / np.sqrt(none)
    else:
        n = found.coins[0]
        more = 2 * n * found.grain  # the grain is half of 1 / n over what one's own counts more
        idle = found.coins[1] + null / more
        support = found.coins[1] + found.value / more
        coins = idle * (1 - idle) * 4 * n * np.square(found.grain)  # of the variance, what is of the coins
        off = deviates(support, n, idle) * np.sqrt(np.minimum(coins / none, 1.0))
    return np.array([NormalDist().cdf(-x) for x in off])


def deviates(support: Doubles, n: int, idle: Doubles | float) -> Doubles:
    """Of shares of n coins that came up, each of chance `idle`: as far in the tail of a normal as they are in theirs.

    The signed root r of the deviance half a coin off, and log(u / r) / r for its skewness, u being the saddlepoint's
    deviate for whole numbers (Daniels 1987, Barndorff-Nielsen 1986).
    """
    rate = np.clip(support - 0.5 / n, 0.25 / n, 1 - 0.25 / n)
    more = np.log(rate / idle)
    less = np.log((1 - rate) / (1 - idle))
    root = np.sign(rate - idle) * np.sqrt(2 * n * np.maximum(rate * more + (1 - rate) * less, 0.0))
    tilted = 2 * np.sinh((more - less) / 2) * np.sqrt(n * rate * (1 - rate))
    far = np.abs(root) > NEAR
    ratio = np.where(far, tilted, 1.0) / np.where(far, root, 1.0)
    found: Doubles = np.where(
        support * n < 0.5, SURELY, root + np.where(far, np.log(ratio) / np.where(far, root, 1.0), 0.0)
    )
    return found


def corrected(p_values: Doubles) -> Doubles:
    """Holm's correction: of all items found, one is found in error with at most the chance that is told."""
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    found = np.empty_like(p_values)
    found[order] = np.minimum(stepped, 1.0)
    return found


def interval(found: Estimated, wide: float) -> tuple[Doubles, Doubles]:
    """The least and the greatest share that lie at most `wide` deviations of their own, and half a report, from the
    estimate.

    Claim:   of direct response by 50 and by 200 people, 2 to 50 options and epsilon 0.1 to 8, an interval of 95 %
             covers every share with at least 94.5 %. For other protocols, and further in the tails, it is as near as
             the normal law is.
    Proof:   Wilson 1927 for binary answers: a share f is tested with the variance that noise has under f, which is
             A + tilt f - bend f**2, not with that of the estimate, which is next to nothing where few reports came by
             chance. Counts are whole, so half a report is added as the normal law needs it (Yates 1934). Coverage by
             enumeration: tests/unit/collect/test_estimate_interval.py.
    Assumes: the variance is linear in the share but for who was sampled; shares beyond [0, 1] vary as the nearest share
             does.
    """
    known = np.clip(found.value, 0.0, 1.0)
    none = found.variance - found.tilt * known + found.bend * known**2  # the variance of a share of nothing
    high = _upper(found.value + found.grain, wide**2, none, found.tilt, found.bend)
    all_ = none + found.tilt - found.bend
    low = 1 - _upper(1 - found.value + found.grain, wide**2, all_, 2 * found.bend - found.tilt, found.bend)
    return low, high


def _upper(centre: Doubles, square: float, none: Doubles, tilt: Doubles | float, bend: Doubles | float) -> Doubles:
    """The greatest f with (f - centre)**2 <= square * variance(f): a quadratic within [0, 1], beyond it plain
    deviations.
    """
    beyond = centre + np.sqrt(square * np.maximum(none + tilt - bend, 0.0))
    below = centre + np.sqrt(square * np.maximum(none, 0.0))
    half = centre + square * tilt / 2
    under = half**2 - (1 + square * bend) * (centre**2 - square * none)
    root = (half + np.sqrt(np.maximum(under, 0.0))) / (1 + square * bend)
    found: Doubles = np.where(beyond >= 1, beyond, np.where((under >= 0) & (root >= 0), np.minimum(root, 1.0), below))
    return found


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
    beyond: Uninformative = Uninformative()  # shares of reports that carry no answer, of spent lifetimes
    pull: float = 0.0  # how far they would pull the furthest value, were they not divided out
    # by regression: the share of people whom no item found explains, deviation
    unexplained: tuple[float, float] | None = None
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
        """An altair.Chart: raw shares as bars, the most frequent first, with their intervals; from the extra
        `[plot]`.
        """
        from obverse.answers.chart import BARS_MAX, whiskered
        from obverse.answers.frames import extra

        rows = sorted(self.rows, key=lambda row: -row.value)[:BARS_MAX]
        bars = [{"key": row.item, "value": row.value, "low": row.low, "high": row.high} for row in rows]
        words = (
            f"{self.n:,} reports, epsilon {plain(Fraction(self.epsilon), 4)} each; intervals at {100 * self.level:g} %"
        )
        title = extra("altair", "plot").TitleParams(
            text=self.survey, subtitle=words, anchor="start", subtitleColor="#555"
        )
        return whiskered(bars, "mean" if self.is_mean else "share", "answer", title)


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
    """Shares of the options, or of these items, among all reports that carry an answer, or among more of which chance
    picked these.

    `beyond`: the share of reports that carry none, where it is known. `regress`: RAPPOR, which of the items explain the
    reports. `each`: how many reports are of one device at most, if not all that it may send. `people`: how many devices
    sent any, at most.
    """
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
    found = sampled(found, tally.n, told.among)
    towards = uniform_shares(spec, named)
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

    def rows(
        self, named: Sequence[str], found: Estimated, towards: Doubles, wide: float, tests: Doubles
    ) -> tuple[Row, ...]:
        """Shares among reports that carry an answer, by those of all reports."""
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
        """`shares` are of all reports, one of them is `width` in the rows; `leverage` is that of a decoder which liars
        can move
        further than others."""
        spec = self.spec
        silent = self.silent
        shift = max(worst_shift(spec, self.malice), self.malice * leverage)
        return Estimate(
            survey=spec.survey.name,
            n=self.tally.n,
            level=self.level,
            simultaneous=simultaneous,
            rows=rows,
            floor=floor / (1 - silent.supposed),
            malice=self.malice,
            worst_shift=shift * width / (1 - silent.most),
            epsilon=plain(spec.loss, EPSILON_DIGITS),
            odd=self.tally.odd,
            beyond=silent,
            pull=pull(shares, towards, silent.most) * width,
            unexplained=unexplained,
            discovery=discovery,
            each=self.each,
        )

    def mean(self, grid: Grid) -> Estimate:
        """The mean of numbers, by the scores of reports; of those that carry no answer it is the middle."""
        found = self.spec.protocol.estimate(self.tally.counts, self.tally.n, np.zeros(1, dtype=np.uint64))
        width = float(grid.high - grid.low)
        deviation = np.sqrt(found.variance)
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
        if not isinstance(self.spec.protocol, Rappor):
            raise Refused("bad_choice", "only reports of rappor are regressed.", fix="Leave --regress away.")
        found = decode(self.spec.protocol, self.tally.counts, codes, false_alarm=1 - self.level)
        wide = quantile(self.level, 1)
        tests = corrected(found.p_value)
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
    """By how much of all reports a share of crafted ones can move any item, up or down, from what is true of their
    senders.
    """
    return malice * spec.protocol.leverage()


def simplex(shares: Doubles) -> Doubles:
    """The nearest shares that are not negative and add up to one; biased, and only for looking at."""
    falling = np.sort(shares)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(shares) + 1)
    kept = int(np.flatnonzero(falling > excess)[-1])
    found: Doubles = np.maximum(shares - excess[kept], 0.0)
    return found
