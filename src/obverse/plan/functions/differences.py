"""Spans between dates and timestamps: DATE_DIFF, d - e, and an age in years.

Claim:   each is total and gives an integer between its values at the ends.
Proof:   DATE_DIFF counts the starts of units that lie between (weeks: full weeks of days), so it falls with the first
         argument and grows with the second; the calendar has fewer than 2**59 microseconds, so nothing overflows. An age is
         the quotient towards zero of the difference of year * 10000 + month * 100 + day by 10000, monotone as well.
Assumes: dates lie in the years 1 to 9999 (the scan reads any other as NULL).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from fractions import Fraction

from obverse.core.bounds import Interval
from obverse.core.types import Type, Value, days, micros
from obverse.plan.dialects.base import Dialect
from obverse.plan.expressions import ColumnFacts
from obverse.plan.functions.arithmetic import as_type
from obverse.plan.functions.base import ANY, Facts, Function, Printed, any_null, common_type, need, tainted
from obverse.plan.functions.dates import TEMPORAL, ends_of, midnight_of

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
