"""Dates and timestamps moved by a span: d + INTERVAL, d - INTERVAL, d + n, and moments made of numbers.

Claim:   each is total; what would leave the years 1 to 9999 is NULL; the moved ends bound it.
Proof:   the argument is cut to those moments whose sum lies in the calendar before the engine adds, so nothing overflows.
         Moving by microseconds is monotone; moving by months is monotone in the date (a day that a month lacks becomes the
         month's last) and keeps the time of day, so the ends are widened to whole days.
Assumes: dates lie in the years 1 to 9999 (the scan reads any other as NULL).
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from fractions import Fraction

from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval
from obverse.core.types import Type, Value, days, micros, moment_of
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts, number_bounds
from obverse.plan.functions.arithmetic import NUMBERS, as_type
from obverse.plan.functions.base import (
    ANY,
    Facts,
    Function,
    Printed,
    any_null,
    literal_integer,
    need,
    tainted,
)
from obverse.plan.functions.categorical import over_lists
from obverse.plan.functions.text import strict

START, END = dt.datetime.min, dt.datetime.max
MONTHS_MAX = 9998 * 12
MICROS_MAX = micros(END) - micros(START)
DAY_FIRST, DAY_LAST = days(START.date()), days(END.date())
Move = Callable[[dt.datetime, int], dt.datetime | None]
Ends = Callable[[dt.datetime, dt.datetime], tuple[dt.datetime, dt.datetime]]


def moved_months(moment: dt.datetime, months: int) -> dt.datetime | None:
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        return None
    return moment.replace(year=year, month=month + 1, day=min(moment.day, calendar.monthrange(year, month + 1)[1]))


def moved_micros(moment: dt.datetime, count: int) -> dt.datetime | None:
    number = micros(moment) + count
    return moment_of(number) if micros(START) <= number <= micros(END) else None


def _month_range(months: int) -> tuple[dt.datetime, dt.datetime]:
    """The first and last moment that stay in the calendar when so many months are added."""
    first = moved_months(START, max(0, -months)) or START
    last = moved_months(END.replace(day=1), -max(0, months)) or END
    return first, last.replace(day=calendar.monthrange(last.year, last.month)[1])


def _micro_range(count: int) -> tuple[dt.datetime, dt.datetime]:
    return moved_micros(START, max(0, -count)) or START, moved_micros(END, -max(0, count)) or END


def _whole_days(low: dt.datetime, high: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    return dt.datetime.combine(low, dt.time.min), dt.datetime.combine(high, dt.time.max)


def _as_they_are(low: dt.datetime, high: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    return low, high


def _shift(
    name: str,
    most: int,
    move: Move,
    ends: Ends,
    span: Callable[[int], tuple[dt.datetime, dt.datetime]],
    text: Callable[[Dialect, str, int], str],
    spoken: str,
    tried: tuple[Value, ...],
) -> Function:
    """A timestamp moved by a literal number."""

    def count_of(facts: Facts) -> int:
        return literal_integer(facts[1], -most, most, "the length of an interval")

    def reference(value: Value, count: Value) -> Value:
        if value is None or not isinstance(count, int):
            return None
        assert isinstance(value, dt.datetime)
        return move(value, count)

    def derive(facts: Facts) -> ColumnFacts:
        need((Type.TIMESTAMP,), facts[:1], "INTERVAL")
        count = count_of(facts)
        if isinstance(facts[0].bounds, Categories):
            return over_lists(facts, Type.TIMESTAMP, strict(reference))
        low, high = (Fraction(micros(end)) for end in span(count))
        b = number_bounds(facts[0])
        bounds: Bounds = UNBOUNDED
        if b is not None:
            met = (moment_of(int(max(low, min(high, end)))) for end in (b.lo, b.hi))
            first, last = (micros(end) for end in (move(end, count) for end in ends(*met)) if end is not None)
            bounds = Interval(Fraction(first), Fraction(last))
        null = any_null(facts) or b is None or b.lo < low or b.hi > high
        return ColumnFacts(Type.TIMESTAMP, null, bounds, None, tainted(facts))

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        count, x = count_of(facts), args[0]
        low, high = span(count)
        b = number_bounds(facts[0])
        if b is None or b.lo < micros(low) or b.hi > micros(high):
            first, last = d.literal(low, Type.TIMESTAMP), d.literal(high, Type.TIMESTAMP)
            x = f"CASE WHEN {x} BETWEEN {first} AND {last} THEN {x} END"
        return text(d, f"({x})", count)

    return Function(name, derive, printed, reference, "cut to the calendar; the moved ends bound it", spoken, (ANY, tried))


add_months = _shift(
    "add_months",
    MONTHS_MAX,
    moved_months,
    _whole_days,
    _month_range,
    lambda d, x, count: d.add_months(x, count),
    "d + INTERVAL '1 month', d - INTERVAL 2 YEAR",
    (1, -1, 13, 12 * 2000, -12 * 9000, 0),
)
add_micros = _shift(
    "add_micros",
    MICROS_MAX,
    moved_micros,
    _as_they_are,
    _micro_range,
    lambda d, x, count: d.add_micros(x, count),
    "d + INTERVAL '1 day', d - INTERVAL 2 HOUR",
    (1, -1, 86_400_000_000, -3_600_000_000, 10**17, -(2 * 10**17)),
)


def _add_days(date: Value, count: Value) -> Value:
    assert isinstance(date, dt.date)
    assert isinstance(count, int)
    return date + dt.timedelta(days=count) if DAY_FIRST <= days(date) + count <= DAY_LAST else None


def _add_days_facts(facts: Facts) -> ColumnFacts:
    need((Type.DATE,), facts[:1], "d + n")
    need((Type.INTEGER,), facts[1:], "d + n")
    if isinstance(facts[0].bounds, Categories) or isinstance(facts[1].bounds, Categories):
        listed = over_lists(facts, Type.DATE, strict(_add_days))
        if isinstance(listed.bounds, Categories):
            return listed
    a, b = number_bounds(facts[0]), number_bounds(facts[1])
    if a is None or b is None:
        return ColumnFacts(Type.DATE, True, UNBOUNDED, None, tainted(facts))
    low, high = a.lo + b.lo, a.hi + b.hi
    first, last = (max(Fraction(DAY_FIRST), min(Fraction(DAY_LAST), end)) for end in (low, high))
    null = any_null(facts) or low < DAY_FIRST or high > DAY_LAST
    return ColumnFacts(Type.DATE, null, Interval(first, last), None, tainted(facts))


def _add_days_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    span = DAY_LAST - DAY_FIRST
    count = f"(CASE WHEN {args[1]} BETWEEN -{span} AND {span} THEN {args[1]} END)"
    number = f"({d.days(args[0])} + {count})"
    return d.date_of_days(f"CASE WHEN {number} BETWEEN {DAY_FIRST} AND {DAY_LAST} THEN {number} END")


add_days = Function(
    "add_days",
    _add_days_facts,
    _add_days_sql,
    strict(_add_days),
    "the number of days is cut before it is added, and the sum before it is read as a date",
    "d + n, d - n (days)",
    (ANY, ANY),
)


def _from_epoch(seconds: Value) -> Value:
    if not isinstance(seconds, (int, float)):
        return None
    low, high = SECONDS
    return moment_of(round(float(seconds) * 1e6)) if low <= seconds <= high else None


SECONDS = (-62_135_596_800, 253_402_300_799)  # whole seconds from the first to the last day of the calendar


def _from_epoch_facts(facts: Facts) -> ColumnFacts:
    need(NUMBERS, facts, "TO_TIMESTAMP")
    b = number_bounds(facts[0])
    low, high = map(Fraction, SECONDS)
    bounds: Bounds = UNBOUNDED
    if b is not None:
        ends = [_from_epoch(float(max(low, min(high, end)))) for end in (b.lo, b.hi)]
        first, last = (Fraction(micros(end)) for end in ends if isinstance(end, dt.datetime))
        bounds = Interval(first, last)
    null = facts[0].nullable or b is None or b.lo < low or b.hi > high
    return ColumnFacts(Type.TIMESTAMP, null, bounds, None, tainted(facts))


def _from_epoch_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    x = as_type(args, facts, Type.DOUBLE, d)[0]
    low, high = (d.literal(float(end), Type.DOUBLE) for end in SECONDS)
    million = d.literal(1e6, Type.DOUBLE)
    micros_of = f"((CASE WHEN {x} BETWEEN {low} AND {high} THEN {x} END) * {million})"
    return d.moment_of_micros(d.round_to_integer(micros_of, small=False))


from_epoch = Function(
    "from_epoch",
    _from_epoch_facts,
    _from_epoch_sql,
    _from_epoch,
    "cut to the calendar; a product and a rounding are monotone",
    "TO_TIMESTAMP(seconds) (without a zone: UTC)",
    (ANY,),
)

SHIFTS = (add_months, add_micros, add_days, from_epoch)
