"""What crosses the pipe from a caged process, honest or not."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import orjson
import pytest

from obverse.core.engine import PublicRows
from obverse.server.sandbox import protocol


@pytest.mark.parametrize(
    ("rows", "intervals"),
    [
        ([[1]], [[None, None]]),
        ([[1, "a", 2]], [[None, None, None]]),
        ([["eve", "a"]], [[None, None]]),
        ([[{"a": 1}, "a"]], [[None, None]]),
        ([[1, 2]], [[None, None]]),
        ([[True, "a"]], [[None, None]]),
        ([[1, "a"]], []),
        ([[1, "a"]], [[["eve", 2], None]]),
        ([[1, "a"]], [[[1], None]]),
        ([[1, "a"]], [[7, None]]),
        (None, None),
        (7, 7),
    ],
)
def test_what_is_no_answer_of_its_columns_is_none(rows: object, intervals: object) -> None:
    columns = [["n", "integer", "value"], ["t", "text", "key"]]
    with pytest.raises(Exception):  # noqa: B017  # whatever it is, the door tells one constant text
        protocol.finished_from(orjson.dumps({"columns": columns, "rows": rows, "intervals": intervals}))
    good = {"columns": columns, "rows": [[1, "a"], [None, None]], "intervals": [[[0, 2.5], None], [None, None]]}
    assert len(protocol.finished_from(orjson.dumps(good)).rows) == 2


def test_values_of_public_rows_cross_as_they_are() -> None:
    row = (
        None,
        True,
        7,
        2**70,
        1.5,
        float("inf"),
        "é",
        dt.date(2020, 1, 2),
        dt.datetime(2020, 1, 2, 3, 4, 5),
        Decimal("1.10"),
    )
    found = PublicRows(tuple("abcdefghij"), (row,))
    assert protocol.public_from(protocol.public_bytes(found)) == found
