"""Dates and timestamps moved by a span: d + INTERVAL, d - INTERVAL, d + n, and moments made of numbers.

Claim:   each is total; what would leave the years 1 to 9999 is NULL; the moved ends bound it.
Proof:   the argument is cut to those moments whose sum lies in the calendar before the engine adds, so nothing
         overflows. Moving by microseconds is monotone; moving by months is monotone in the date (a day that a month
         lacks becomes the month's last) and keeps the time of day, so the ends are widened to whole days.
Assumes: dates lie in the years 1 to 9999 (the scan reads any other as NULL).

Spans between dates and timestamps: DATE_DIFF, d - e, and an age in years.

Claim:   each is total and gives an integer between its values at the ends.
Proof:   DATE_DIFF counts the starts of units that lie between (weeks: full weeks of days), so it falls with the first
         argument and grows with the second; the calendar has fewer than 2**59 microseconds, so nothing overflows. An
         age is the quotient towards zero of the difference of year * 10000 + month * 100 + day by 10000, monotone as
         well.
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
    common_type,
    literal_integer,
    need,
    tainted,
)
from obverse.plan.functions.categorical import over_lists
from obverse.plan.functions.date_parts import TEMPORAL, ends_of, midnight_of
from obverse.plan.functions.text import strict

MICROS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
DIFFERENCES_IN = ("year", "quarter", "month", "week", "day", *MICROS)

Span = Callable[[dt.datetime, dt.datetime], int]


def towards_zero(top: int, bottom: int) -> int:
    return abs(top) // bottom * (1 if top >= 0 else -1)


def difference(unit: str) -> Span:
    def number(moment: dt.datetime) -> int:
        match unit:
            case "year":
                return moment.year
            case "quarter":
                return moment.year * 4 + (moment.month - 1) // 3
            case "month":
                return moment.year * 12 + moment.month
            case "day" | "week":
                return days(moment.date())
            case _:
                return micros(moment) // MICROS[unit]

    def span(start: dt.datetime, end: dt.datetime) -> int:
        between = number(end) - number(start)
        return towards_zero(between, 7) if unit == "week" else between

    return span


def _spread(facts: Facts, span: Span) -> ColumnFacts:
    """Facts of a span: least from the last start to the first end, greatest from the first start to the last end."""
    (a, b), (c, e) = (ends_of(fact) or (dt.datetime.min, dt.datetime.max) for fact in facts)
    bounds = Interval(Fraction(span(b, c)), Fraction(span(a, e)))
    return ColumnFacts(Type.INTEGER, any_null(facts), bounds, Fraction(1), tainted(facts))


def _reference(span: Span) -> Callable[..., Value]:
    def reference(start: Value, end: Value) -> Value:
        return None if start is None or end is None else span(midnight_of(start), midnight_of(end))

    return reference


def _difference(unit: str) -> Function:
    span = difference(unit)

    def derive(facts: Facts) -> ColumnFacts:
        need(TEMPORAL, facts, "DATE_DIFF")
        return _spread(facts, span)

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        kind = common_type(facts, "DATE_DIFF")
        start, end = as_type(args, facts, kind, d)
        return d.date_diff(unit, start, end, kind)

    spoken = f"DATE_DIFF('{unit}', d, e)" + (", e - d" if unit == "day" else "")
    return Function(f"diff_{unit}", derive, printed, _reference(span), "monotone in both", spoken, (ANY, ANY))


def _rank(moment: dt.datetime) -> int:
    return moment.year * 10_000 + moment.month * 100 + moment.day


def _years(start: dt.datetime, end: dt.datetime) -> int:
    return towards_zero(_rank(end) - _rank(start), 10_000)


def _years_facts(facts: Facts) -> ColumnFacts:
    need((Type.DATE,), facts, "AGE")
    return _spread(facts, _years)


def _years_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    def rank(date: str) -> str:
        year, month, day = (d.date_part(field, date) for field in ("year", "month", "day"))
        return f"({year} * 10000 + {month} * 100 + {day})"

    return d.whole_quotient(f"({rank(args[1])} - {rank(args[0])})", "10000")


years_between = Function(
    "years_between",
    _years_facts,
    _years_sql,
    _reference(_years),
    "full years; monotone in both",
    "EXTRACT(YEAR FROM AGE(e, d)), EXTRACT(YEAR FROM AGE(d))",
    (ANY, ANY),
)

DIFFERENCES = (*(_difference(unit) for unit in DIFFERENCES_IN), years_between)


START = dt.datetime.min
END = dt.datetime.max
MONTHS_MAX = 9998 * 12
MICROS_MAX = micros(END) - micros(START)
DAY_FIRST = days(START.date())
DAY_LAST = days(END.date())
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


def _within(x: str, facts: ColumnFacts, span: tuple[dt.datetime, dt.datetime], d: Dialect) -> str:
    """The timestamp, or NULL outside the span: unchanged where its bounds already lie inside."""
    low, high = span
    b = number_bounds(facts)
    if b is not None and b.lo >= micros(low) and b.hi <= micros(high):
        return x
    first = d.literal(low, Type.TIMESTAMP)
    last = d.literal(high, Type.TIMESTAMP)
    return f"CASE WHEN {x} BETWEEN {first} AND {last} THEN {x} END"


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
        count = count_of(facts)
        return text(d, f"({_within(args[0], facts[0], span(count), d)})", count)

    return Function(
        name, derive, printed, reference, "cut to the calendar; the moved ends bound it", spoken, (ANY, tried)
    )


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
    a = number_bounds(facts[0])
    b = number_bounds(facts[1])
    if a is None or b is None:
        return ColumnFacts(Type.DATE, True, UNBOUNDED, None, tainted(facts))
    low = a.lo + b.lo
    high = a.hi + b.hi
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
