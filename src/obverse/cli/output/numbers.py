"""Numbers for people: a value with its noise interval, in the digits that the interval's width supports."""

from __future__ import annotations

import datetime as dt
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from obverse.answers.cells import Bar
from obverse.core.types import Value

EXACT = Context(prec=400)
LOPSIDED = Decimal("0.1")  # of the interval's width


def cell(value: Value, bar: Bar) -> str:
    """`12,345 ± 90`, or `12,345 (12,255 to 12,700)` where the two sides differ. Rounding only ever widens."""
    if bar is None or isinstance(value, str) or value is None:
        return exactly(value)
    if isinstance(value, dt.date):
        return f"{exactly(value)} ({bar[0]} to {bar[1]})"
    number, low, high = (Decimal(str(part)) for part in (value, *bar))
    reach = max(number - low, high - number)
    if reach <= 0:
        return exactly(value)
    step = _step(reach, whole=isinstance(value, int))
    middle = _rounded(number, step, ROUND_HALF_EVEN)
    slack = 0 if isinstance(value, int) and step == 1 else step / 2  # what rounding the middle may have cost
    if abs((number - low) - (high - number)) <= LOPSIDED * (high - low):
        return f"{_text(middle)} ± {_text(_rounded(reach + slack, step, ROUND_CEILING))}"
    ends = _rounded(low, step, ROUND_FLOOR), _rounded(high, step, ROUND_CEILING)
    return f"{_text(middle)} ({_text(ends[0])} to {_text(ends[1])})"


def exactly(value: Value) -> str:
    """A value without noise, such as a key; years and codes get no thousands separators."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.12g}"
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date():
            return value.isoformat()
        case _:
            return str(value)


def about(number: float) -> str:
    """Three digits or so, for a width that is only announced; rounded up."""
    if number <= 0 or not math.isfinite(number):
        return f"{number:g}"
    exact = Decimal(str(number))
    return _text(_rounded(exact, _step(exact, whole=False), ROUND_CEILING))


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _step(reach: Decimal, *, whole: bool) -> Decimal:
    """The last digit shown: the third of the reach; the second, where that is enough for a number with decimals."""
    leading = reach.adjusted()
    if whole:
        return Decimal(1).scaleb(max(0, leading - 2))
    return Decimal(1).scaleb(leading - (2 if reach < 3 * Decimal(10) ** leading else 1))


def _rounded(number: Decimal, step: Decimal, rounding: str) -> Decimal:
    return number.quantize(step, rounding, EXACT)


def _text(number: Decimal) -> str:
    size = abs(number)
    if size and not Decimal("1e-6") <= size < Decimal("1e15"):
        return f"{number:.3e}"
    return f"{number:,f}"
