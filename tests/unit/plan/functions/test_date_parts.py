"""Dates: parts, units, spans and shifts stay in the calendar, within their bounds, and finite where the column is."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.bounds import UNBOUNDED, Categories, Interval, interval
from obverse.core.errors import Refused
from obverse.core.types import Type, Value, days, micros
from obverse.plan.expressions import Call, ColumnFacts, Expr, Ref, as_number, domain, literal
from obverse.plan.functions import BY_NAME, call, meaning
from obverse.plan.functions.date_arithmetic import DIFFERENCES_IN
from obverse.plan.functions.date_parts import MONTH_NAMES, PARTS, UNITS, WEEKDAYS

moments = st.one_of(st.datetimes(), st.datetimes(dt.datetime(2019, 1, 1), dt.datetime(2021, 1, 1)))
DATE = Ref("d", ColumnFacts(Type.DATE))
MOMENT = Ref("m", ColumnFacts(Type.TIMESTAMP))


def dates(first: dt.date, last: dt.date) -> Ref:
    return Ref("d", ColumnFacts(Type.DATE, False, interval(days(first), days(last))))


def around(*known: dt.datetime, name: str = "m") -> Ref:
    return Ref(name, ColumnFacts(Type.TIMESTAMP, False, interval(micros(min(known)), micros(max(known)))))


def holds(made: Call, found: Value) -> bool:
    if found is None:
        return made.facts.nullable
    match made.facts.bounds:
        case Interval(lo, hi):
            number = as_number(found)
            return number is not None and lo <= number <= hi
        case Categories(values):
            return found in values
        case _:
            return True


@given(moments, moments, moments)
@settings(max_examples=300, deadline=None)
def test_a_part_a_unit_and_a_text_of_a_bounded_moment_lie_within_their_facts(
    a: dt.datetime, b: dt.datetime, c: dt.datetime
) -> None:
    column = around(a, b, c)
    for name in (*PARTS, "epoch", *(f"trunc_{unit}" for unit in UNITS), "last_day", "dayname", "monthname"):
        made = call(name, column)
        assert holds(made, meaning(made, (c,))), name
    for pattern in ("%Y", "%m", "%Y-%m-%d", "%H", "%j"):
        made = call("strftime", column, literal(pattern))
        assert holds(made, meaning(made, (c, pattern))), pattern


@given(st.tuples(*[moments] * 6))
@settings(max_examples=200, deadline=None)
def test_a_span_between_bounded_moments_lies_within_its_facts(six: tuple[dt.datetime, ...]) -> None:
    a, b, c, e, f, g = six
    for unit in DIFFERENCES_IN:
        made = call(f"diff_{unit}", around(a, b, c), around(e, f, g, name="o"))
        assert holds(made, meaning(made, (c, g))), unit


@given(moments, moments, moments, st.integers(-30, 30), st.sampled_from([1, 12, 3_000]))
@settings(max_examples=300, deadline=None)
def test_a_shifted_moment_lies_within_its_facts_or_is_null(
    a: dt.datetime, b: dt.datetime, c: dt.datetime, count: int, scale: int
) -> None:
    for name, by in (("add_months", count * scale), ("add_micros", count * scale * 10**12)):
        made = call(name, around(a, b, c), literal(by))
        assert holds(made, meaning(made, (c, by))), name
    made = call("add_days", dates(min(a, b, c).date(), max(a, b, c).date()), literal(count * scale))
    assert holds(made, meaning(made, (c.date(), count * scale)))


def test_keys_of_dates_are_finite_where_the_column_is() -> None:
    year = dates(dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    assert domain(call("month", year).facts) == tuple(range(1, 13))
    assert domain(call("decade", year).facts) == (202,)
    assert domain(call("century", year).facts) == (21,)
    assert domain(call("hour", year).facts) == (0,)
    assert domain(call("trunc_quarter", year).facts) == tuple(dt.date(2020, m, 1) for m in (1, 4, 7, 10))
    assert domain(call("trunc_decade", year).facts) == (dt.date(2020, 1, 1),)
    assert domain(call("last_day", year).facts)[1] == dt.date(2020, 2, 29)  # type: ignore[index]
    assert domain(call("dayname", DATE).facts) == WEEKDAYS
    assert domain(call("monthname", DATE).facts) == MONTH_NAMES
    assert domain(call("strftime", year, literal("%Y-%m")).facts) == tuple(f"2020-{m:02}" for m in range(1, 13))
    assert domain(call("diff_year", year, literal(dt.date(2022, 1, 1))).facts) == (2,)
    assert domain(call("years_between", literal(dt.date(1990, 6, 1)), year).facts) == (29, 30)
    assert len(domain(call("trunc_month", call("add_days", year, literal(31))).facts) or ()) == 12
    months = call("trunc_month", call("to_timestamp", year))
    assert domain(call("add_months", months, literal(1)).facts)[0] == dt.datetime(2020, 2, 1)  # type: ignore[index]
    assert len(domain(call("to_date", months).facts) or ()) == 12


def test_a_range_too_long_to_list_keeps_its_ends() -> None:
    long = around(dt.datetime(2000, 1, 1), dt.datetime(2030, 1, 1, 5, 6))
    bounds = call("trunc_minute", long).facts.bounds
    assert bounds == interval(micros(dt.datetime(2000, 1, 1)), micros(dt.datetime(2030, 1, 1, 5, 6)))
    assert call("strftime", long, literal("%M%d%Y")).facts.bounds == UNBOUNDED


def test_what_leaves_the_calendar_is_null() -> None:
    last = dt.datetime.max
    first = dt.datetime.min
    assert BY_NAME["add_months"].reference(last, 1) is None
    assert BY_NAME["add_months"].reference(first, -1) is None
    assert BY_NAME["add_months"].reference(dt.datetime(2020, 1, 31, 5), 1) == dt.datetime(2020, 2, 29, 5)
    assert BY_NAME["add_micros"].reference(last, 1) is None
    assert BY_NAME["add_days"].reference(last.date(), 1) is None
    assert BY_NAME["add_days"].reference(dt.date(2020, 1, 1), 2**63 - 1) is None
    assert BY_NAME["trunc_decade"].reference(dt.date(9, 1, 1)) is None
    assert BY_NAME["make_date"].reference(2021, 2, 29) is None
    assert BY_NAME["make_date"].reference(2**62, 1, 1) is None
    assert BY_NAME["from_epoch"].reference(1e300) is None
    assert BY_NAME["from_epoch"].reference(1.5) == dt.datetime(1970, 1, 1, 0, 0, 1, 500_000)


@pytest.mark.parametrize(
    ("start", "end", "years"),
    [
        ((2020, 2, 29), (2021, 2, 28), 0),
        ((2020, 2, 29), (2021, 3, 1), 1),
        ((1990, 5, 17), (2020, 5, 16), 29),
        ((1990, 5, 17), (2020, 5, 17), 30),
        ((2020, 5, 17), (1990, 5, 17), -30),
        ((2020, 5, 17), (1990, 5, 18), -29),
    ],
)
def test_an_age_is_in_full_years(start: tuple[int, int, int], end: tuple[int, int, int], years: int) -> None:
    assert BY_NAME["years_between"].reference(dt.date(*start), dt.date(*end)) == years


@pytest.mark.parametrize(
    "args",
    [
        ("add_months", MOMENT, Ref("n", ColumnFacts(Type.INTEGER))),
        ("add_months", MOMENT, literal(200_000)),
        ("add_months", DATE, literal(1)),
        ("add_days", MOMENT, literal(1)),
        ("add_days", DATE, literal(1.5)),
        ("diff_day", DATE, literal(1)),
        ("years_between", MOMENT, DATE),
        ("strftime", DATE, literal("%x")),
        ("strftime", DATE, literal("100%")),
        ("strftime", DATE, literal("")),
        ("strftime", DATE, literal("%Y" * 40)),
        ("strftime", DATE, Ref("s", ColumnFacts(Type.TEXT))),
        ("make_date", literal(2020.5), literal(1), literal(1)),
        ("last_day", literal(1)),
    ],
)
def test_what_has_no_proof_is_refused(args: tuple[str, Expr]) -> None:
    name, *rest = args
    with pytest.raises(Refused) as refused:
        call(name, *rest)
    assert refused.value.code == "type_error"


def test_what_comes_from_the_units_key_stays_marked() -> None:
    key = Ref("d", ColumnFacts(Type.DATE, False, interval(0, 9), identifies=True))
    for name in (*PARTS, "epoch", *(f"trunc_{unit}" for unit in UNITS), "last_day", "dayname", "monthname"):
        assert call(name, key).facts.identifies, name
    assert call("diff_day", literal(dt.date(2020, 1, 1)), key).facts.identifies
    assert call("years_between", key, literal(dt.date(2020, 1, 1))).facts.identifies
    assert call("add_days", key, literal(1)).facts.identifies
    assert call("add_months", call("to_timestamp", key), literal(1)).facts.identifies
    assert call("strftime", key, literal("%Y")).facts.identifies
    number = Ref("n", ColumnFacts(Type.INTEGER, False, interval(1, 9), Fraction(1), identifies=True))
    assert call("make_date", literal(2020), number, literal(1)).facts.identifies
    assert call("from_epoch", number).facts.identifies
