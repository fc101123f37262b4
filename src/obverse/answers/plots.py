"""Tables as pictures: bars with their intervals, and shaded squares. Plain SVG, no script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from obverse.answers.chart import BAR, WHISKER

BARS_MAX, SQUARES_MAX = 60, 40
LETTER, LINE, LEFT_MAX = 6.6, 22, 220
STYLE = "font-family: system-ui, sans-serif; font-size: 12px; fill: #222"


def short(text: str, most: int = 30) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def figure(number: float) -> str:
    """A number as it stands beside a bar; what adding up left of a zero is zero."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{round(number, 6) + 0.0:.3g}"


def bars(title: str, names: Sequence[str], values: Sequence[float], half_width: float, note: str) -> str:
    """Unbiased estimates as bars, with whiskers; zero is marked, since noise may pass it."""
    told = [short(name) for name in names]
    left = min(LEFT_MAX, max((len(name) for name in told), default=1) * LETTER + 16)
    low, high = min(0.0, min(values) - half_width), max(0.0, max(values) + half_width)
    width, right = 460.0, 90.0
    scale = width / ((high - low) or 1.0)

    def x(value: float) -> float:
        return left + (value - low) * scale

    height = 58 + LINE * len(told)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + right:.0f}" height="{height}" '
        f'style="{STYLE}" role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="20" font-weight="600" font-size="14">{escape(short(title, 80))}</text>',
        f'<text x="8" y="38" fill="#555">{escape(note)}</text>',
    ]
    for n, (name, value) in enumerate(zip(told, values)):
        y = 50 + LINE * n
        start, end = sorted((x(0), x(value)))
        middle, low_x, high_x = y + 9, x(value - half_width), x(value + half_width)
        parts += [
            f'<text x="{left - 8:.1f}" y="{y + 13}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{start:.1f}" y="{y + 1}" width="{max(end - start, 0.5):.1f}" height="16" fill="{BAR}"/>',
            f'<path d="M{low_x:.1f} {middle}H{high_x:.1f}M{low_x:.1f} {y + 5}v8M{high_x:.1f} {y + 5}v8" '
            f'stroke="{WHISKER}" stroke-width="1.3" fill="none"/>',
            f'<text x="{max(high_x, end) + 6:.1f}" y="{y + 13}" fill="#555">{figure(value)}</text>',
        ]
    parts.append(f'<path d="M{x(0):.1f} 48V{height - 8}" stroke="#888" stroke-width="1"/></svg>')
    return "\n".join(parts)


def squares(title: str, rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]], note: str) -> str:
    """A two-way table, the darker the more; numbers where there is room."""
    wide = len(columns) <= 14
    size, tall = (52, 26) if wide else (20, 20)
    left = min(LEFT_MAX, max(len(short(name)) for name in rows) * LETTER + 16)
    longest = max(len(short(name, 18)) for name in columns)
    upright = longest * LETTER < size
    top = 54 + (18 if upright else min(120, longest * LETTER * 0.75 + 12))
    most = max((value for row in values for value in row), default=0.0) or 1.0
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(left + size * len(columns) + 60, 420):.0f}" '
        f'height="{top + tall * len(rows) + 14:.0f}" style="{STYLE}" role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="20" font-weight="600" font-size="14">{escape(short(title, 80))}</text>',
        f'<text x="8" y="38" fill="#555">{escape(note)}</text>',
    ]
    for n, name in enumerate(columns):
        x = left + size * (n + 0.5)
        place = f'x="{x:.1f}" y="{top - 6:.1f}" text-anchor="middle"'
        turned = f'transform="translate({x:.1f},{top - 6:.1f}) rotate(-40)"'
        parts.append(f"<text {place if upright else turned}>{escape(short(name, 18))}</text>")
    for r, (name, row) in enumerate(zip(rows, values)):
        y = top + tall * r
        parts.append(f'<text x="{left - 8:.1f}" y="{y + tall / 2 + 4:.1f}" text-anchor="end">{escape(short(name))}</text>')
        for c, value in enumerate(row):
            share = min(max(value / most, 0.0), 1.0)
            x = left + size * c
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{size - 1}" height="{tall - 1}" fill="{WHISKER}" '
                f'fill-opacity="{0.04 + 0.86 * share:.3f}"/>'
            )
            if wide:
                ink = "white" if share > 0.45 else "#222"
                parts.append(
                    f'<text x="{x + size / 2:.1f}" y="{y + tall / 2 + 4:.1f}" text-anchor="middle" font-size="11" '
                    f'style="fill: {ink}">{figure(value)}</text>'
                )
    return "\n".join([*parts, "</svg>"])
