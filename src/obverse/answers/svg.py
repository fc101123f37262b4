"""Distributions as pictures: a rising curve in its band, and quantiles with their intervals. Plain SVG, no script.

Curves as a picture: plain SVG with two axes, each linear or logarithmic. No script, no network.

Tables as pictures: bars with their intervals, and shaded squares. Plain SVG, no script, no network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from obverse.answers.chart import BAR, WHISKER

WIDTH = 620
HEIGHT = 320
LEFT = 74
RIGHT = 20
TOP = 46
BOTTOM = 64
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
    title: str,
    drawn: Sequence[Curve],
    x: Axis,
    y: Axis,
    note: str = "",
    marks: Sequence[float] = (),
    *,
    dots: bool = False,
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
    parts += [
        f'<path d="M{across.at(m):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#888" stroke-dasharray="3 3"/>' for m in marks
    ]
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
        low = min(values)
        high = max(values)
        if high / low < 2:
            low = low / 1.5
            high = high * 1.5
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = (1.0,) if len(powers) > 3 else (1.0, 2.0, 5.0)
        every = max(1, math.ceil(len(powers) / 9))
        tens = [10.0**n * step for n in powers if n % every == 0 for step in steps]
        return _Scale(low, high, start, end, True, tuple(t for t in tens if low * 0.999 <= t <= high * 1.001))
    low = min(0.0, *values) if zero else min(values)
    high = max(values)
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
    x = scale.at(value)
    foot = HEIGHT - BOTTOM
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
    parts = []
    x = float(LEFT)
    y = HEIGHT - 14
    for number, one in enumerate(drawn):
        colour = COLOURS[number % len(COLOURS)]
        wide = 40 + 6.4 * len(one.name)
        if x > LEFT and x + wide > WIDTH:
            x = float(LEFT)
            y = y + 17
        parts.append(f'<path d="M{x:.0f} {y}h18" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="{x + 23:.0f}" y="{y + 4}">{escape(one.name)}</text>')
        x += wide
    return parts, y - (HEIGHT - 14)


BARS_MAX = 60
SQUARES_MAX = 40
LETTER = 6.6
LINE = 22
LEFT_MAX = 220


def short(text: str, most: int = 30) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def figure(number: float) -> str:
    """A number as it stands beside a bar; what adding up left of a zero is zero."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{round(number, 6) + 0.0:.3g}"


def bars(title: str, names: Sequence[str], values: Sequence[float], half_width: float, note: str) -> str:
    """Unbiased estimates as bars, with whiskers; zero is marked, since noise may pass it."""
    told = [short(name) for name in names]
    left = min(LEFT_MAX, max((len(name) for name in told), default=1) * LETTER + 16)
    low = min(0.0, min(values) - half_width)
    high = max(0.0, max(values) + half_width)
    width = 460.0
    right = 90.0
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
        middle = y + 9
        low_x = x(value - half_width)
        high_x = x(value + half_width)
        parts += [
            f'<text x="{left - 8:.1f}" y="{y + 13}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{start:.1f}" y="{y + 1}" width="{max(end - start, 0.5):.1f}" height="16" fill="{BAR}"/>',
            f'<path d="M{low_x:.1f} {middle}H{high_x:.1f}M{low_x:.1f} {y + 5}v8M{high_x:.1f} {y + 5}v8" '
            f'stroke="{WHISKER}" stroke-width="1.3" fill="none"/>',
            f'<text x="{max(high_x, end) + 6:.1f}" y="{y + 13}" fill="#555">{figure(value)}</text>',
        ]
    parts.append(f'<path d="M{x(0):.1f} 48V{height - 8}" stroke="#888" stroke-width="1"/></svg>')
    return "\n".join(parts)


def squares(
    title: str, rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]], note: str
) -> str:
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
        parts.append(
            f'<text x="{left - 8:.1f}" y="{y + tall / 2 + 4:.1f}" text-anchor="end">{escape(short(name))}</text>'
        )
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


WHISKERS_WIDTH = 560.0
WHISKERS_HEIGHT = 300.0
WHISKERS_LEFT = 58.0
WHISKERS_TOP = 54.0


@dataclass(frozen=True, slots=True)
class StepCurve:
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


