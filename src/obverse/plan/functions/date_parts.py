"""Parts of dates and timestamps, and truncation; both give finite public domains.

Claim:   each is total and its value is one of the listed ones.
Proof:   a month lies in 1..12 and so on; truncation is monotone, so the truncated ends bound it and the units between
         them are listed one by one.
Assumes: dates lie in the years 1 to 9999 (the scan reads any other as NULL).

Dates made of numbers, and texts made of dates: MAKE_DATE, LAST_DAY, DAYNAME, MONTHNAME, STRFTIME, TO_CHAR.

Claim:   each is total; names are of a public list, and a text of a bounded column is as well.
Proof:   a pattern is a literal of at most 64 characters in signs that give digits only, at most four each. It tells no
         two moments of one unit apart, so the texts of the units between the column's ends are all that there are. What
         is no date is NULL.
Assumes: dates lie in the years 1 to 9999 (the scan reads any other as NULL).
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval
from obverse.core.types import Type, Value, days, micros
from obverse.plan.dialects.base import Dialect
from obverse.plan.dialects.patterns import pieces
from obverse.plan.expressions import ColumnFacts, from_number, number_bounds
from obverse.plan.functions.base import ANY, Facts, Function, Printed, doubles, literal_text, mismatch, need, tainted
from obverse.plan.functions.categorical import CHARACTERS_MAX, over_lists
from obverse.plan.functions.text import strict

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
    low = from_number(b.lo, fact.type)
    high = from_number(b.hi, fact.type)
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
            low = part_of(field, ends[0])
            high = part_of(field, ends[1])
        if field in CLOCK and facts[0].type is Type.DATE:
            high = 0
        return ColumnFacts(
            Type.INTEGER, facts[0].nullable, Interval(Fraction(low), Fraction(high)), Fraction(1), tainted(facts)
        )

    def reference(value: Value) -> Value:
        return None if value is None else part_of(field, midnight_of(value))

    spoken = f"EXTRACT({field.upper()} FROM d), DATE_PART('{field}', d)"
    return Function(
        field,
        derive,
        lambda a, f, d: d.date_part(field, a[0]),
        reference,
        "the calendar's range",
        spoken,
        arguments=(ANY,),
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


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
PATTERN_MAX = 64
# the finest unit that the sign tells apart, and its text
SIGNS: dict[str, tuple[str, Callable[[dt.datetime], str]]] = {
    "%Y": ("year", lambda m: f"{m.year:04}"),
    "%m": ("month", lambda m: f"{m.month:02}"),
    "%d": ("day", lambda m: f"{m.day:02}"),
    "%j": ("day", lambda m: f"{m.timetuple().tm_yday:03}"),
    "%H": ("hour", lambda m: f"{m.hour:02}"),
    "%M": ("minute", lambda m: f"{m.minute:02}"),
    "%S": ("second", lambda m: f"{m.second:02}"),
}
FINER = ("year", "month", "day", "hour", "minute", "second")


def _name(function: str, field: str, names: tuple[str, ...], place: Callable[[dt.datetime], int]) -> Function:
    def derive(facts: Facts) -> ColumnFacts:
        need(TEMPORAL, facts, function.upper())
        return ColumnFacts(Type.TEXT, facts[0].nullable, Categories(names), None, tainted(facts))

    def printed(args: Printed, facts: Facts, d: Dialect) -> str:
        arms = " ".join(f"WHEN {n} THEN {d.literal(name, Type.TEXT)}" for n, name in enumerate(names, 1))
        return f"(CASE {d.date_part(field, args[0])} {arms} END)"

    def reference(value: Value) -> Value:
        return None if value is None else names[place(midnight_of(value)) - 1]

    return Function(function, derive, printed, reference, "one of the names", f"{function.upper()}(d)", (ANY,))


dayname = _name("dayname", "isodow", WEEKDAYS, lambda moment: moment.isoweekday())
monthname = _name("monthname", "month", MONTH_NAMES, lambda moment: moment.month)


def last_of_month(value: Value) -> dt.date:
    moment = midnight_of(value)
    return moment.date().replace(day=calendar.monthrange(moment.year, moment.month)[1])


def _last_day_facts(facts: Facts) -> ColumnFacts:
    need(TEMPORAL, facts, "LAST_DAY")
    ends = ends_of(facts[0])
    bounds: Bounds = UNBOUNDED
    if ends is not None:
        months = units_between("month", ends, facts[0].type)
        low, high = (Fraction(days(last_of_month(end))) for end in ends)
        bounds = Interval(low, high) if months is None else Categories(tuple(map(last_of_month, months)))
    return ColumnFacts(Type.DATE, facts[0].nullable, bounds, None, tainted(facts))


last_day = Function(
    "last_day",
    _last_day_facts,
    lambda args, facts, d: d.last_day(args[0], facts[0].type),
    strict(last_of_month),
    "monotone; the months between the ends are listed",
    "LAST_DAY(d)",
    (ANY,),
)


def _made(year: int, month: int, day: int) -> Value:
    try:
        return dt.date(year, month, day)
    except (ValueError, OverflowError):
        return None


def _make_date_facts(facts: Facts) -> ColumnFacts:
    need((Type.INTEGER,), facts, "MAKE_DATE")
    made = over_lists(facts, Type.DATE, strict(_made))
    return (
        made if isinstance(made.bounds, Categories) else ColumnFacts(Type.DATE, True, UNBOUNDED, None, tainted(facts))
    )


def _make_date_sql(args: Printed, facts: Facts, d: Dialect) -> str:
    tops = (9999, 12, 31)
    return d.make_date(*(f"(CASE WHEN {arg} BETWEEN 1 AND {top} THEN {arg} END)" for arg, top in zip(args, tops)))


make_date = Function(
    "make_date",
    _make_date_facts,
    _make_date_sql,
    strict(_made),
    "parts outside the calendar are NULL, and so are days that their month lacks",
    "MAKE_DATE(year, month, day)",
    ((2020, 2021, 0, 9999, 10_000), ANY, ANY),
)


def known(pattern: str) -> bool:
    """Whether the pattern holds no other signs than those above."""
    return all(piece in SIGNS or not piece.startswith("%") for piece in pieces(pattern))


def written(moment: dt.datetime, pattern: str) -> str:
    return "".join(SIGNS[piece][1](moment) if piece in SIGNS else piece for piece in pieces(pattern))


@lru_cache(maxsize=64)
def _texts(pattern: str, finest: str, ends: tuple[dt.datetime, dt.datetime] | None, kind: Type) -> Bounds:
    moments = None if ends is None else units_between(finest, ends, kind)
    if moments is None or len(moments) * len(pattern) > CHARACTERS_MAX:
        return UNBOUNDED
    return Categories(tuple(dict.fromkeys(written(moment, pattern) for moment in moments)))


def _format_facts(facts: Facts) -> ColumnFacts:
    need(TEMPORAL, facts[:1], "STRFTIME")
    pattern = literal_text(facts[1])
    if not pattern or len(pattern) > PATTERN_MAX or not known(pattern):
        raise mismatch(f"STRFTIME takes a literal pattern of {' '.join(SIGNS)}", "Write STRFTIME(d, '%Y-%m').")
    units = [SIGNS[piece][0] for piece in pieces(pattern) if piece in SIGNS]
    finest = max(units, key=FINER.index, default="year")
    bounds = _texts(pattern, finest, ends_of(facts[0]), facts[0].type)
    return ColumnFacts(Type.TEXT, facts[0].nullable, bounds, None, tainted(facts))


strftime = Function(
    "strftime",
    _format_facts,
    lambda args, facts, d: d.format_moment(args[0], literal_text(facts[1]) or ""),
    strict(lambda value, pattern: written(midnight_of(value), pattern)),
    "the texts of the units between the ends are listed",
    "STRFTIME(d, '%Y-%m-%d %H:%M:%S'), TO_CHAR(d, 'YYYY-MM-DD HH24:MI:SS')",
    (ANY, ("%Y", "%Y-%m", "%d.%m.%Y", "%H:%M:%S", "%Y%j", "day %d")),
)

CALENDARS = (dayname, monthname, last_day, make_date, strftime)
