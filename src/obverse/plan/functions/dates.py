"""Parts of dates and timestamps, and truncation; both give finite public domains.

Claim:   each is total and its value is one of the listed ones.
Proof:   a month lies in 1..12 and so on; truncation is monotone, so the truncated ends bound it and the units between
         them are listed one by one.
Assumes: dates lie in the years 1 to 9999 (the scan reads any other as NULL).
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from functools import lru_cache

from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval
from obverse.core.types import Type, Value, days, micros
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts, from_number, number_bounds
from obverse.plan.functions.base import ANY, Facts, Function, Printed, doubles, need, tainted

TEMPORAL = (Type.DATE, Type.TIMESTAMP)
RANGES = {
    "month": (1, 12),
    "quarter": (1, 4),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
    "dow": (0, 6),
    "isodow": (1, 7),
    "doy": (1, 366),
    "week": (1, 53),
}
GROWING = {"year": (1, 9999), "isoyear": (1, 9999), "decade": (0, 999), "century": (1, 100), "millennium": (1, 10)}
MONTHS = {"decade": 120, "year": 12, "quarter": 3, "month": 1}  # of units that are whole months
CLOCK = ("hour", "minute", "second")
FIRST = {"decade": dt.datetime(10, 1, 1)}  # the first decade begins before the calendar
LISTED_MAX = 10_000


def ends_of(fact: ColumnFacts) -> tuple[dt.datetime, dt.datetime] | None:
    b = number_bounds(fact) if fact.type in TEMPORAL else None
    if b is None:
        return None
    low, high = from_number(b.lo, fact.type), from_number(b.hi, fact.type)
    return midnight_of(low), midnight_of(high)


def midnight_of(value: Value) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    assert isinstance(value, dt.date)
    return dt.datetime(value.year, value.month, value.day)


def part_of(field: str, moment: dt.datetime) -> int:
    match field:
        case "quarter":
            return (moment.month + 2) // 3
        case "dow":
            return moment.isoweekday() % 7
        case "isodow":
            return moment.isoweekday()
        case "doy":
            return moment.timetuple().tm_yday
        case "week":
            return moment.isocalendar().week
        case "isoyear":
            return moment.isocalendar().year
        case "decade":
            return moment.year // 10
        case "century":
            return (moment.year + 99) // 100
        case "millennium":
            return (moment.year + 999) // 1000
        case _:
            return int(getattr(moment, field))


def _part(field: str) -> Function:
    def derive(facts: Facts) -> ColumnFacts:
        need(TEMPORAL, facts, f"EXTRACT({field.upper()} FROM ...)")
        ends = ends_of(facts[0])
        low, high = RANGES.get(field) or GROWING[field]
        if field in GROWING and ends is not None:
            low, high = part_of(field, ends[0]), part_of(field, ends[1])
        if field in CLOCK and facts[0].type is Type.DATE:
            high = 0
        return ColumnFacts(
            Type.INTEGER, facts[0].nullable, Interval(Fraction(low), Fraction(high)), Fraction(1), tainted(facts)
        )

    def reference(value: Value) -> Value:
        return None if value is None else part_of(field, midnight_of(value))

    spoken = f"EXTRACT({field.upper()} FROM d), DATE_PART('{field}', d)"
    return Function(
        field, derive, lambda a, f, d: d.date_part(field, a[0]), reference, "the calendar's range", spoken, arguments=(ANY,)
    )


def _seconds(value: Value) -> Value:
    return None if value is None else micros(midnight_of(value)) / 1e6


def _epoch_facts(facts: Facts) -> ColumnFacts:
    need(TEMPORAL, facts, "EXTRACT(EPOCH FROM ...)")
    ends = ends_of(facts[0]) or (dt.datetime.min, dt.datetime.max)
    seconds = [Fraction(micros(end), 10**6) for end in ends]
    # a double holds microseconds of so many days only in part, and is rounded twice
    bounds = doubles(Interval(seconds[0] - Fraction(1, 1000), seconds[1] + Fraction(1, 1000)))
    return ColumnFacts(Type.DOUBLE, facts[0].nullable, bounds, None, tainted(facts))


epoch = Function(
    "epoch",
    _epoch_facts,
    lambda a, f, d: d.cast(d.seconds(a[0]), Type.DOUBLE),
    _seconds,
    "monotone; a quotient of doubles below 2**38 is off by less than a thousandth",
    "EXTRACT(EPOCH FROM d), EPOCH(d)",
    (ANY,),
)


def truncate(unit: str, moment: dt.datetime) -> dt.datetime:
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "decade":
            return midnight.replace(year=moment.year // 10 * 10, month=1, day=1)
        case "year":
            return midnight.replace(month=1, day=1)
        case "quarter":
            return midnight.replace(month=3 * ((moment.month - 1) // 3) + 1, day=1)
        case "month":
            return midnight.replace(day=1)
        case "week":
            return midnight - dt.timedelta(days=min(moment.weekday(), (midnight - dt.datetime.min).days))
        case "day":
            return midnight
        case "hour":
            return moment.replace(minute=0, second=0, microsecond=0)
        case "minute":
            return moment.replace(second=0, microsecond=0)
        case _:
            return moment.replace(microsecond=0)


def _next(unit: str, moment: dt.datetime) -> dt.datetime:
    months = MONTHS.get(unit)
    if months is not None:
        year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
        return moment.replace(year=year, month=month + 1)
    return moment + dt.timedelta(**{f"{unit}s": 1})


def _steps(unit: str, first: dt.datetime, last: dt.datetime) -> int:
    """How often `_next` leads from the first to the last, or to what is just before it."""
    months = MONTHS.get(unit)
    if months is not None:
        return ((last.year - first.year) * 12 + last.month - first.month) // months
    return (last - first) // dt.timedelta(**{f"{unit}s": 1})


@lru_cache(maxsize=64)
def units_between(unit: str, ends: tuple[dt.datetime, dt.datetime], kind: Type) -> tuple[dt.datetime, ...] | None:
    """The first moment of every unit that meets the range; None when there are too many, or the calendar ends."""
    unit = "day" if kind is Type.DATE and unit in CLOCK else unit  # a date has no hours
    first, last = (truncate(unit, max(end, FIRST.get(unit, dt.datetime.min))) for end in ends)
    if _steps(unit, first, last) >= LISTED_MAX:
        return None
    values: list[dt.datetime] = []
    while first <= last:
        if first.year >= 9990:
            return None
        values.append(first)
        first = _next(unit, first)
    return tuple(values)


@lru_cache(maxsize=64)
def _listed(unit: str, ends: tuple[dt.datetime, dt.datetime], kind: Type) -> Bounds:
    whole = kind is Type.DATE and unit in ("day", *CLOCK)  # dates as they are
    values = None if whole else units_between(unit, ends, kind)
    if values is not None:
        return Categories(tuple(v.date() if kind is Type.DATE else v for v in values))
    low, high = (truncate(unit, max(end, FIRST.get(unit, dt.datetime.min))) for end in ends)
    if kind is Type.DATE:
        return Interval(Fraction(days(low.date())), Fraction(days(high.date())))
    return Interval(Fraction(micros(low)), Fraction(micros(high)))


def _trunc(unit: str) -> Function:
    def derive(facts: Facts) -> ColumnFacts:
        need(TEMPORAL, facts, "DATE_TRUNC")
        ends = ends_of(facts[0])
        bounds = UNBOUNDED if ends is None else _listed(unit, ends, facts[0].type)
        null = facts[0].nullable or (unit in FIRST and (ends is None or ends[0] < FIRST[unit]))
        return ColumnFacts(facts[0].type, null, bounds, None, tainted(facts))

    def reference(value: Value) -> Value:
        if value is None or (unit in FIRST and midnight_of(value) < FIRST[unit]):
            return None
        whole = truncate(unit, midnight_of(value))
        return whole if isinstance(value, dt.datetime) else whole.date()

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        moment = args[0]
        if unit in FIRST:
            moment = f"CASE WHEN {moment} >= {d.literal(FIRST[unit].date(), Type.DATE)} THEN {moment} END"
        return d.date_trunc(unit, moment, facts[0].type)

    proof = "monotone; the units between the ends are listed"
    return Function(f"trunc_{unit}", derive, printed, reference, proof, f"DATE_TRUNC('{unit}', d)", (ANY,))


PARTS = (*GROWING, *RANGES)
UNITS = ("decade", "year", "quarter", "month", "week", "day", *CLOCK)
DATES = (*(_part(field) for field in PARTS), epoch, *(_trunc(unit) for unit in UNITS))
