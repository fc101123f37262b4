"""Dates made of numbers, and texts made of dates: MAKE_DATE, LAST_DAY, DAYNAME, MONTHNAME, STRFTIME, TO_CHAR.

Claim:   each is total; names are of a public list, and a text of a bounded column is as well.
Proof:   a pattern is a literal of at most 64 characters in signs that give digits only, at most four each. It tells no two
         moments of one unit apart, so the texts of the units between the column's ends are all that there are. What is no
         date is NULL.
Assumes: dates lie in the years 1 to 9999 (the scan reads any other as NULL).
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval
from obverse.core.types import Type, Value, days
from obverse.plan.dialects.base import Dialect
from obverse.plan.dialects.patterns import pieces
from obverse.plan.expressions import ColumnFacts
from obverse.plan.functions.base import ANY, Facts, Function, Printed, literal_text, mismatch, need, tainted
from obverse.plan.functions.categorical import CHARACTERS_MAX, over_lists
from obverse.plan.functions.dates import TEMPORAL, ends_of, midnight_of, units_between
from obverse.plan.functions.text import strict

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
PATTERN_MAX = 64
SIGNS: dict[str, tuple[str, Callable[[dt.datetime], str]]] = {  # the finest unit that the sign tells apart, and its text
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
monthname = _name("monthname", "month", MONTHS, lambda moment: moment.month)


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
    return made if isinstance(made.bounds, Categories) else ColumnFacts(Type.DATE, True, UNBOUNDED, None, tainted(facts))


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
