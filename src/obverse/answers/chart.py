"""An answer as bars with their noise intervals; an Altair chart, from the extra `[plot]`."""

from __future__ import annotations

from typing import Any

from obverse.answers.answer import Answer
from obverse.answers.frames import extra, price_words
from obverse.core.claim import DECLARED
from obverse.core.errors import Refused

BARS_MAX = 200
BAR = "#9ecae1"
WHISKER = "#08306b"
# titles fit the least width
WIDTH_PER_BAR = 46
WIDTH_MIN = 340
WIDTH_MAX = 900
HEIGHT = 320


def chart(answer: Answer) -> Any:
    """Keys on x, the first column of numbers on y, its noise intervals as whiskers; the title tells the price."""
    place = _numbers(answer)
    name = answer.columns[place].name
    keys = ", ".join(answer.columns[i].name for i in _keys(answer))
    return whiskered(_bars(answer, place), name, keys, _title(answer, name, keys, extra("altair", "plot")))


def whiskered(bars: list[dict[str, Any]], name: str, keys: str, title: Any) -> Any:
    """Bars of `value` by `key`, with whiskers from `low` to `high` where there are any."""
    altair = extra("altair", "plot")
    width = min(max(WIDTH_PER_BAR * len(bars), WIDTH_MIN), WIDTH_MAX)
    labels = altair.Axis(labelAngle=_angle(bars, width / max(len(bars), 1)), labelLimit=160)
    shown = altair.Chart(altair.Data(values=bars)).encode(
        x=altair.X("key:N", title=keys or None, sort=None, axis=labels)
    )
    layers = [
        shown.mark_bar(color=BAR, width={"band": 0.4 if len(bars) == 1 else 0.85}).encode(
            y=altair.Y("value:Q", title=name), tooltip=_tooltip(altair, name)
        )
    ]
    if any(bar["low"] is not None for bar in bars):
        layers.append(shown.mark_rule(color=WHISKER, strokeWidth=1.5).encode(y="low:Q", y2="high:Q"))
        tick = shown.mark_tick(color=WHISKER, thickness=1.5, size=14)
        layers += [tick.encode(y="low:Q"), tick.encode(y="high:Q")]
    return altair.layer(*layers).properties(title=title, width=width, height=HEIGHT)


def _numbers(answer: Answer) -> int:
    """The place of the first column of numbers that is not a key."""
    places = [i for i, c in enumerate(answer.columns) if c.role == "value" and c.type.numeric]
    if not places or not answer.rows or len(answer.rows) > BARS_MAX:
        raise Refused(
            "not_plottable",
            f"bars need a column of numbers and between 1 and {BARS_MAX} rows.",
            fix="Ask for an aggregate of numbers, or for fewer groups, as with LIMIT.",
        )
    return places[0]


def _keys(answer: Answer) -> list[int]:
    """The columns that name a bar; those of a public table have no role, so there all that are not numbers."""
    keys = [i for i, c in enumerate(answer.columns) if c.role == "key"]
    return keys or [i for i, c in enumerate(answer.columns) if not c.type.numeric]


def _bars(answer: Answer, place: int) -> list[dict[str, Any]]:
    """One record a bar, under names of our own: those of the question could mean something to the chart's grammar."""
    keys = _keys(answer)
    found = []
    for row, intervals in zip(answer.rows, answer.intervals):
        low, high = intervals[place] or (None, None)
        label = " · ".join(_label(row[i]) for i in keys)
        found.append({"key": label, "value": row[place], "low": low, "high": high})
    return found


def _label(key: object) -> str:
    return "NULL" if key is None else str(key).lower() if isinstance(key, bool) else str(key)


def _angle(bars: list[dict[str, Any]], room: float) -> int:
    """Labels lie flat while they fit under their bars."""
    return 0 if max((len(bar["key"]) for bar in bars), default=0) * 6 <= room else -40


def _tooltip(altair: Any, name: str) -> list[Any]:
    return [altair.Tooltip(f"{field}:{kind}", title=title) for field, kind, title in (
        ("key", "N", "key"), ("value", "Q", name), ("low", "Q", "low"), ("high", "Q", "high"),
    )]  # fmt: skip


def _title(answer: Answer, name: str, keys: str, altair: Any) -> Any:
    price = price_words(answer.price)
    known = "declared values" if answer.claim == DECLARED else "exact"
    noise = f"with {100 * answer.level:.6g} % noise intervals" if answer.level < 1 else known
    text = f"{name} by {keys}" if keys else name
    return altair.TitleParams(text=text, subtitle=f"{noise}; price: {price}", anchor="start", subtitleColor="#555")
