"""Values on the wire: binary comes back as it was, text is what PostgreSQL writes, and nothing else gets in."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.core.errors import Refused
from obverse.server.postgres import types as v
from obverse.server.postgres.messages import Bind
from obverse.server.postgres.parameters import bound, from_text

SOME: dict[int, st.SearchStrategy[Any]] = {
    v.BOOL: st.booleans(), v.INT2: st.integers(-(2**15), 2**15 - 1), v.INT4: st.integers(-(2**31), 2**31 - 1),
    v.INT8: st.integers(-(2**63), 2**63 - 1), v.OID: st.integers(0, 2**32 - 1), v.FLOAT8: st.floats(allow_nan=False),
    v.TEXT: st.text(st.characters(exclude_categories=["Cs"])), v.DATE: st.dates(), v.TIMESTAMP: st.datetimes(),
    v.NUMERIC: st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=6),
}  # fmt: skip


@pytest.mark.parametrize("oid", SOME)
def test_what_is_written_in_binary_is_read_as_the_same(oid: int) -> None:
    @given(SOME[oid])
    def holds(value: Any) -> None:
        raw = v.encoded(value, oid, 1)
        assert raw is not None
        assert v.from_binary(raw, oid) == value

    holds()


@pytest.mark.parametrize("oid", [v.INT2, v.INT4, v.INT8, v.OID, v.FLOAT8, v.DATE, v.TIMESTAMP, v.TEXT, v.BOOL])
def test_what_is_written_as_text_is_read_as_the_same(oid: int) -> None:
    @given(SOME[oid])
    def holds(value: Any) -> None:
        assert from_text(v.written(value), oid) == value

    holds()


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]))))
def test_arrays_of_texts_come_back_in_both_forms(items: list[str | None]) -> None:
    raw = v.encoded(items, v.ARRAY[v.TEXT], 1)
    assert raw is not None
    assert v.from_binary(raw, v.ARRAY[v.TEXT]) == items
    blank = [item for item in items if item is None or item.strip() == item]
    assert from_text(v.written(blank), v.ARRAY[v.TEXT]) == blank


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "t"),
        (False, "f"),
        (5.0, "5"),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
        (dt.date(2020, 2, 3), "2020-02-03"),
        (dt.datetime(2020, 2, 3, 4, 5), "2020-02-03 04:05:00"),
        (Decimal("1E+3"), "1000"),
        ([1, None, 'a"b'], '{1,NULL,"a\\"b"}'),
        ([], "{}"),
        (["", "null"], '{"","null"}'),
    ],
)
def test_text_is_as_postgresql_writes_it(value: Any, text: str) -> None:
    assert v.written(value) == text


def test_a_number_that_its_type_cannot_hold_is_no_crash() -> None:
    with pytest.raises(Refused) as refused:
        v.encoded(2**70, v.INT8, 1)
    assert refused.value.code == "number_out_of_range"
    assert v.encoded(2**70, v.INT8, 0) == str(2**70).encode()


def one(raw: bytes, oid: int, code: int) -> Any:
    return bound(Bind("", "", (code,), (raw,), ()), (oid,))[0]


@pytest.mark.parametrize(
    ("raw", "oid", "value"),
    [
        (b"2015-01-01 +00", v.DATE, dt.date(2015, 1, 1)),  # as the JDBC driver writes a date
        (b"2018-01-01 00:00:00+02", v.TIMESTAMP, dt.datetime(2018, 1, 1)),
        (b"2018-01-01 00:00:00+02", v.TIMESTAMPTZ, dt.datetime(2017, 12, 31, 22)),
        (b"yes", v.BOOL, True), (b"{1,2}", v.ARRAY[v.INT4], [1, 2]), (b"x'y", v.TEXT, "x'y"),
        (b"1.50", v.NUMERIC, Decimal("1.50")),
    ],
)  # fmt: skip
def test_drivers_own_forms_are_read(raw: bytes, oid: int, value: Any) -> None:
    assert one(raw, oid, 0) == value


@pytest.mark.parametrize(
    ("raw", "oid", "code", "error"),
    [
        (b"x", v.INT4, 0, "bad_value"),
        (b"\0", v.INT4, 1, "bad_value"),
        (b"\xff", v.TEXT, 0, "not_encodable"),
        (b"maybe", v.BOOL, 0, "bad_value"),
        (b"1e999999999", v.NUMERIC, 1, "bad_value"),
        (b"x" * 70_000, v.TEXT, 0, "too_long"),
        (struct.pack("!iiI", 3, 0, 25), v.ARRAY[v.TEXT], 1, "bad_value"),
        (b"\0" * 4, 999_999, 1, "type_error"),
        (struct.pack("!iiIii", 1, 0, 23, 2**31 - 1, 1), v.ARRAY[v.INT4], 1, "bad_value"),
        (b"infinity", v.DATE, 0, "bad_value"),
    ],
)
def test_what_is_no_value_of_its_type_is_refused(raw: bytes, oid: int, code: int, error: str) -> None:
    with pytest.raises(Refused) as refused:
        one(raw, oid, code)
    assert refused.value.code == error
