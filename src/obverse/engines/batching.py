"""Rows that come some at a time: in the time that a question has, and as columns."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from obverse.core.engine import Columns
from obverse.core.errors import invariant
from obverse.engines.stopping import stoppable


def in_time(step: Callable[[], Any], stop: Callable[[], None], timeout_s: float) -> Iterator[Any]:
    """What each step gives, until one gives nothing. All steps together have the time; what is done in between has its own."""
    left_s = timeout_s
    while left_s > 0:
        began = time.monotonic()
        found = stoppable(step, stop, left_s)
        left_s -= time.monotonic() - began
        if not found:
            return
        yield found
    raise TimeoutError


def columns_of(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Columns:
    """Values of discovered keys as Python's own, dates as their midnight; all else as integers, and it must be so."""
    import numpy as np

    columns = {}
    for name, values in zip(names, zip(*rows)):
        if name.startswith("f"):
            columns[name] = np.empty(len(values), dtype=object)
            first = next((value for value in values if value is not None), None)  # all are of its type
            columns[name][:] = [midnight(value) for value in values] if is_date(first) else values
            continue
        invariant(set(map(type, values)) == {int}, "measures are integers without NULL")
        columns[name] = np.array(values, dtype=np.int64)
    return columns


def is_date(value: Any) -> bool:
    return isinstance(value, dt.date) and not isinstance(value, dt.datetime)


def midnight(value: Any) -> Any:
    return dt.datetime(value.year, value.month, value.day) if is_date(value) else value
