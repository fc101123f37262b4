"""Every registered function passes the suite on every engine; bounds form a lattice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval, Unbounded, contains, interval, join
from obverse.core.types import Value
from obverse.plan.dialects import DIALECTS
from obverse.plan.functions import BY_NAME, FUNCTIONS
from obverse.plan.functions.base import Function
from obverse.testing.conformance.function import Run, check_function
from tests.servers import compiled, postgres_address, spark_session


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        yield lambda sql: connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def run_spark() -> Run:
    session = compiled(spark_session())
    return lambda sql: [tuple(row) for row in session.sql(sql).collect()]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_a_function_is_total_within_its_facts_and_equal_to_its_reference(function: Function, run: Run) -> None:
    tried = check_function(function, run, DIALECTS["duckdb"])
    assert tried.rows >= 70


@pytest.fixture(scope="module")
def run_postgres() -> Iterator[Run]:
    address = postgres_address()
    import psycopg

    from obverse.engines.postgres import settled

    with psycopg.connect(address) as connection:
        settled(connection)
        yield lambda sql: connection.execute(sql).fetchall()


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_a_function_means_the_same_on_postgres(function: Function, run_postgres: Run) -> None:
    tried = check_function(function, run_postgres, DIALECTS["postgres"])
    assert tried.rows >= 70


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_a_function_means_the_same_on_spark(function: Function, run_spark: Run) -> None:
    tried = check_function(function, run_spark, DIALECTS["spark"], combinations=16)
    assert tried.rows >= 70


def test_names_are_unique() -> None:
    assert len({function.name for function in FUNCTIONS}) == len(FUNCTIONS)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 11))
def test_functions_on_ten_times_as_many_arguments(seed: int, run: Run) -> None:
    for function in FUNCTIONS:
        check_function(function, run, DIALECTS["duckdb"], seed=seed, combinations=120)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 11))
def test_functions_on_ten_times_as_many_arguments_on_postgres(seed: int, run_postgres: Run) -> None:
    for function in FUNCTIONS:
        check_function(function, run_postgres, DIALECTS["postgres"], seed=seed, combinations=120)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 4))
def test_functions_on_more_arguments_on_spark(seed: int, run_spark: Run) -> None:
    for function in FUNCTIONS:
        check_function(function, run_spark, DIALECTS["spark"], seed=seed)


def test_a_function_that_raises_leaves_its_bounds_or_differs_from_its_reference_is_noticed(run: Run) -> None:
    absolute = next(function for function in FUNCTIONS if function.name == "abs")
    modulo = next(function for function in FUNCTIONS if function.name == "modulo")

    def wrong(original: Function, **changed: object) -> None:
        sabotaged = replace(original, **changed)  # type: ignore[arg-type]
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(BY_NAME, original.name, sabotaged)
            with pytest.raises((AssertionError, duckdb.Error)):
                check_function(sabotaged, run, DIALECTS["duckdb"])

    wrong(absolute, sql=lambda args, facts, d: f"({args[0]} + 1)")
    wrong(absolute, reference=lambda x: x)
    wrong(absolute, derive=lambda facts: replace(absolute.derive(facts), bounds=interval(0, 3)))
    wrong(absolute, derive=lambda facts: replace(absolute.derive(facts), nullable=False))
    wrong(modulo, sql=lambda args, facts, d: f"({args[0]} % {args[1]})")


numbers = st.fractions(min_value=-100, max_value=100, max_denominator=8)
intervals = st.tuples(numbers, numbers).map(lambda ends: Interval(min(ends), max(ends)))
categories = st.one_of(
    st.lists(st.integers(-100, 100), unique=True, max_size=4).map(lambda values: Categories(tuple(values))),
    st.lists(st.sampled_from("abcde"), unique=True, max_size=4).map(lambda values: Categories(tuple(values))),
)
bounds = st.one_of(intervals, categories, st.just(UNBOUNDED))


def meaning(of: Bounds) -> object:
    """What bounds say, whatever order a list is in."""
    match of:
        case Categories(values):
            return frozenset(values)
        case Interval(lo, hi):
            return lo, hi
        case Unbounded():
            return "anything"


@given(bounds, bounds, bounds)
@settings(max_examples=300, deadline=None)
def test_join_is_idempotent_commutative_and_associative(a: Bounds, b: Bounds, c: Bounds) -> None:
    assert meaning(join(a, a)) == meaning(a)
    assert meaning(join(a, b)) == meaning(join(b, a))
    assert meaning(join(join(a, b), c)) == meaning(join(a, join(b, c)))


@given(bounds, bounds, st.one_of(st.integers(-100, 100), st.sampled_from("abcde"), numbers.map(float)))
@settings(max_examples=300, deadline=None)
def test_join_holds_whatever_either_side_holds(a: Bounds, b: Bounds, value: Value) -> None:
    if contains(a, value) or contains(b, value):
        assert contains(join(a, b), value)
