"""Numbers become integers on a grid, and never leave the range that the sensitivity is computed from."""

from __future__ import annotations

import math
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.bounds import Interval, interval
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit import expressions as printing
from obverse.plan.expressions import ColumnFacts, Ref, literal
from obverse.plan.measures import (
    TERM_BITS,
    Leaves,
    Measure,
    Term,
    count_term,
    grid_of,
    place_of,
    square_term,
    sum_term,
    tree_over,
    unit_range,
)

D = DIALECTS["duckdb"]
ends = st.one_of(
    st.floats(-1e6, 1e6, allow_nan=False),
    st.floats(-1e80, 1e80, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-80),
)
steps = st.sampled_from((None, Fraction(1, 100), Fraction(1, 4), Fraction(5)))


def column(lo: float, hi: float, step: Fraction | None = None) -> Ref:
    bounds = Interval(Fraction(min(lo, hi)), Fraction(max(lo, hi)))
    return Ref("x", ColumnFacts(Type.DOUBLE, True, bounds, step))


def integer(lo: int, hi: int) -> Ref:
    return Ref("x", ColumnFacts(Type.INTEGER, True, interval(lo, hi), Fraction(1)))


def on_grid(term: Term, x: float | int) -> int:
    grid = term.grid
    assert grid is not None
    clamped = min(max(x, grid.lo), grid.hi)
    if isinstance(grid.lo, int) and grid.factor == grid.divisor == 1.0:
        return int(clamped) - grid.centre
    return round(float(clamped) * grid.factor / grid.divisor) - grid.centre


@given(ends, ends, steps, st.integers(1, 10**6), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=300)
def test_whatever_the_value_its_integer_lies_within_the_term(
    lo: float, hi: float, step: Fraction | None, rows: int, centred: bool, x: float
) -> None:
    try:
        term = sum_term(column(lo, hi, step), rows, centred=centred)
    except Refused:
        return  # magnitudes that no double's square would survive
    assert term.lo <= on_grid(term, x) <= term.hi
    assert {on_grid(term, min(lo, hi)), on_grid(term, max(lo, hi))} == {term.lo, term.hi}
    assert term.magnitude * rows <= 1 << TERM_BITS


@given(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(1, 10**9),
    st.integers(-(2**63), 2**63 - 1),
)
def test_integers_of_any_size_lie_within_the_term(a: int, b: int, rows: int, x: int) -> None:
    term = sum_term(integer(min(a, b), max(a, b)), rows)
    assert term.lo <= on_grid(term, x) <= term.hi
    assert term.magnitude * rows <= 1 << TERM_BITS
    square = square_term(integer(min(a, b), max(a, b)), rows)
    assert 0 <= square.lo <= square.hi
    assert square.magnitude * rows <= 1 << TERM_BITS


@pytest.mark.parametrize(("lo", "hi"), [(256, 2**40), (-(2**40), 256), (-768, 2**40), (2**62 + 2**30, 2**63 - 1)])
def test_the_engine_rounds_ends_that_lie_on_a_half_as_we_do(lo: int, hi: int) -> None:
    """Halves go to even in DuckDB's casts; were they thought to go away from zero, the range would be one step
    short.
    """
    term = sum_term(integer(lo, hi), 1)
    assert term.grid is not None
    for value in (lo, hi, lo + 1, hi - 1):
        sql = printing.term(term, f"CAST({value} AS BIGINT)", D, is_raw=False)
        (found,) = duckdb.execute(f"SELECT {sql}").fetchall()[0]
        assert term.lo <= found <= term.hi
        assert found == on_grid(term, value)


def test_a_declared_grid_is_kept_where_it_fits_and_doubled_until_it_does() -> None:
    cents = column(0, 10_000, Fraction(1, 100))
    assert grid_of(cents, 1, centred=False).step == Fraction(1, 100)
    assert sum_term(cents, 1).hi == 1_000_000
    assert grid_of(cents, 10_000, centred=False).step == Fraction(8, 100)
    assert grid_of(integer(0, 120), 20, centred=False).step == 1


def test_steps_that_no_double_holds_are_replaced() -> None:
    tiny = column(0, 1, Fraction(1, 10**320))
    grid = grid_of(tiny, 1, centred=False)
    assert math.isfinite(grid.factor)
    assert math.isfinite(grid.divisor)
    assert grid.last >= 1


def test_the_centre_halves_the_magnitude() -> None:
    assert sum_term(integer(0, 100), 1, centred=True).magnitude == 50
    assert sum_term(integer(0, 100), 1).magnitude == 100
    assert sum_term(integer(48, 96), 1, centred=True).magnitude == 24


def test_a_count_of_what_is_never_null_counts_rows() -> None:
    assert count_term(Ref("x", ColumnFacts(Type.TEXT, nullable=False))) == count_term(None)
    assert count_term(Ref("x", ColumnFacts(Type.TEXT))).lo == 0


@given(st.integers(-100, 100), st.integers(0, 100), st.integers(1, 50), st.integers(1, 10_000), st.data())
def test_a_units_total_is_cut_to_what_its_rows_can_hold(
    lo: int, width: int, rows: int, cap: int, data: st.DataObject
) -> None:
    term = sum_term(integer(lo, lo + width), rows)
    measure = Measure("sum", term, min(cap, rows * term.magnitude))
    low, high = unit_range(measure, rows)
    assert low <= 0 <= high
    assert max(-low, high) <= measure.cap
    count = data.draw(st.integers(0, rows))
    total = sum(data.draw(st.lists(st.integers(lo, lo + width), min_size=count, max_size=count)))
    assert min(0, rows * lo) <= total <= max(0, rows * (lo + width))


@pytest.mark.parametrize(
    "argument", [Ref("x", ColumnFacts(Type.DOUBLE)), Ref("t", ColumnFacts(Type.TEXT)), literal("a")]
)
def test_what_has_no_bounds_is_refused_with_a_fix(argument: Ref) -> None:
    with pytest.raises(Refused) as refused:
        sum_term(argument, 1)
    assert refused.value.code == "no_bounds"
    assert "CLAMP" in refused.value.fix


def test_places_on_a_grid_begin_at_its_first() -> None:
    assert [place_of(Leaves(10, 1, 50, Fraction(1)), x) for x in (10, 11, 12, 109)] == [0, 0, 1, 49]
    assert [place_of(Leaves(-4, 0, 9, Fraction(1, 2)), x) for x in (-2.0, -1.5, 0.0, 2.0)] == [0, 1, 4, 8]


@pytest.mark.parametrize("leaves", [1, 2, 3, 120, 121, 1000, 10_001, 65_536])
def test_a_tree_holds_its_leaves_and_has_the_least_error(leaves: int) -> None:
    height, branching = tree_over(leaves)
    assert branching**height >= leaves
    others = ((h, b) for h in range(1, 17) for b in range(2, 400) if b**h >= leaves)
    assert height**3 * branching <= 1.3 * min(h**3 * b for h, b in others)
