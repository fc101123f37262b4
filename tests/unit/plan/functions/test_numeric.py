"""Numbers: whatever a library gives lies within the derived bounds, and nothing infinite leaves."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.bounds import UNBOUNDED, Interval, interval
from obverse.core.errors import Refused
from obverse.core.types import Type, Value
from obverse.plan.expressions import Call, ColumnFacts, Expr, Ref, domain, literal
from obverse.plan.functions import BY_NAME, call, meaning
from obverse.plan.functions.numeric import ANALYTIC
from obverse.plan.stability.joint import modelled

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e150, max_value=1e150)
usual = st.floats(allow_nan=False, allow_infinity=False, min_value=-50, max_value=50)
WHOLE = Ref("n", ColumnFacts(Type.INTEGER))
NUMBER = Ref("x", ColumnFacts(Type.DOUBLE))


def between(lo: float, hi: float) -> Ref:
    return Ref("x", ColumnFacts(Type.DOUBLE, False, Interval(Fraction(min(lo, hi)), Fraction(max(lo, hi)))))


def holds(made: Call, found: Value) -> bool:
    if found is None:
        return made.facts.nullable
    bounds = made.facts.bounds
    return not isinstance(bounds, Interval) or (
        isinstance(found, (int, float)) and bounds.lo <= Fraction(found) <= bounds.hi
    )


@pytest.mark.parametrize("name", [f.name for f in ANALYTIC] + ["degrees", "radians", "sign", "trunc"])
@given(a=st.one_of(usual, finite), b=st.one_of(usual, finite), share=st.floats(0, 1))
@settings(max_examples=150, deadline=None)
def test_a_function_of_an_interval_lies_within_its_bounds(name: str, a: float, b: float, share: float) -> None:
    made = call(name, between(a, b))
    for x in (a, b, min(max(a + (b - a) * share, min(a, b)), max(a, b))):
        found = meaning(made, (x,))
        assert found is None or math.isfinite(found)  # type: ignore[arg-type]
        assert holds(made, found)


@given(usual, usual, usual, usual, st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=400, deadline=None)
def test_a_power_lies_within_its_bounds(a: float, b: float, c: float, e: float, one: float, other: float) -> None:
    made = call("power", between(a, b), between(c, e))
    whole = call("power", between(a, b), literal(round(c)))
    for x in (a, b, 0.0 if min(a, b) <= 0 <= max(a, b) else a, min(max(a + (b - a) * one, min(a, b)), max(a, b))):
        for y in (c, e, min(max(c + (e - c) * other, min(c, e)), max(c, e))):
            assert holds(made, meaning(made, (x, y)))
        assert holds(whole, meaning(whole, (x, round(c))))


@pytest.mark.parametrize(
    ("name", "x", "value"),
    [
        ("sqrt", -1.0, None),
        ("sqrt", 2.25, 1.5),
        ("sqrt", math.nan, None),
        ("sqrt", math.inf, None),
        ("ln", 0.0, None),
        ("ln", -3.0, None),
        ("ln", 1.0, 0.0),
        ("log10", 1000.0, 3.0),
        ("log2", 8.0, 3.0),
        ("exp", 691.0, None),
        ("exp", 0.0, 1.0),
        ("exp", -1e9, 0.0),
        ("asin", 1.5, None),
        ("acos", 1.0, 0.0),
        ("sin", math.inf, None),
        ("cbrt", 8.0, 2.0),
        ("sign", -0.0, 0),
        ("sign", math.nan, 1),
        ("sign", -7, -1),
        ("degrees", math.pi, 180.0),
        ("degrees", 1e308, None),
    ],
)
def test_outside_its_domain_a_function_is_null(name: str, x: float, value: float | None) -> None:
    found = BY_NAME[name].reference(x)
    assert found == value or (found is not None and math.isclose(found, value or 0))  # type: ignore[arg-type]


def test_powers_that_are_no_finite_numbers_are_null() -> None:
    for x, y in ((0.0, -1.0), (-8.0, 1 / 3), (1e300, 2.0), (math.inf, 1.0), (math.nan, 1.0)):
        assert BY_NAME["power"].reference(x, y) is None
    assert call("power", NUMBER, literal(2)).facts == ColumnFacts(Type.DOUBLE, True, UNBOUNDED)
    square = call("power", Ref("n", ColumnFacts(Type.INTEGER, False, interval(-5, 3), Fraction(1))), literal(2)).facts
    assert isinstance(square.bounds, Interval)
    assert (round(square.bounds.lo, 9), round(square.bounds.hi, 9), square.step) == (0, 25, 1)
    assert not square.nullable


@given(st.one_of(usual, st.floats()), st.integers(1, 12))
@settings(max_examples=200)
def test_a_bucket_is_one_of_its_numbers(x: float, count: int) -> None:
    made = call("width_bucket", NUMBER, literal(-3), literal(7.25), literal(count))
    found = meaning(made, (x, -3, 7.25, count))
    assert domain(made.facts) == tuple(range(count + 2))
    assert isinstance(found, int)
    assert 0 <= found <= count + 1
    assert (found == 0) == (x < -3)
    assert (found == count + 1) == (not x < 7.25)


def test_buckets_remainders_and_signs_of_bounded_numbers_are_few() -> None:
    inside = Ref("x", ColumnFacts(Type.INTEGER, False, interval(20, 39)))
    assert domain(call("width_bucket", inside, literal(0), literal(100), literal(10)).facts) == (3, 4)
    assert domain(call("modulo", WHOLE, literal(3)).facts) == (-2, -1, 0, 1, 2)
    assert domain(call("modulo", inside, literal(3)).facts) == (0, 1, 2)
    assert domain(call("sign", inside).facts) == (1,)


@pytest.mark.parametrize(
    "args",
    [
        ("width_bucket", NUMBER, literal(5), literal(5), literal(2)),
        ("width_bucket", NUMBER, literal(0), NUMBER, literal(2)),
        ("width_bucket", NUMBER, literal(0), literal(1e16), literal(2)),
        ("width_bucket", NUMBER, literal(0), literal(1), literal(0)),
        ("width_bucket", NUMBER, literal(0), literal(1), literal(10_001)),
        ("width_bucket", NUMBER, literal(0), literal(1), literal(2.5)),
        ("sqrt", literal("a")),
        ("power", NUMBER),
    ],
)
def test_buckets_are_written_as_literals(args: tuple[str, Expr]) -> None:
    name, *rest = args
    with pytest.raises(Refused) as refused:
        call(name, *rest)
    assert refused.value.code == "type_error"


def test_what_a_library_computes_is_not_taken_to_the_last_bit() -> None:
    x = between(1, 2)
    for name in ("exp", "ln", "log2", "sin", "tan", "atan", "cbrt"):
        assert not modelled(call("gt", call(name, x), literal(1)))
    assert not modelled(call("gt", call("power", x, literal(2)), literal(1)))
    for name in ("sqrt", "sign", "radians"):
        assert modelled(call("gt", call(name, x), literal(1)))


def test_what_comes_from_the_units_key_stays_marked() -> None:
    key = Ref("x", ColumnFacts(Type.DOUBLE, False, interval(0, 9), identifies=True))
    for name in (*(f.name for f in ANALYTIC), "sign", "degrees", "radians", "trunc"):
        assert call(name, key).facts.identifies, name
    assert call("power", literal(2), key).facts.identifies
    assert call("width_bucket", key, literal(0), literal(1), literal(3)).facts.identifies
