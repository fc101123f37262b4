"""Pictures of a distribution's release: the CDF of each group in its band, and the quantiles of all groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from obverse.answers.plots import BARS_MAX, figure
from obverse.answers.release_curves import Curve, Mark, curve, whiskers
from obverse.publish.further import Further
from obverse.publish.labels import label
from obverse.publish.quantiles.leaves import Leaves

if TYPE_CHECKING:
    import numpy as np

    from obverse.publish.base import Outcome

    Array = np.ndarray[Any, Any]

CURVES_MAX = 8
FIGURES = ("quantile", "value", "low", "high", "band_low", "band_high")


def pictures(outcome: Outcome, titles: Sequence[tuple[str, str]], leaves: Leaves, groups: int) -> dict[str, tuple[str, str]]:
    """Curves of all rows and of few groups; quantiles of groups where there is room."""
    found = {}
    for place, (title, file) in enumerate(titles):
        told, band = outcome.further[2 * place], outcome.further[2 * place + 1]
        many = groups**place
        named = names_of(told, many)
        for n in range(many if many <= CURVES_MAX else 0):
            shown = f"{title}: {named[n]}" if named[n] else title
            end = f"-{n + 1}" if place else ""
            total = float(band.columns["rows"].reshape(many, -1)[n, -1])
            note = f"share of about {figure(total)} rows; the band holds the whole curve with 95 %, whiskers each quantile"
            line = curve_of(band, leaves, many, n, total)
            drawn = curve(f"{shown}: CDF and quantiles", note, line, marks_of(told, many, n), title)
            found[f"cdf-{file}{end}.svg"] = f"{shown}: CDF and quantiles", drawn
        rows = len(told.columns["quantile"])
        if place and rows <= BARS_MAX:
            marks = [mark for n in range(many) for mark in marks_of(told, many, n, named[n])]
            words, ends = f"{title}: quantiles", (float(leaves.lows[0]), float(leaves.highs[-1]))
            found[f"quantiles-{file}.svg"] = words, whiskers(words, "each with its own 95 % interval", marks, *ends)
    return found


def names_of(told: Further, groups: int) -> list[str]:
    """Each group's name: the values of its columns."""
    import numpy as np

    keys = [values for name, values in told.columns.items() if name not in FIGURES]
    step = len(told.columns["quantile"]) // groups
    return [", ".join(label(None if np.ma.is_masked(one[n * step]) else one[n * step]) for one in keys) for n in range(groups)]


def curve_of(band: Further, leaves: Leaves, groups: int, group: int, total: float) -> Curve:
    def part(name: str) -> Array:
        found: Array = band.columns[name].reshape(groups, -1)[group]
        return found

    lows, highs = part("band_low") / max(total, 1.0), part("band_high") / max(total, 1.0)
    start, stepped = float(leaves.lows[0]), leaves.lows == leaves.highs
    places = [float(end) for end in leaves.highs]
    return Curve(start, places, part("share").tolist(), lows.tolist(), highs.tolist(), stepped)


def marks_of(told: Further, groups: int, group: int, name: str = "") -> list[Mark]:
    import numpy as np

    many = len(told.columns["quantile"]) // groups
    found = []
    for n in range(group * many, (group + 1) * many):
        share, value, low, high = (told.columns[one][n] for one in ("quantile", "value", "low", "high"))
        kept = None if np.ma.is_masked(value) else float(value)
        found.append(Mark(f"{name} {share:g}".strip(), float(share), kept, float(low), float(high)))
    return found
