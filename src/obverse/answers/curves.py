"""Curves as a picture: plain SVG with two axes, each linear or logarithmic. No script, no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 620, 320
LEFT, RIGHT, TOP, BOTTOM = 74, 20, 46, 64
COLOURS = ("#08519c", "#d94801", "#238b45", "#6a51a3", "#a50f15", "#525252")
STYLE = "font-family: system-ui, sans-serif; font-size: 12px; fill: #222"


@dataclass(frozen=True, slots=True)
class Axis:
    """What is along an axis."""

    name: str
    log: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """Points in the order in which they are joined; filled down to zero where it is an area."""

    name: str
    points: tuple[tuple[float, float], ...]
    area: bool = False


def curves(
    title: str, drawn: Sequence[Curve], x: Axis, y: Axis, note: str = "", marks: Sequence[float] = (), *, dots: bool = False
) -> str:
    """All curves on common axes; `marks` are upright lines at places of x."""
    across = _scale([p[0] for one in drawn for p in one.points], LEFT, WIDTH - RIGHT, x.log, zero=False)
    up = _scale([p[1] for one in drawn for p in one.points], HEIGHT - BOTTOM, TOP, y.log, zero=not y.log)
    legend, more = _legend(drawn)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT + more}" style="{STYLE}" role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="18" font-weight="600" font-size="14">{escape(title)}</text>',
        f'<text x="8" y="35" style="fill: #555">{escape(note)}</text>',
    ]
    parts += [_tick_x(across, at) for at in across.ticks] + [_tick_y(up, at) for at in up.ticks]
    parts += [f'<path d="M{across.at(m):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#888" stroke-dasharray="3 3"/>' for m in marks]
    for number, one in enumerate(drawn):
        parts += _drawn(one, COLOURS[number % len(COLOURS)], across, up, dots)
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 32}" text-anchor="middle">{escape(x.name)}</text>')
    parts.append(f'<text transform="translate(14,{(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)" text-anchor="middle">'
                 f"{escape(y.name)}</text>")  # fmt: skip
    return "\n".join([*parts, *legend, "</svg>"])


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        place = math.log10(value) if self.log else value
        return self.start + (place - low) / ((high - low) or 1.0) * (self.end - self.start)


def _scale(values: Sequence[float], start: float, end: float, log: bool, *, zero: bool) -> _Scale:
    if log:
        low, high = min(values), max(values)
        if high / low < 2:
            low, high = low / 1.5, high * 1.5
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = (1.0,) if len(powers) > 3 else (1.0, 2.0, 5.0)
        every = max(1, math.ceil(len(powers) / 9))
        tens = [10.0**n * step for n in powers if n % every == 0 for step in steps]
        return _Scale(low, high, start, end, True, tuple(t for t in tens if low * 0.999 <= t <= high * 1.001))
    low, high = min(0.0, *values) if zero else min(values), max(values)
    high = high if high > low else low + 1.0
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= next(n for n in (1, 2, 5, 10) if (high - low) / (step * n) <= 7)
    ticks = tuple(step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1))
    return _Scale(low, high, start, end, False, ticks)


def _drawn(one: Curve, colour: str, across: _Scale, up: _Scale, dots: bool) -> list[str]:
    places = [(across.at(x), up.at(y)) for x, y in one.points]
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    parts = []
    if one.area:
        floor = up.at(up.low)
        shape = f"M{places[0][0]:.1f} {floor:.1f}L{line}L{places[-1][0]:.1f} {floor:.1f}Z"
        parts.append(f'<path d="{shape}" fill="{colour}" fill-opacity="0.18"/>')
    parts.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
    return parts + [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in places if dots]


def _tick_x(scale: _Scale, value: float) -> str:
    x, foot = scale.at(value), HEIGHT - BOTTOM
    return (f'<path d="M{x:.1f} {TOP}V{foot}" stroke="#eee"/>'
            f'<text x="{x:.1f}" y="{foot + 15}" text-anchor="middle">{_figure(value)}</text>')  # fmt: skip


def _tick_y(scale: _Scale, value: float) -> str:
    y = scale.at(value)
    return (f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#eee"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_figure(value)}</text>')  # fmt: skip


def _figure(value: float) -> str:
    if value == 0 or 0.001 <= abs(value) < 10**6:
        return f"{value:,.10g}"
    return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def _legend(drawn: Sequence[Curve]) -> tuple[list[str], int]:
    """The names below the picture, in as many lines as they take; and the height of those beyond the first."""
    parts, x, y = [], float(LEFT), HEIGHT - 14
    for number, one in enumerate(drawn):
        colour, wide = COLOURS[number % len(COLOURS)], 40 + 6.4 * len(one.name)
        if x > LEFT and x + wide > WIDTH:
            x, y = float(LEFT), y + 17
        parts.append(f'<path d="M{x:.0f} {y}h18" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="{x + 23:.0f}" y="{y + 4}">{escape(one.name)}</text>')
        x += wide
    return parts, y - (HEIGHT - 14)
