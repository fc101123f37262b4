"""Pictures of synthetic rows: each column's counts against what was measured, and how strongly columns hang
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import permutations
from typing import Any

import numpy as np

from obverse.answers.chart import BAR, WHISKER
from obverse.answers.svg import BARS_MAX, LETTER, LINE, STYLE, figure, short
from obverse.core.types import Value
from obverse.publish.method import Outcome
from obverse.publish.workload import Workload, label

Array = np.ndarray[Any, Any]


COLUMNS_MAX = 40  # of the picture of all pairs
WIDTH = 460.0


def pictures(workload: Workload, edges: Sequence[tuple[int, ...]], outcome: Outcome) -> dict[str, tuple[str, str]]:
    """File to title and SVG."""
    names = [one.name for one in workload.attributes]
    found = {}
    if len(names) <= COLUMNS_MAX:
        title = "How columns hang together in the synthetic rows"
        found["pairs.svg"] = title, association(title, names, strengths(workload, outcome), edges)
    for one, table in zip(workload.attributes, outcome.tables):
        if one.cells <= BARS_MAX:
            told = [label(value) for value in one.values]
            svg = column(table.title, told, table.whole, table.values, table.half_width)
            found[f"{table.file}.svg"] = table.title, svg
    return found


def strengths(workload: Workload, outcome: Outcome) -> Array:
    """Cramer's V of every two columns of the rows: nought if they are independent, one if either tells the other."""
    rows, _ = outcome.rows["synthetic"]
    codes = [(_codes(one.values, values), one.cells) for one, values in zip(workload.attributes, rows.values())]
    found = np.zeros((len(codes), len(codes)))
    for i, (a, many) in enumerate(codes):
        for j in range(i + 1, len(codes)):
            b, more = codes[j]
            found[i, j] = found[j, i] = cramer(np.bincount(a * more + b, minlength=many * more).reshape(many, more))
    return found


def _codes(known: Sequence[Value], values: Array) -> Array:
    """Places among the values that are known; what is masked is missing."""
    places = {value: place for place, value in enumerate(known)}
    return np.fromiter((places[value] for value in values.tolist()), dtype=np.int64, count=len(values))


def cramer(table: Array) -> float:
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    total = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    least = min(table.shape) - 1
    if least < 1:
        return 0.0
    square = float(((table - expected) ** 2 / expected).sum())
    return float((square / total / least) ** 0.5)


def column(title: str, names: Sequence[str], counts: Array, values: Array, half: Array) -> str:
    """Rows of each value as bars; the interval of what was measured as whiskers."""
    told = [short(name) for name in names]
    left = max((len(name) for name in told), default=1) * LETTER + 16
    low = min(0.0, float((values - half).min()))
    high = max(1.0, float((values + half).max()), float(counts.max()))
    scale = WIDTH / (high - low)
    height = 58 + LINE * len(told)
    note = "bars: synthetic rows; whiskers: the unbiased estimate within its noise, 95 %"
    parts = _head(title, note, max(left + WIDTH + 90, 520), height)
    zero = left - low * scale
    for n, name in enumerate(told):
        y = 50 + LINE * n
        end = zero + float(counts[n]) * scale
        a = zero + float(values[n] - half[n]) * scale
        b = zero + float(values[n] + half[n]) * scale
        parts += [
            f'<text x="{left - 8:.1f}" y="{y + 13}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{zero:.1f}" y="{y + 1}" width="{max(end - zero, 0.5):.1f}" height="16" fill="{BAR}"/>',
            f'<path d="M{a:.1f} {y + 9}H{b:.1f}M{a:.1f} {y + 5}v8M{b:.1f} {y + 5}v8" stroke="{WHISKER}" '
            'stroke-width="1.3" fill="none"/>',
            f'<text x="{max(b, end) + 6:.1f}" y="{y + 13}" fill="#555">{figure(float(counts[n]))}</text>',
        ]
    parts.append(f'<path d="M{zero:.1f} 48V{height - 8}" stroke="#888" stroke-width="1"/></svg>')
    return "\n".join(parts)


def association(title: str, names: Sequence[str], values: Array, edges: Sequence[tuple[int, ...]]) -> str:
    """Every two columns as a square, the darker the more one tells of the other; measured pairs have a frame."""
    size = 34
    told = [short(name, 22) for name in names]
    longest = max(len(name) for name in told) * LETTER
    left = longest + 16
    top = 54 + 0.7 * longest + 12
    width = left + size * len(told) + 0.8 * longest + 20
    height = top + size * len(told) + 14
    note = "Cramer's V, in hundredths; a frame: the pair was chosen and measured, the others follow from the model"
    parts = _head(title, note, max(width, 640), height)
    framed = {pair for part in edges for pair in permutations(part, 2)}
    for n, name in enumerate(told):
        at = left + size * (n + 0.5)
        parts.append(f'<text transform="translate({at:.1f},{top - 6:.1f}) rotate(-40)">{escape(name)}</text>')
        y = top + size * n
        parts.append(f'<text x="{left - 8:.1f}" y="{y + size / 2 + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        for m in range(len(told)):
            if m != n:
                parts += _square(left + size * m, y, size, float(values[n, m]), framed=(n, m) in framed)
    return "\n".join([*parts, "</svg>"])


def _square(x: float, y: float, size: int, value: float, *, framed: bool) -> list[str]:
    share = min(max(value, 0.0), 1.0)
    frame = f' stroke="{WHISKER}" stroke-width="2"' if framed else ""
    ink = "white" if share > 0.45 else "#222"
    return [
        f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{size - 3}" height="{size - 3}" fill="{WHISKER}" '
        f'fill-opacity="{0.04 + 0.86 * share:.3f}"{frame}/>',
        f'<text x="{x + size / 2:.1f}" y="{y + size / 2 + 4:.1f}" text-anchor="middle" font-size="11" '
        f'style="fill: {ink}">{100 * share:.0f}</text>',
    ]


def _head(title: str, note: str, width: float, height: float) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" style="{STYLE}" '
        'role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="20" font-weight="600" font-size="14">{escape(short(title, 80))}</text>',
        f'<text x="8" y="38" fill="#555">{escape(note)}</text>',
    ]
