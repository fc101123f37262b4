"""Rows and intervals as JSON knows them, and back by the types of their columns."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

from obverse.core.types import Type, Value

DATED = (Type.DATE, Type.TIMESTAMP)
End = float | int | dt.date
Bar = tuple[End, End] | None


def plain(value: Value) -> Any:
    """As JSON knows it: no infinity and no integer beyond 64 bits, which public tables alone can give."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value)
    return value.isoformat() if isinstance(value, dt.date) else value


def plain_bars(bars: Sequence[Sequence[Bar]]) -> list[list[Any]]:
    return [[None if bar is None else [plain(end) for end in bar] for bar in row] for row in bars]


def typed_rows(rows: Any, types: Sequence[Type]) -> tuple[tuple[Value, ...], ...]:
    if not any(kind in DATED for kind in types):
        return tuple(map(tuple, rows))
    return tuple(tuple(typed(v, kind) for v, kind in zip(row, types)) for row in rows)


def typed_bars(bars: Any, types: Sequence[Type]) -> tuple[tuple[Bar, ...], ...]:
    if not any(kind in DATED for kind in types):
        return tuple(tuple(b and (b[0], b[1]) for b in row) for row in bars)
    return tuple(tuple(_bar(b, kind) for b, kind in zip(row, types)) for row in bars)


def typed(value: Any, kind: Type) -> Value:
    if value is None:
        return None
    if kind is Type.DATE:
        return dt.date.fromisoformat(value)
    if kind is Type.TIMESTAMP:
        return dt.datetime.fromisoformat(value)
    return float(value) if kind is Type.DOUBLE else value


def _bar(bar: Any, kind: Type) -> Bar:
    """An interval's ends: dates are read as dates, numbers stay as they were written."""
    if bar is None:
        return None
    low, high = ((typed(end, kind) if kind in DATED else end) for end in bar)
    assert isinstance(low, (int, float, dt.date))
    assert isinstance(high, (int, float, dt.date))
    return low, high
