"""Parts of dates and timestamps, and truncation; both give finite public domains.

Claim:   each is total and its value is one of the listed ones.
Proof:   a month lies in 1..12 and so on; truncation is monotone, so the truncated ends bound it and the units between
         them are listed one by one.
Assumes: dates lie in the years 1 to 9999 (the scan reads any other as NULL).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from fractions import Fraction

from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval
from obverse.core.types import Type, Value
from obverse.plan.expressions import ColumnFacts, from_number, number_bounds
from obverse.plan.functions.base import Dialect, Facts, Function, Printed, need, tainted

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
LISTED_MAX = 10_000


def _ends(fact: ColumnFacts) -> tuple[dt.datetime, dt.datetime] | None:
    b = number_bounds(fact) if fact.type in TEMPORAL else None
    if b is None:
        return None
    low, high = from_number(b.lo, fact.type), from_number(b.hi, fact.type)
    return _moment(low), _moment(high)


def _moment(value: Value) -> dt.datetime:
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
        case _:
            return int(getattr(moment, field))


def _part(field: str) -> Function:
    def derive(facts: Facts) -> ColumnFacts:
        need(TEMPORAL, facts, f"EXTRACT({field.upper()} FROM ...)")
        ends = _ends(facts[0])
        low, high = RANGES.get(field, (1, 9999))
        if field == "year" and ends is not None:
            low, high = ends[0].year, ends[1].year
        return ColumnFacts(
            Type.INTEGER, facts[0].nullable, Interval(Fraction(low), Fraction(high)), Fraction(1), tainted(facts)
        )

    def reference(value: Value) -> Value:
        return None if value is None else part_of(field, _moment(value))

    spoken = f"EXTRACT({field.upper()} FROM d), DATE_PART('{field}', d)"
    return Function(field, derive, lambda a, f, d: d.date_part(field, a[0]), reference, "the calendar's range", spoken)


def truncate(unit: str, moment: dt.datetime) -> dt.datetime:
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
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
        case _:
            return moment.replace(minute=0, second=0, microsecond=0)


def _next(unit: str, moment: dt.datetime) -> dt.datetime:
    months = {"year": 12, "quarter": 3, "month": 1}.get(unit)
    if months is not None:
        year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
        return moment.replace(year=year, month=month + 1)
    return moment + {"week": dt.timedelta(7), "day": dt.timedelta(1), "hour": dt.timedelta(hours=1)}[unit]


def _listed(unit: str, ends: tuple[dt.datetime, dt.datetime], kind: Type) -> Bounds:
    unit = "day" if kind is Type.DATE and unit == "hour" else unit  # a date has no hours
    first, last = truncate(unit, ends[0]), truncate(unit, ends[1])
    values: list[Value] = []
    while first <= last:
        if len(values) >= LISTED_MAX:
            return UNBOUNDED
        values.append(first.date() if kind is Type.DATE else first)
        if first.year >= 9999:
            return UNBOUNDED
        first = _next(unit, first)
    return Categories(tuple(values))


def _trunc(unit: str) -> Function:
    def derive(facts: Facts) -> ColumnFacts:
        need(TEMPORAL, facts, "DATE_TRUNC")
        ends = _ends(facts[0])
        bounds = UNBOUNDED if ends is None else _listed(unit, ends, facts[0].type)
        return ColumnFacts(facts[0].type, facts[0].nullable, bounds, None, tainted(facts))

    def reference(value: Value) -> Value:
        if value is None:
            return None
        whole = truncate(unit, _moment(value))
        return whole if isinstance(value, dt.datetime) else whole.date()

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        return d.date_trunc(unit, args[0], facts[0].type)

    proof = "monotone; the units between the ends are listed"
    return Function(f"trunc_{unit}", derive, printed, reference, proof, f"DATE_TRUNC('{unit}', d)")


PARTS = ("year", "quarter", "month", "week", "day", "doy", "dow", "isodow", "hour", "minute", "second")
UNITS = ("year", "quarter", "month", "week", "day", "hour")
FieldFunction = Callable[[str], Function]
DATES = tuple(_part(field) for field in PARTS) + tuple(_trunc(unit) for unit in UNITS)
