"""JSON of one meaning."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from obverse.server.http.bodies import parsed
from obverse.server.http.request_context import Told
from obverse.server.http.schemas import Question

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_what_has_one_meaning_is_read_as_it_was_written(value: object) -> None:
    assert parsed(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":2}',
        b'{"x":{"a":1,"\\u0061":2}}',
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b"1e400",
        b"-1e999",
        b"",
        b"{",
        b"\xff",
        b'"\xed\xa0\x80"',
        b"[" * 100_000,
        b"1" * 10_000,
        b"{'a':1}",
        b"[1,]",
        b"// x\n1",
        b"\xef\xbb\xbf1",
    ],
)
def test_what_two_readers_could_take_differently_is_refused(text: bytes) -> None:
    with pytest.raises(Told) as told:
        parsed(text)
    assert told.value.status_code == 400


@pytest.mark.parametrize(
    "parameters",
    [[{}] * 80_000, [[{}] * 60_000, [{}] * 20_000], {str(n): {} for n in range(25_000)}, [[{}] * 80] * 1000],
    ids=["list", "lists", "names", "lists in a list"],
)
def test_a_body_makes_no_more_errors_than_can_be_told(parameters: object) -> None:
    """Each error takes more memory than the two bytes that cause it."""
    with pytest.raises(ValidationError) as wrong:
        Question.model_validate({"sql": "SELECT 1", "parameters": parameters})
    assert wrong.value.error_count() < 10_000