def curve(title: str, note: str, line: StepCurve, marks: Sequence[Mark], axis: str) -> str:
    """The share of rows up to each place, in its band, with quantiles as whiskers at their heights."""
    low = line.start
    high = max(line.places[-1], line.start + 1e-12)

    def x(value: float) -> float:
        return WHISKERS_LEFT + (value - low) / (high - low) * WHISKERS_WIDTH

    def y(share: float) -> float:
        return WHISKERS_TOP + (1 - min(max(share, 0.0), 1.0)) * WHISKERS_HEIGHT

    parts = _head(title, note, WHISKERS_LEFT + WHISKERS_WIDTH + 60, WHISKERS_TOP + WHISKERS_HEIGHT + 44)
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(f'<path d="M{WHISKERS_LEFT} {y(share):.1f}h{WHISKERS_WIDTH}" stroke="#ddd"/>')
        parts.append(f'<text x="{WHISKERS_LEFT - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for tick in ticks(low, high):
        parts.append(f'<path d="M{x(tick):.1f} {WHISKERS_TOP + WHISKERS_HEIGHT}v5" stroke="#888"/>')
        parts.append(
            f'<text x="{x(tick):.1f}" y="{WHISKERS_TOP + WHISKERS_HEIGHT + 19}" '
            f'text-anchor="middle">{told(tick)}</text>'
        )
    parts.append(
        f'<text x="{WHISKERS_LEFT + WHISKERS_WIDTH / 2:.1f}" y="{WHISKERS_TOP + WHISKERS_HEIGHT + 36}" '
        f'text-anchor="middle">{escape(short(axis))}</text>'
    )
    over = [(x(a), y(b)) for a, b in _path(line, line.highs)]
    under = [(x(a), y(b)) for a, b in _path(line, line.lows)]
    parts.append(f'<path d="M{_step_path([*over, *reversed(under)])}Z" fill="{BAR}" fill-opacity="0.55"/>')
    drawn = _step_path([(x(a), y(b)) for a, b in _path(line, line.shares)])
    parts.append(f'<path d="M{drawn}" fill="none" stroke="{WHISKER}" stroke-width="1.6"/>')
    for mark in marks:
        if mark.value is not None:
            at = y(mark.share)
            parts.append(f'<path d="M{x(mark.low):.1f} {at:.1f}H{x(mark.high):.1f}M{x(mark.low):.1f} {at - 4:.1f}v8'
                         f'M{x(mark.high):.1f} {at - 4:.1f}v8" stroke="#c0392b" stroke-width="1.3"/>')  # fmt: skip
            parts.append(f'<circle cx="{x(mark.value):.1f}" cy="{at:.1f}" r="3" fill="#c0392b"/>')
    parts.append(
        f'<path d="M{WHISKERS_LEFT} {WHISKERS_TOP}v{WHISKERS_HEIGHT}h{WHISKERS_WIDTH}" fill="none" '
        'stroke="#888"/></svg>'
    )
    return "\n".join(parts)


def whiskers(title: str, note: str, marks: Sequence[Mark], low: float, high: float) -> str:
    """Quantiles one below the other, each with its interval."""
    left = min(LEFT_MAX, max(len(short(mark.name)) for mark in marks) * LETTER + 16)
    height = WHISKERS_TOP + LINE * len(marks)

    def x(value: float) -> float:
        return left + (value - low) / ((high - low) or 1.0) * WHISKERS_WIDTH

    parts = _head(title, note, left + WHISKERS_WIDTH + 90, height + 34)
    for tick in ticks(low, high):
        parts.append(f'<path d="M{x(tick):.1f} {WHISKERS_TOP - 6}V{height}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{height + 18}" text-anchor="middle">{told(tick)}</text>')
    for n, mark in enumerate(marks):
        middle = WHISKERS_TOP + LINE * n + 9
        parts.append(
            f'<text x="{left - 8:.1f}" y="{middle + 4:.1f}" text-anchor="end">{escape(short(mark.name))}</text>'
        )
        if mark.value is None:
            continue
        parts.append(f'<path d="M{x(mark.low):.1f} {middle}H{x(mark.high):.1f}M{x(mark.low):.1f} {middle - 4}v8'
                     f'M{x(mark.high):.1f} {middle - 4}v8" stroke="{WHISKER}" stroke-width="1.3"/>')  # fmt: skip
        parts.append(f'<circle cx="{x(mark.value):.1f}" cy="{middle}" r="3.4" fill="{WHISKER}"/>')
        parts.append(
            f'<text x="{left + WHISKERS_WIDTH + 12:.1f}" y="{middle + 4:.1f}" fill="#555">{mark.value:,.6g}</text>'
        )
    return "\n".join([*parts, "</svg>"])


def _head(title: str, note: str, width: float, height: float) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" style="{STYLE}" '
        'role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="20" font-weight="600" font-size="14">{escape(short(title, 80))}</text>',
        f'<text x="8" y="38" fill="#555">{escape(note)}</text>',
    ]


def _path(line: StepCurve, shares: Sequence[float]) -> list[tuple[float, float]]:
    """Corners of the curve; jumps where places are values, straight lines where they are ends of bins."""
    found = [(line.start, 0.0)]
    before = 0.0
    for place, share in zip(line.places, shares):
        if line.stepped:
            found.append((place, before))
        found.append((place, share))
        before = share
    return found


def _step_path(points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
