"""What functions share: one type for mixed arguments, bounds that survive rounding, and an order with NaN in it."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.bounds import UNBOUNDED, Categories, Interval, interval
from obverse.core.errors import Refused
from obverse.core.types import INT64_MAX, INT64_MIN, Type
from obverse.plan.expressions import ColumnFacts, Ref, literal, null_of
from obverse.plan.functions import BY_NAME, call, meaning
from obverse.plan.functions.base import (
    aligned,
    always_null,
    common_type,
    double_bounds,
    doubles,
    join_all,
    ranked,
    widened,
)

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e150, max_value=1e150)
anything = st.floats()


def double(lo: float, hi: float) -> Ref:
    return Ref("x", ColumnFacts(Type.DOUBLE, False, Interval(Fraction(lo), Fraction(hi))))


@given(finite, finite, st.sampled_from(["add", "subtract", "multiply"]))
@settings(max_examples=300)
def test_the_double_that_an_engine_computes_lies_within_the_derived_bounds(a: float, b: float, name: str) -> None:
    """Of arguments at their only value the bounds are the two doubles around the exact result."""
    made = call(name, double(a, a), double(b, b))
    bounds = made.facts.bounds
    if bounds == UNBOUNDED:
        return
    assert isinstance(bounds, Interval)
    found = meaning(made, (a, b))
    assert isinstance(found, float)
    assert bounds.lo <= Fraction(found) <= bounds.hi


@given(st.integers(INT64_MIN, INT64_MAX), st.integers(INT64_MIN, INT64_MAX))
def test_an_integer_read_as_a_double_lies_within_its_widened_bounds(a: int, b: int) -> None:
    fact = ColumnFacts(Type.INTEGER, False, interval(min(a, b), max(a, b)))
    around = double_bounds(fact)
    assert around is not None
    assert around == widened(fact, Type.DOUBLE)
    assert around.lo <= Fraction(float(a)) <= around.hi
    assert doubles(around) == around


@given(anything, anything)
def test_doubles_are_ranked_as_duckdb_orders_them(a: float, b: float) -> None:
    text = ", ".join(f"CAST('{x!r}' AS DOUBLE)" for x in (a, b))
    ((less, same),) = duckdb.execute(f"SELECT x < y, x = y FROM (VALUES ({text})) AS v(x, y)").fetchall()
    assert (ranked(a) < ranked(b), ranked(a) == ranked(b)) == (less, same)


def test_mixed_values_are_read_as_the_type_that_the_engine_casts_to() -> None:
    assert aligned(2**53 + 1, 0.5) == (float(2**53 + 1), 0.5)
    assert aligned(dt.date(2020, 1, 2), dt.datetime(2020, 1, 1, 5)) == (
        dt.datetime(2020, 1, 2),
        dt.datetime(2020, 1, 1, 5),
    )
    assert aligned(1, None, 2) == (1, None, 2)
    assert aligned(True, False) == (True, False)


def test_a_null_of_any_type_joins_as_nothing() -> None:
    wide = ColumnFacts(Type.DOUBLE, True, interval(48, 96))
    for kind in Type:
        assert always_null(null_of(kind).facts)
        assert join_all((null_of(kind).facts, wide), Type.DOUBLE) == wide.bounds
        assert common_type((null_of(kind).facts, wide), "CASE") is Type.DOUBLE


def test_large_integers_listed_become_fewer_doubles() -> None:
    fact = ColumnFacts(Type.INTEGER, False, Categories((2**53, 2**53 + 1, 3)))
    assert widened(fact, Type.DOUBLE) == Categories((9007199254740992.0, 3.0))


@pytest.mark.parametrize(
    ("function", "left", "right"),
    [
        ("add", "a", 1),
        ("eq", True, 1),
        ("lt", dt.date(2020, 1, 1), 5),
        ("integer_divide", 1.5, 2),
        ("like", 1, "a"),
        ("and", 1, True),
    ],
)
def test_types_that_do_not_fit_are_refused_with_a_code(function: str, left: object, right: object) -> None:
    with pytest.raises(Refused) as refused:
        call(function, literal(left), literal(right))  # type: ignore[arg-type]
    assert refused.value.code == "type_error"


@given(
    st.text("ab%_!é\n", max_size=8), st.text("ab%_!é", max_size=6), st.sampled_from(["like", "ilike"]), st.booleans()
)
@settings(max_examples=400, deadline=None)
def test_like_is_duckdbs_like(text: str, pattern: str, name: str, escaped: bool) -> None:
    args = [literal(pattern), *([literal("!")] if escaped else [])]
    word = name.upper() + (" $2 ESCAPE '!'" if escaped else " $2")
    try:
        call(name, Ref("t", ColumnFacts(Type.TEXT)), *args)
    except Refused:
        assert escaped
        assert pattern.endswith("!")
        return
    ((found,),) = duckdb.execute(f"SELECT $1 {word}", [text, pattern]).fetchall()
    assert BY_NAME[name].reference(text, *(arg.value for arg in args)) == found


def test_a_pattern_of_many_wildcards_is_matched_in_no_time() -> None:
    assert BY_NAME["like"].reference("a" * 5000, "%a" * 50 + "b") is False
    assert BY_NAME["like"].reference("a" * 5000 + "b", "%a" * 50 + "b") is True
