"""Pictures of a released network: how many connections people have, who is connected with whom, how a rumour goes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from obverse.answers.chart import BAR, WHISKER
from obverse.answers.plots import SQUARES_MAX, STYLE, figure, short, squares
from obverse.publish.graph.graph_spread import Rumour, spread_table
from obverse.publish.graph.graph_tables import Measured, degree_counts, square

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WIDTH, HEIGHT, LEFT, TOP = 560.0, 260.0, 56.0, 52.0
POINTS_MAX = 600
COLOURS = (WHISKER, "#c2571a", "#2f7d4f", "#7a4fa3", "#8a6d00", "#a32f56")


def pictures(measured: Measured, rumours: Sequence[Rumour]) -> dict[str, tuple[str, str]]:
    """File to title and SVG."""
    import numpy as np

    found: dict[str, tuple[str, str]] = {}
    kernel = measured.degrees()
    if kernel is not None:
        counts, labels = degree_counts(measured, kernel), kernel.blocks(measured.facts).labels
        shown = counts if 1 < len(labels) <= len(COLOURS) else counts.sum(axis=0, keepdims=True)
        names = labels if len(shown) > 1 else ("everybody",)
        shares = np.cumsum(shown, axis=1) / np.maximum(shown.sum(axis=1, keepdims=True), 1)
        title = "Share of people with at most so many connections"
        found["degrees.svg"] = title, lines(title, list(zip(names, shares)), "connections", "isotonic, from noisy degrees")
    for mixing in measured.mixings():
        labels = measured.facts.blocks[mixing.attribute].labels
        if len(labels) <= SQUARES_MAX:
            table = square(measured.of(mixing.text).astype(np.float64)) * 2
            table[np.arange(len(labels)), np.arange(len(labels))] /= 2
            title = f"Connections by {mixing.attribute} of both ends"
            note = f"unbiased, ± {figure(measured.half_width(mixing.text))} (95 %)"
            svg = squares(title, labels, labels, table.tolist(), note)
            found[f"mixing-{len(found)}.svg"] = title, svg
    for one in rumours:
        columns, _ = spread_table(one)
        title = f"How a rumour spreads, on networks drawn by {one.attribute}"
        band = (columns["low"], columns["high"])
        note = f"share of connected people who have heard it; nine of ten runs lie in the band; fit of the model: {one.verdict}"
        found[f"spread-{len(found)}.svg"] = title, lines(title, [("mean", columns["share"])], "steps", note, band)
    return found


def lines(
    title: str, curves: Sequence[tuple[str, Floats]], under: str, note: str, band: tuple[Floats, Floats] | None = None
) -> str:
    """Shares between 0 and 1 over whole numbers, as curves; a band behind them where there is one."""
    most = -(-max(_reached(values) for _, values in curves) // 4) * 4
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 130:.0f}" height="{TOP + HEIGHT + 44:.0f}" '
        f'style="{STYLE}" role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="20" font-weight="600" font-size="14">{escape(short(title, 80))}</text>',
        f'<text x="8" y="38" fill="#555">{escape(note)}</text>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = TOP + HEIGHT * (1 - share)
        parts.append(f'<path d="M{LEFT:.0f} {y:.1f}h{WIDTH:.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8:.0f}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{share:.0%}</text>')
    for n in range(5):
        x = LEFT + WIDTH * n / 4
        below = f'<text x="{x:.1f}" y="{TOP + HEIGHT + 18:.0f}" text-anchor="middle" fill="#555">'
        parts.append(f"{below}{figure(most * n / 4)}</text>")
    parts.append(f'<text x="{LEFT + WIDTH / 2:.0f}" y="{TOP + HEIGHT + 36:.0f}" text-anchor="middle">{escape(under)}</text>')
    if band is not None:
        there, back = _points(band[1], most), list(reversed(_points(band[0], most)))
        parts.append(f'<path d="{_path(there + back)}Z" fill="{BAR}" fill-opacity="0.35"/>')
    for n, (name, values) in enumerate(curves):
        points, colour = _points(values, most), COLOURS[n % len(COLOURS)]
        parts.append(f'<path d="{_path(points)}" stroke="{colour}" stroke-width="2" fill="none"/>')
        y = TOP + 14 + 18 * n
        parts.append(f'<path d="M{LEFT + WIDTH + 14:.0f} {y - 4:.0f}h16" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{LEFT + WIDTH + 36:.0f}" y="{y:.0f}">{escape(short(name, 14))}</text>')
    return "\n".join([*parts, "</svg>"])


def _reached(values: Floats) -> int:
    """The first place from which on nothing changes that can be seen."""
    import numpy as np

    below = np.flatnonzero(values < values[-1] - 0.002)
    return max(int(below[-1]) + 2 if len(below) else 1, 4)


def _points(values: Floats, most: int) -> list[tuple[float, float]]:
    import numpy as np

    places = np.unique(np.linspace(0, most, min(most + 1, POINTS_MAX)).astype(int))
    heights = values[np.minimum(places, len(values) - 1)]
    return [(LEFT + WIDTH * float(x) / most, TOP + HEIGHT * (1 - float(min(max(y, 0), 1)))) for x, y in zip(places, heights)]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
