"""Distributions as pictures: a rising curve in its band, and quantiles with their intervals. Plain SVG, no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from obverse.answers.chart import BAR, WHISKER
from obverse.answers.plots import LEFT_MAX, LETTER, LINE, STYLE, short

WIDTH, HEIGHT, LEFT, TOP = 560.0, 300.0, 58.0, 54.0


@dataclass(frozen=True, slots=True)
class Curve:
    """Where steps are, the share up to each, and the band around it; shares are between 0 and 1."""

    start: float
    places: Sequence[float]
    shares: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]
    stepped: bool  # every place is one value, so that the share jumps there


@dataclass(frozen=True, slots=True)
class Mark:
    """A quantile: its share, its value if there is one, and its interval."""

    name: str
    share: float
    value: float | None
    low: float
    high: float


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers between two ends."""
    rough = (high - low) / most or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * by for by in (1, 2, 2.5, 5, 10) if power * by >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def told(number: float) -> str:
    """A number on an axis."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.6g}"


def curve(title: str, note: str, line: Curve, marks: Sequence[Mark], axis: str) -> str:
    """The share of rows up to each place, in its band, with quantiles as whiskers at their heights."""
    low, high = line.start, max(line.places[-1], line.start + 1e-12)

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * WIDTH

    def y(share: float) -> float:
        return TOP + (1 - min(max(share, 0.0), 1.0)) * HEIGHT

    parts = _head(title, note, LEFT + WIDTH + 60, TOP + HEIGHT + 44)
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(f'<path d="M{LEFT} {y(share):.1f}h{WIDTH}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for tick in ticks(low, high):
        parts.append(f'<path d="M{x(tick):.1f} {TOP + HEIGHT}v5" stroke="#888"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{TOP + HEIGHT + 19}" text-anchor="middle">{told(tick)}</text>')
    parts.append(f'<text x="{LEFT + WIDTH / 2:.1f}" y="{TOP + HEIGHT + 36}" text-anchor="middle">{escape(short(axis))}</text>')
    over = [(x(a), y(b)) for a, b in _path(line, line.highs)]
    under = [(x(a), y(b)) for a, b in _path(line, line.lows)]
    parts.append(f'<path d="M{_drawn([*over, *reversed(under)])}Z" fill="{BAR}" fill-opacity="0.55"/>')
    drawn = _drawn([(x(a), y(b)) for a, b in _path(line, line.shares)])
    parts.append(f'<path d="M{drawn}" fill="none" stroke="{WHISKER}" stroke-width="1.6"/>')
    for mark in marks:
        if mark.value is not None:
            at = y(mark.share)
            parts.append(f'<path d="M{x(mark.low):.1f} {at:.1f}H{x(mark.high):.1f}M{x(mark.low):.1f} {at - 4:.1f}v8'
                         f'M{x(mark.high):.1f} {at - 4:.1f}v8" stroke="#c0392b" stroke-width="1.3"/>')  # fmt: skip
            parts.append(f'<circle cx="{x(mark.value):.1f}" cy="{at:.1f}" r="3" fill="#c0392b"/>')
    parts.append(f'<path d="M{LEFT} {TOP}v{HEIGHT}h{WIDTH}" fill="none" stroke="#888"/></svg>')
    return "\n".join(parts)


def whiskers(title: str, note: str, marks: Sequence[Mark], low: float, high: float) -> str:
    """Quantiles one below the other, each with its interval."""
    left = min(LEFT_MAX, max(len(short(mark.name)) for mark in marks) * LETTER + 16)
    height = TOP + LINE * len(marks)

    def x(value: float) -> float:
        return left + (value - low) / ((high - low) or 1.0) * WIDTH

    parts = _head(title, note, left + WIDTH + 90, height + 34)
    for tick in ticks(low, high):
        parts.append(f'<path d="M{x(tick):.1f} {TOP - 6}V{height}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{height + 18}" text-anchor="middle">{told(tick)}</text>')
    for n, mark in enumerate(marks):
        middle = TOP + LINE * n + 9
        parts.append(f'<text x="{left - 8:.1f}" y="{middle + 4:.1f}" text-anchor="end">{escape(short(mark.name))}</text>')
        if mark.value is None:
            continue
        parts.append(f'<path d="M{x(mark.low):.1f} {middle}H{x(mark.high):.1f}M{x(mark.low):.1f} {middle - 4}v8'
                     f'M{x(mark.high):.1f} {middle - 4}v8" stroke="{WHISKER}" stroke-width="1.3"/>')  # fmt: skip
        parts.append(f'<circle cx="{x(mark.value):.1f}" cy="{middle}" r="3.4" fill="{WHISKER}"/>')
        parts.append(f'<text x="{left + WIDTH + 12:.1f}" y="{middle + 4:.1f}" fill="#555">{mark.value:,.6g}</text>')
    return "\n".join([*parts, "</svg>"])


def _head(title: str, note: str, width: float, height: float) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" style="{STYLE}" role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="20" font-weight="600" font-size="14">{escape(short(title, 80))}</text>',
        f'<text x="8" y="38" fill="#555">{escape(note)}</text>',
    ]


def _path(line: Curve, shares: Sequence[float]) -> list[tuple[float, float]]:
    """Corners of the curve; jumps where places are values, straight lines where they are ends of bins."""
    found, before = [(line.start, 0.0)], 0.0
    for place, share in zip(line.places, shares):
        if line.stepped:
            found.append((place, before))
        found.append((place, share))
        before = share
    return found


def _drawn(points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
