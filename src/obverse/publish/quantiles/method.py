"""The distribution of one number: its CDF, ranges and quantiles, with bands; over all rows and within groups of them.

Pictures of a distribution's release: the CDF of each group in its band, and the quantiles of all groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from obverse.answers.svg import BARS_MAX, Mark, StepCurve, curve, figure, whiskers
from obverse.core.errors import Refused, invariant
from obverse.core.numbers import plain
from obverse.core.types import Type
from obverse.plan.strategy.matrix import Block, Kept, Linear, Strategy, Summed
from obverse.publish.method import Draft, Expected, Further, Labels, Law, Measured, Outcome, Published, Terms, worth
from obverse.publish.quantiles.distribution import Told, band_sheet, crossed, numbers_of, quantile_sheet, rank_errors
from obverse.publish.quantiles.leaves import Leaves, isotonic
from obverse.publish.quantiles.lines import (
    OVER,
    WITHIN,
    Asked,
    Split,
    chosen,
    line_named,
    part_named,
    share_of_all,
    split_of,
)
from obverse.publish.workload import Workload, cell_labels, label, workload_json, workload_of

Array = np.ndarray[Any, Any]


CURVES_MAX = 8
FIGURES = ("quantile", "value", "low", "high", "band_low", "band_high")


def pictures(
    outcome: Outcome, titles: Sequence[tuple[str, str]], leaves: Leaves, groups: int
) -> dict[str, tuple[str, str]]:
    """Curves of all rows and of few groups; quantiles of groups where there is room."""
    found = {}
    for place, (title, file) in enumerate(titles):
        told = outcome.further[2 * place]
        band = outcome.further[2 * place + 1]
        many = groups**place
        named = names_of(told, many)
        for n in range(many if many <= CURVES_MAX else 0):
            shown = f"{title}: {named[n]}" if named[n] else title
            end = f"-{n + 1}" if place else ""
            total = float(band.columns["rows"].reshape(many, -1)[n, -1])
            note = (
                f"share of about {figure(total)} rows; the band holds the whole curve with 95 %, whiskers each quantile"
            )
            line = curve_of(band, leaves, many, n, total)
            drawn = curve(f"{shown}: CDF and quantiles", note, line, marks_of(told, many, n), title)
            found[f"cdf-{file}{end}.svg"] = f"{shown}: CDF and quantiles", drawn
        rows = len(told.columns["quantile"])
        if place and rows <= BARS_MAX:
            marks = [mark for n in range(many) for mark in marks_of(told, many, n, named[n])]
            words = f"{title}: quantiles"
            ends = (float(leaves.lows[0]), float(leaves.highs[-1]))
            found[f"quantiles-{file}.svg"] = words, whiskers(words, "each with its own 95 % interval", marks, *ends)
    return found


def names_of(told: Further, groups: int) -> list[str]:
    """Each group's name: the values of its columns."""
    keys = [values for name, values in told.columns.items() if name not in FIGURES]
    step = len(told.columns["quantile"]) // groups
    return [
        ", ".join(label(None if np.ma.is_masked(one[n * step]) else one[n * step]) for one in keys)
        for n in range(groups)
    ]


def curve_of(band: Further, leaves: Leaves, groups: int, group: int, total: float) -> StepCurve:
    def part(name: str) -> Array:
        found: Array = band.columns[name].reshape(groups, -1)[group]
        return found

    lows = part("band_low") / max(total, 1.0)
    highs = part("band_high") / max(total, 1.0)
    start = float(leaves.lows[0])
    stepped = leaves.lows == leaves.highs
    places = [float(end) for end in leaves.highs]
    return StepCurve(
        start=start,
        places=places,
        shares=part("share").tolist(),
        lows=lows.tolist(),
        highs=highs.tolist(),
        stepped=stepped,
    )


