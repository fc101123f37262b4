"""What is told of a distribution: errors of its numbers beforehand, and sheets of quantiles and of bands afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.core.types import Type
from obverse.publish.method import Further, Labels, Terms
from obverse.publish.quantiles.leaves import Leaves, held, inverted, isotonic
from obverse.publish.quantiles.lines import Split, range_variance

Array = np.ndarray[Any, Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Told:
    """What sheets are told with: leaves, how intervals are made, and the steps that noise comes in."""

    leaves: Leaves
    terms: Terms
    step: float


Title = tuple[str, str]  # and its file
TOLD = {"cdf": "rows up to each leaf", "ranges": "rows in ranges", "leaves": "rows in each leaf"}


@dataclass(frozen=True, slots=True)
class Numbers:
    """One table of counts: its kind, of all rows or by group (place 1), and the standard deviations, alike in every
    group.
    """

    kind: str
    place: int
    title: str
    file: str
    stddev: Floats

    @property
    def mean(self) -> float:
        """The root of the mean variance."""
        return float((self.stddev**2).mean() ** 0.5)


def numbers_of(
    split: Split, count: int, kinds: Sequence[str], ranges: Sequence[tuple[int, int]], titles: Sequence[Title]
) -> list[Numbers]:
    """From noise alone. `count` leaves are told; one more may hold what is missing."""
    found: list[Numbers] = []
    spread = split.against(np.zeros(split.line.leaves))
    for kind in kinds:
        for place, (title, file) in enumerate(titles):
            if kind == "cdf":
                variance = (spread.within if place else spread.over)[:count]
            elif kind == "leaves":
                variance = split.single()[place][:count]
            else:
                variance = np.array([_range(split, one, place) for one in ranges])
            name = f"{len(found) + 1:02d}-{kind}-{file}"
            found.append(Numbers(kind, place, f"{title}: {TOLD[kind]}", name, np.sqrt(variance)))
    return found


def _range(split: Split, leaves: tuple[int, int], place: int) -> float:
    over = range_variance(split.line, split.over, leaves)
    if not place or split.groups == 1:
        return over
    return range_variance(split.line, split.within, leaves) * (1 - 1 / split.groups) + over * split.groups**-2


def spreads(split: Split, count: int, at: Sequence[Fraction], place: int) -> tuple[Floats, list[Floats]]:
    """Standard deviations of every prefix; and, for each quantile, of every prefix less its share of the whole."""
    known = np.arange(split.line.leaves) < count
    spread = split.against(known.astype(np.float64))
    own, shared = (spread.within, spread.within_with) if place else (spread.over, spread.over_with)
    own = own[:count]
    shared = shared[:count]
    ranks = [np.sqrt(np.maximum(own + float(q) ** 2 * own[-1] - 2 * float(q) * shared, 0.0)) for q in at]
    return np.sqrt(own), ranks


def rank_errors(split: Split, count: int, at: Sequence[Fraction], place: int) -> list[float]:
    """How far a quantile is off in rank, in rows: the root of the mean variance over leaves."""
    return [float((one**2).mean() ** 0.5) for one in spreads(split, count, at, place)[1]]


def crossed(groups: Labels, own: Labels) -> Labels:
    """Every group with every row of its own, which run fastest."""
    size = len(next(iter(own[0].values())))
    many = len(next(iter(groups[0].values()))) if groups[0] else 1
    found: dict[str, Array] = {}
    for name, values in groups[0].items():
        found[name] = np.ma.array(
            np.repeat(np.ma.getdata(values), size), mask=np.repeat(np.ma.getmaskarray(values), size)
        )
    for name, values in own[0].items():
        found[name] = np.tile(values, many)
    return found, {**groups[1], **own[1]}


def quantile_sheet(
    title: Title, keys: Labels, split: Split, prefixes: Array, told: Told, at: Sequence[Fraction], place: int
) -> Further:
    """Quantiles of each group, each with an interval by itself and with one that holds together with all others."""
    leaves = told.leaves
    many = len(at) * len(prefixes)
    ranks = spreads(split, leaves.count, at, place)[1]
    rising = isotonic(prefixes)
    found: dict[str, list[float | None]] = {name: [] for name in ("value", "low", "high", "band_low", "band_high")}
    for group, line in zip(prefixes, rising):
        for q, spread in zip(at, ranks):
            found["value"].append(inverted(line, float(group[-1]), leaves, q))
            for name, together in (("", 1), ("band_", many)):
                first, last = held(group, told.terms.half(spread, told.step, together), q)
                found[f"{name}low"].append(float(leaves.lows[first]))
                found[f"{name}high"].append(float(leaves.highs[last]))
    columns, types = crossed(keys, ({"quantile": np.array([float(q) for q in at])}, {"quantile": Type.DOUBLE}))
    for name, values in found.items():
        masked = [value is None for value in values]
        columns[name] = np.ma.array([value or 0.0 for value in values], mask=masked)
    words = (
        "quantiles. `low` and `high` hold each one by itself with 95 %; `band_low` and `band_high` hold all of the "
        "sheet at "
        "once, with 95 %. The ends are those of leaves. A value is missing where the noisy number of rows is not above "
        "zero."
    )
    return Further(
        f"{title[0]}: quantiles", f"quantiles-{title[1]}", columns, types | dict.fromkeys(found, Type.DOUBLE), words
    )


def band_sheet(title: Title, keys: Labels, split: Split, prefixes: Array, told: Told, place: int) -> Further:
    """The isotonic CDF as shares, and a band of rows that holds every leaf of every group at once.

    What rises has a lower end that is at least those before it, and an upper end that is at most those after it.
    """
    leaves = told.leaves
    wide = told.terms.half(spreads(split, leaves.count, (), place)[0], told.step, prefixes.size)
    rising = isotonic(prefixes)
    total = rising[:, -1:]
    share = np.where(total > 0, rising / np.where(total > 0, total, 1.0), 0.0)
    low = np.maximum.accumulate(np.maximum(prefixes - wide, 0.0), axis=1)
    high = np.minimum.accumulate(np.maximum(prefixes + wide, 0.0)[:, ::-1], axis=1)[:, ::-1]
    high = np.maximum(high, low)
    columns, types = crossed(keys, ({"up_to": leaves.numbers(leaves.highs)}, {"up_to": leaves.type}))
    made = {"share": share, "rows": rising, "band_low": low, "band_high": high}
    columns |= {name: values.reshape(-1) for name, values in made.items()}
    words = (
        f"the CDF: the `share` of rows whose number is {leaves.ends} `up_to`, and how many `rows` that are, made to "
        "rise. "
        "`band_low` and `band_high`, in rows, hold all leaves of the sheet at once, with 95 %."
    )
    types = types | dict.fromkeys(made, Type.DOUBLE)
    return Further(f"{title[0]}: band of the CDF", f"band-{title[1]}", columns, types, words)
