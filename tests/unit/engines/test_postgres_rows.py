"""Integers of a PostgreSQL answer: all of them, in their order, however many parts they are fetched in; never a
NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from obverse.core.errors import InvariantBroken
from obverse.engines import postgres
from obverse.engines.postgres import columns_of
from tests.servers import postgres_address


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    address = postgres_address()
    import psycopg

    with psycopg.connect(address, autocommit=True) as made:
        yield made


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_integers_come_whole_in_whatever_parts(size: int, connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "BATCH_ROWS", size)
    sql = (
        "SELECT i AS k, CAST(-4611686018427387904 AS BIGINT) + i AS m0 FROM generate_series(CAST(0 AS BIGINT), 20) "
        "AS s(i)"
    )
    found = columns_of(connection.cursor(), sql)
    assert found["k"].tolist() == list(range(21))
    assert found["m0"].tolist() == [-(2**62) + i for i in range(21)]
    assert {column.dtype.name for column in found.values()} == {"int64"}


def test_no_rows_are_columns_without_values(connection: Any) -> None:
    found = columns_of(connection.cursor(), "SELECT CAST(1 AS BIGINT) AS k, CAST(1 AS BIGINT) AS m0 WHERE 1 = 0")
    assert {name: len(column) for name, column in found.items()} == {"k": 0, "m0": 0}


def test_a_measure_that_is_null_or_no_integer_is_no_answer(connection: Any) -> None:
    for sql in (
        "SELECT CAST(1 AS BIGINT) AS k, CAST(NULL AS BIGINT) AS m0",
        "SELECT CAST(1 AS BIGINT) AS k, 1.5 AS m0",
    ):
        with pytest.raises(InvariantBroken):
            columns_of(connection.cursor(), sql)