def marks_of(told: Further, groups: int, group: int, name: str = "") -> list[Mark]:
    many = len(told.columns["quantile"]) // groups
    found = []
    for n in range(group * many, (group + 1) * many):
        share, value, low, high = (told.columns[one][n] for one in ("quantile", "value", "low", "high"))
        kept = None if np.ma.is_masked(value) else float(value)
        found.append(Mark(f"{name} {share:g}".strip(), float(share), kept, float(low), float(high)))
    return found


# our own columns
KEYS = {"up_to", "from", "to", "leaf", "leaves", "quantile", "share", "rows", "band_low", "band_high"}


@dataclass(frozen=True, slots=True)
class Quantiles:
    """The leaves of one number, counted along their line, in each group of rows.

    Claim:   one loss for everything, as the door charges it. Prefix sums, ranges and leaves are unbiased, add up, and
             have the variances told; counts are whole numbers that rise along the line. An interval holds its number
             with 95 %, a band all numbers of its sheet at once.
    Proof:   each part of the line is one map of the leaves, by itself in each group (Kept) and over all of them
             (Summed): norms are the plan's business. Estimates: publish/quantiles/lines, of publish/quantiles/lines or
             publish/quantiles/lines. Intervals of quantiles: leaves.held, of differences whose variance is exact.
             Bands: each number gets an equal part of the 5 %.
    Assumes: each row has one leaf, or none where its number is missing, and one group; leaves and groups are public.
             Sums of Laplace noise are taken to stray no more often than one such noise of their variance does.
    """

    workload: Workload  # the number's leaves first, then what groups are made of
    leaves: Leaves
    at: tuple[Fraction, ...]
    ranges: tuple[tuple[int, int], ...] = ()  # from a leaf to a leaf
    single: bool = False  # leaves by themselves are published too
    name: ClassVar[str] = "quantiles"
    after: ClassVar[tuple[str, ...]] = (
        "least squares along the line and over groups, so that everything adds up",
        "for the whole numbers: isotonic regression of each CDF, rounding",
        "quantiles by linear interpolation of the isotonic CDF inside a leaf",
    )

    def __post_init__(self) -> None:
        invariant(self.size - self.leaves.count in (0, 1), "a leaf for each value, and perhaps one for what is missing")
        if not self.at or any(not 0 < one < 1 for one in self.at) or len(set(self.at)) < len(self.at):
            raise Refused(
                "bad_quantile", "quantiles are different numbers between 0 and 1.", fix="Write --at 0.25,0.5,0.75."
            )

    @classmethod
    def example(cls, workload: Workload) -> Quantiles:
        """What trials run on: the first attribute's values are leaves."""
        ends = tuple(Fraction(n) for n in range(workload.attributes[0].cells))
        return cls(workload, Leaves(ends, ends, closed=True), (Fraction(1, 2),))

    @property
    def size(self) -> int:
        """Leaves, with that of missing numbers."""
        return self.workload.attributes[0].cells

    @property
    def groups(self) -> int:
        return math.prod(one.cells for one in self.workload.attributes[1:])

    def draft(self, terms: Terms) -> Draft:
        asked = Asked(self.leaves.count, self.ranges, self.single)
        line, shares = chosen(self.size, asked, squared=terms.accounting == "zcdp")
        over = share_of_all(self.groups, squared=terms.accounting == "zcdp")
        weights = {f"{WITHIN}:{part}": share * (1 - over) for part, share in zip(line.parts, shares) if share}
        weights |= {f"{OVER}:{part}": share * over for part, share in zip(line.parts, shares) if share and over}
        return self.weighted(terms, weights)

    def weighted(self, terms: Terms, weights: Mapping[str, Fraction]) -> Draft:
        line = line_named(list(weights), self.size)
        maps = dict(zip(line.parts, line.maps()))
        rest = self.workload.attributes[1:]
        blocks = []
        for name, weight in weights.items():
            kind, _, part = name.partition(":")
            kept: tuple[Linear, ...] = tuple((Kept if kind == WITHIN else Summed)(one.cells) for one in rest)
            blocks.append(Block(name, 0, (maps[part], *kept), weight))
        return Draft((tuple(range(len(self.workload.attributes))),), Strategy(tuple(blocks)))

    def split(self, measured: Measured) -> Split:
        return split_of(measured, self.size, self.groups)

    def titles(self) -> list[tuple[str, str]]:
        """What is told, of all rows and of each group, with names of files."""
        name = self.workload.attributes[0].name
        by = " x ".join(one.name for one in self.workload.attributes[1:])
        words = [
            "".join(c if c.isalnum() and c.isascii() else "_" for c in one.name) for one in self.workload.attributes
        ]
        return [(name, words[0][:60]), (f"{name} by {by}", "-".join(words)[:80])][: 2 if by else 1]

    def errors(self, measured: Measured, terms: Terms) -> tuple[Expected, ...]:
        split = self.split(measured)
        step = worth(measured)
        found = [
            Expected(
                one.title,
                one.file,
                len(one.stddev) * split.groups**one.place,
                one.mean,
                float(terms.half(np.array(one.mean), step)),
            )
            for one in numbers_of(split, self.leaves.count, self.kinds, self.ranges, self.titles())
        ]
        for place, (title, file) in enumerate(self.titles()):
            for at, spread in zip(self.at, rank_errors(split, self.leaves.count, self.at, place)):
                words = f"{title}: rank of quantile {plain(at)}, in rows"
                half = float(terms.half(np.array(spread), step))
                found.append(Expected(words, f"quantiles-{file}", split.groups**place, spread, half, "rank"))
        return tuple(found)

    def finish(self, measured: Measured, terms: Terms) -> Outcome:
        split = self.split(measured)
        count = self.leaves.count
        over, within = (one[..., :count] for one in split.prefixes(measured))
        rounded = np.rint(isotonic(within)).astype(np.int64)
        values: list[tuple[Any, Any]] = [(over[None], rounded.sum(axis=0)[None]), (within, rounded)]
        found = []
        for one in numbers_of(split, count, self.kinds, self.ranges, self.titles()):
            estimate, whole = (self.told(one.kind, table).reshape(-1) for table in values[one.place])
            spread = np.tile(one.stddev, split.groups**one.place)
            found.append(Published(one.title, one.file, estimate, spread, terms.half(spread, worth(measured)), whole))
        further = self.further(split, [one for one, _ in values], terms, worth(measured))
        return Outcome(tuple(found), agree=True, further=further)

    def told(self, kind: str, prefixes: Array) -> Array:
        """The numbers of a table, from the prefixes of each group."""
        if kind == "cdf":
            return prefixes
        before = np.concatenate([np.zeros((len(prefixes), 1), dtype=prefixes.dtype), prefixes], axis=1)
        if kind == "leaves":
            found: Array = np.diff(before)
            return found
        return np.stack([before[:, last + 1] - before[:, first] for first, last in self.ranges], axis=1)

    def further(self, split: Split, prefixes: Sequence[Array], terms: Terms, step: float) -> tuple[Further, ...]:
        found = []
        told = Told(self.leaves, terms, step)
        for place, (title, file) in enumerate(self.titles()):
            keys = self.keys(place)
            found.append(quantile_sheet((title, file), keys, split, prefixes[place], told, self.at, place))
            found.append(band_sheet((title, file), keys, split, prefixes[place], told, place))
        return tuple(found)

    def keys(self, place: int) -> Labels:
        """What each group is; nothing for all rows."""
        if not place:
            return {}, {}
        columns, types = cell_labels(self.workload, tuple(range(1, len(self.workload.attributes))))
        names = {name: name + (" (key)" if name in KEYS else "") for name in columns}
        return {names[n]: values for n, values in columns.items()}, {names[n]: kind for n, kind in types.items()}

    def block_title(self, name: str) -> str:
        kind, line, place = part_named(name, self.size)
        return f"{self.titles()[-1 if kind == WITHIN else 0][0]}: {line.words(place)}"

    def block_labels(self, name: str) -> Labels:
        """What an entry covers, and the group that it is of, which runs fastest."""
        kind, line, place = part_named(name, self.size)
        columns, types = self.keys(1 if kind == WITHIN and len(self.workload.attributes) > 1 else 0)
        covers = np.array([self._covered(*ends) for ends in line.covers(place)], dtype=object)
        groups = self.groups if kind == WITHIN else 1
        found: dict[str, Array] = {"leaves": np.repeat(covers, groups)}
        for key, values in columns.items():
            kept, hidden = (np.tile(one, len(covers)) for one in (np.ma.getdata(values), np.ma.getmaskarray(values)))
            found[key] = np.ma.array(kept, mask=hidden)
        return found, {"leaves": Type.TEXT} | types

    def _covered(self, first: int, last: int) -> str:
        """From leaf to leaf, in words."""
        count = self.leaves.count
        leaves = self.leaves
        if first >= count:
            return "missing"
        end = min(last, count - 1)
        words = leaves.named(leaves.lows[first], leaves.highs[end], last=end == count - 1)
        return words + (" or missing" if last >= count else "")

    def labels(self, place: int) -> Labels:
        """The group, then the leaf or range."""
        kinds = [(kind, n) for kind in self.kinds for n in range(len(self.titles()))]
        kind, by = kinds[place]
        columns, types = self.keys(by)
        own: dict[str, Array]
        if kind == "cdf":
            own = {"up_to": self.leaves.numbers(self.leaves.highs)}
        elif kind == "leaves":
            own = {"leaf": np.array(self.leaves.names(), dtype=object)}
        else:
            ends = [(self.leaves.lows[first], self.leaves.highs[last]) for first, last in self.ranges]
            own = {name: self.leaves.numbers(one) for name, one in zip(("from", "to"), zip(*ends))}
        return crossed(
            (columns, types), (own, {name: Type.TEXT if name == "leaf" else self.leaves.type for name in own})
        )

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("cdf", *(("ranges",) if self.ranges else ()), *(("leaves",) if self.single else ()))

    def laws(self, tables: Sequence[Mapping[str, Array]], agree: bool) -> list[Law]:
        many = len(self.titles())
        count = self.leaves.count
        shaped = []
        for n, table in enumerate(tables):
            shaped.append({name: table[name].reshape(self.groups ** (n % many), -1) for name in ("count", "estimate")})
        rising = all(bool((np.diff(shaped[n]["count"], axis=1) >= 0).all()) for n in range(many))
        sums = ranges = True
        for n, kind in enumerate(self.kinds):
            for name in ("count", "estimate"):
                whole = shaped[many * n][name]
                parts = shaped[many * n + many - 1][name]
                sums = sums and bool(np.allclose(parts.sum(axis=0), whole[0], atol=1e-3))
                for by in range(many):
                    told = self.told(kind, shaped[by][name].reshape(-1, count))
                    ranges = ranges and bool(np.allclose(told, shaped[many * n + by][name], atol=1e-3))
        return [
            Law("rising", rising, "counts up to each leaf rise along the line"),
            Law("sums", sums, "groups add up to all rows"),
            Law("differences", ranges, "ranges and leaves are differences of what lies up to their ends"),
        ]

    def invariants(self) -> str:
        return ""

    def pictures(self, outcome: Outcome) -> dict[str, tuple[str, str]]:
        return pictures(outcome, self.titles(), self.leaves, self.groups)

    def as_json(self) -> dict[str, Any]:
        return workload_json(self.workload) | {
            "leaves": self.leaves.as_json(),
            "at": [str(one) for one in self.at],
            "ranges": [list(one) for one in self.ranges],
            "single": self.single,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Quantiles:
        leaves = Leaves.from_json(fields["leaves"])
        ranges = tuple((int(first), int(last)) for first, last in fields["ranges"])
        return cls(
            workload_of(fields), leaves, tuple(Fraction(one) for one in fields["at"]), ranges, bool(fields["single"])
        )
