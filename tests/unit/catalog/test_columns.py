from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.catalog.columns import categories
from obverse.core.types import INT64_MAX, INT64_MIN, Type

ANY_VALUE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.dates(), st.datetimes(), st.binary(), st.times()
)
PYTHON_TYPE = {
    Type.INTEGER: int,
    Type.DOUBLE: float,
    Type.BOOLEAN: bool,
    Type.TEXT: str,
    Type.DATE: dt.date,
    Type.TIMESTAMP: dt.datetime,
}


@given(kind=st.sampled_from(Type), values=st.lists(ANY_VALUE, max_size=4))
def test_categories_are_of_the_declared_type_or_refused(kind: Type, values: list[object]) -> None:
    listed = categories(kind, values)
    if listed is not None:
        assert {type(value) for value in listed.values} == {PYTHON_TYPE[kind]}
        assert len(listed.values) == len(values)


@given(values=st.lists(st.integers(INT64_MIN, INT64_MAX), min_size=1, unique=True))
def test_integers_of_64_bits_are_categories_in_their_order(values: list[int]) -> None:
    listed = categories(Type.INTEGER, values)
    assert listed is not None
    assert listed.values == tuple(values)


@pytest.mark.parametrize(
    "values", [[], ["a", "a"], [None], [1], ["nul\0"]], ids=["none", "twice", "null", "another type", "nul sign"]
)
def test_a_list_that_is_no_set_of_texts_is_refused(values: list[object]) -> None:
    assert categories(Type.TEXT, values) is None


def test_both_zeros_are_one_category() -> None:
    assert categories(Type.DOUBLE, [0.0, -0.0]) is None
    assert categories(Type.DOUBLE, [float("nan")]) is None
    assert categories(Type.DOUBLE, [10**400]) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[0, 120]", "[120, 0]"),
        ("[0, 120]", '["0", "120"]'),
        ("[0, 120]", "[0.5, 120]"),
        ("[0, 120]", "[0, 9223372036854775808]"),
        ("[0, 120]", "[false, true]"),
        ("[0, 120]", "[0, nan]"),
        ("[0, 10000], grid = 0.01", "[0, inf]"),
        ("[0, 10000], grid = 0.01", "[0, 1e301]"),
        ('["2010-01-01", "2030-12-31"]', '["2010-01-01", "2030-02-31"]'),
        ('["2010-01-01", "2030-12-31"]', '["2010-01-01", "20301231"]'),
        ('["2010-01-01", "2030-12-31"]', "[2010-01-01, 2030-12-31T00:00:00]"),
        ('["2010-01-01", "2030-12-31"]', "[0, 1]"),
        ('["2015-01-01", "2030-12-31"]', '["2015-01-01", "2030-12-31T00:00:00Z"]'),
        ('["2015-01-01", "2030-12-31"]', "[2015-01-01, 2030-12-31T00:00:00Z]"),
        ('["2015-01-01", "2030-12-31"]', '["2015-01-01", "2030-12-31T25:00"]'),
        ('hiv = { type = "boolean"', 'hiv = { type = "boolean", bounds = [0, 1]'),
        ('zip = { type = "text"', 'zip = { type = "text", bounds = ["a", "b"]'),
    ],
)
def test_bounds_that_do_not_fit_the_type_are_refused(edited, refusal, old: str, new: str) -> None:
    error = refusal(edited((old, new)))
    assert error.code == "bad_bounds"
    assert error.place.endswith(".bounds")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bounds = [0, 120]", "bounds = [0, 120], grid = 0.5"),
        ("bounds = [0, 120]", "bounds = [0, 120], grid = 7"),
        ("grid = 0.01", "grid = 0.3"),
        ('hiv = { type = "boolean"', 'hiv = { type = "boolean", grid = 1'),
    ],
)
def test_a_grid_that_does_not_divide_the_bounds_is_refused(edited, refusal, old: str, new: str) -> None:
    assert refusal(edited((old, new))).code == "bad_grid"


@pytest.mark.parametrize(
    "values", ['["F", "F"]', "[]", "[1]", '["F", 2020-01-01]', '"clinics"', '".clinic"', '"clinics."']
)
def test_values_that_are_no_list_of_the_type_are_refused(edited, refusal, values: str) -> None:
    error = refusal(edited(('["F", "M", "X"]', values)))
    assert (error.code, error.place) == ("bad_values", "obverse.toml:21 tables.people.columns.sex.values")


def test_bounds_and_values_together_are_a_conflict(edited, refusal) -> None:
    assert refusal(edited(("bounds = [0, 120]", "bounds = [0, 120], values = [1]"))).code == "conflict"
