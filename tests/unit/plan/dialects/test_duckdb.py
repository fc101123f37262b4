"""What is printed is read back by DuckDB as it was meant, whatever it holds."""

from __future__ import annotations

import datetime as dt
import math

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken
from obverse.core.types import INT64_MAX, INT64_MIN, Type, Value
from obverse.plan.dialects.duckdb import DuckDB

D = DuckDB()
CONNECTION = duckdb.connect()
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=40)
VALUES: dict[Type, st.SearchStrategy[Value]] = {
    Type.INTEGER: st.integers(INT64_MIN, INT64_MAX),
    Type.DOUBLE: st.floats(allow_nan=True),
    Type.BOOLEAN: st.booleans(),
    Type.TEXT: texts,
    Type.DATE: st.dates(),
    Type.TIMESTAMP: st.datetimes(),
}


@pytest.mark.parametrize("kind", Type)
def test_a_literal_is_read_back_as_its_value_and_type(kind: Type) -> None:
    @given(VALUES[kind])
    @settings(max_examples=60, deadline=None)
    def check(value: Value) -> None:
        sql = f"SELECT {D.literal(value, kind)}, typeof({D.literal(value, kind)})"
        ((found, name),) = CONNECTION.execute(sql).fetchall()
        assert name == D.type_name(kind)
        assert found == value or (isinstance(value, float) and math.isnan(value) and math.isnan(found))

    check()


@pytest.mark.parametrize("kind", Type)
def test_null_has_the_type_it_is_printed_as(kind: Type) -> None:
    assert CONNECTION.execute(f"SELECT typeof({D.literal(None, kind)})").fetchall() == [(D.type_name(kind),)]


@given(texts.filter(bool))
@settings(max_examples=60, deadline=None)
def test_an_identifier_names_one_column_whatever_it_is_called(name: str) -> None:
    found = CONNECTION.execute(f"SELECT 1 AS {D.identifier(name)}")
    assert [d[0] for d in found.description] == [name]


def test_a_zero_byte_is_a_defect() -> None:
    for broken in (lambda: D.identifier("a\0b"), lambda: D.literal("a\0b", Type.TEXT)):
        with pytest.raises(InvariantBroken):
            broken()


@pytest.mark.parametrize(("top", "bottom"), [(7, 2), (-7, 2), (-1, 1024), (-(2**62), 3), (0, 5)])
def test_a_whole_quotient_goes_towards_zero(top: int, bottom: int) -> None:
    """Were it to go down, the shares of a unit with negative values would add up to more than its cap."""
    expected = abs(top) // bottom * (1 if top >= 0 else -1)
    for cast in ("BIGINT", "HUGEINT"):
        text = D.whole_quotient(f"CAST({top} AS {cast})", f"CAST({bottom} AS {cast})")
        assert CONNECTION.execute(f"SELECT CAST({text} AS BIGINT)").fetchall() == [(expected,)]


@pytest.mark.parametrize("x", [0.5, 1.5, 2.5, -0.5, -1.5, 2.4999999999999996, 1e9 + 0.5])
def test_a_cast_to_an_integer_rounds_halves_to_even(x: float) -> None:
    assert CONNECTION.execute(f"SELECT {D.round_to_integer(D.literal(x, Type.DOUBLE), small=True)}").fetchall() == [
        (round(x),)
    ]


@given(st.dates())
@settings(max_examples=60, deadline=None)
def test_days_are_counted_from_1970(date: dt.date) -> None:
    found = CONNECTION.execute(f"SELECT {D.days(D.literal(date, Type.DATE))}").fetchall()
    assert found == [((date - dt.date(1970, 1, 1)).days,)]


def test_another_key_makes_another_hash() -> None:
    texts = (D.keyed_hash(key, [("1", Type.INTEGER)]) for key in ("a", "b", ""))
    found = {CONNECTION.execute(f"SELECT {text}").fetchall()[0][0] for text in texts}
    assert len(found) == 3
