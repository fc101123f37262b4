"""Values become literals at the places of parameters, and nowhere else."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.sql.parameters import bind, literal

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])),
    st.dates(),
    st.datetimes(),
    st.decimals(min_value=-(10**12), max_value=10**12, allow_nan=False, places=6),
)
BEFORE = st.sampled_from(
    ["", " ", "-", "- -", "'it''s ?' = ", '"a?"=', "/* ? */", "-- ?\n", "(", "x=", "1", "date ", "e", "{# ? #}", "'a'"]
)
AFTER = st.sampled_from(["", " ", ")", "'?'", "::int", " -- ?", "/* ? */", "-", ",", ";", "x", "{# ? #}"])


def shown(text: str) -> list[tuple[str, str]]:
    return [(t.token_type.name, t.text) for t in sqlglot.tokenize(text, dialect="duckdb")]


def code_of(text: str, parameters: object) -> str:
    with pytest.raises(Refused) as refused:
        bind(text, parameters)  # type: ignore[arg-type]
    return refused.value.code


@given(before=BEFORE, value=VALUES, after=AFTER)
def test_a_value_takes_exactly_the_place_of_its_token_whatever_it_holds(before: str, value: object, after: str) -> None:
    text = f"{before}?{after}"
    tokens = shown(text.replace("?::", "? ::"))
    place = next(i for i, (kind, _) in enumerate(tokens) if kind == "PLACEHOLDER")
    assert shown(bind(text, [value])) == [*tokens[:place], *shown(literal(value)), *tokens[place + 1 :]]


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])))
def test_a_text_is_read_back_as_it_was_given(value: str) -> None:
    (found,) = sqlglot.parse_one(f"SELECT {literal(value)}", dialect="duckdb").expressions
    assert isinstance(found, exp.Literal)
    assert found.is_string
    assert found.this == value


@pytest.mark.parametrize(
    ("text", "parameters", "bound"),
    [
        ("a = ? AND b = ?", [1, "o'x"], "a = 1 AND b = 'o''x'"),
        ("a = $2 AND b = $1 OR c = $2", [True, None], "a = NULL AND b = TRUE OR c = NULL"),
        ("a = :lo AND b=$hi AND c = :lo::int", {"lo": 1, "hi": 2.5}, "a = 1 AND b=2.5 AND c = 1 ::int"),
        ("a > :from", {"from": dt.date(2020, 1, 2)}, "a > DATE '2020-01-02'"),
        ("a < ?", (dt.datetime(2020, 1, 2, 3, 4, 5),), "a < TIMESTAMP '2020-01-02 03:04:05.000000'"),
        ("a = -?", [-5], "a = - (-5)"),
        ("a IN (?)", [[1, -2, 3]], "a IN (1, (-2), 3)"),
        ("a IN (:few)", {"few": ("x", "y")}, "a IN ('x', 'y')"),
        ("a = ?", [Decimal("-1.50")], "a = (-1.50)"),
        ("a = ?", [Decimal("1E+3")], "a = 1000"),
        ("a = ? AND b = ?", [np.int64(3), np.float64(0.1)], "a = 3 AND b = 0.1"),
        ("a = '?' AND \"b?\" = 1 -- ?\n /* :x $1 */", [], "a = '?' AND \"b?\" = 1 -- ?\n /* :x $1 */"),
        ("a[1:n]", [], "a[1:n]"),
        ("'ünï' = ?", ["ß"], "'ünï' = 'ß'"),
    ],
)
def test_each_style_is_bound(text: str, parameters: object, bound: str) -> None:
    assert bind(text, parameters) == bound  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("a = ?", []),
        ("a = ?", [1, 2]),
        ("a = 1", [1]),
        ("a = $2", [1, 2]),
        ("a = $1", []),
        ("a = :x", {}),
        ("a = :x", []),
        ("a = :x", [1]),
        ("a = :x", {"x": 1, "y": 2}),
        ("a = 1", {"x": 1}),
        ("a = ?", {"x": 1}),
        ("a = ? OR b = :x", [1]),
        ("a = ? OR b = $1", [1]),
        ("a = ?", "x"),
        ("a = ?", b"x"),
        ("a = ?", {1}),
    ],
)
def test_every_value_has_a_place_and_every_place_a_value(text: str, parameters: object) -> None:
    assert code_of(text, parameters) == "bad_parameter"


@pytest.mark.parametrize(
    "value",
    [
        b"x", object, 1j, {1}, {"a": 1}, dt.time(1), 2**63, -(2**63) - 1, float("nan"), float("inf"), Decimal("NaN"),
        Decimal("1E+400"), "a\0b", "\ud800", dt.datetime(2020, 1, 1, tzinfo=dt.UTC), [1], [],
    ],
)  # fmt: skip
def test_a_value_without_a_literal_is_refused_where_it_stands(value: object) -> None:
    with pytest.raises(Refused) as refused:
        bind("SELECT 1 WHERE a = ?", [value])
    assert refused.value.code == "bad_parameter"
    assert refused.value.as_json()["error"]["where"] == {"line": 1, "column": 20}


def test_a_moment_that_is_missing_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    assert bind("a = ?", [pandas.Timestamp("2020-01-02")]) == "a = TIMESTAMP '2020-01-02 00:00:00.000000'"
    assert code_of("a = ?", [pandas.NaT]) == "bad_parameter"


@pytest.mark.parametrize("listed", [[], [[1]], [b"x"]])
def test_a_list_holds_values_and_is_not_empty(listed: list[object]) -> None:
    assert code_of("a IN (?)", [listed]) == "bad_parameter"
    assert code_of("a IN (?, 1)", [[1, 2]]) == "bad_parameter"


@pytest.mark.parametrize(
    "text", ["a = 'x", "a = $x$ ? $x$", "a = e'\\' ?", "/* ?", "a = ?" + " " * 70_000], ids=range(5)
)
def test_what_cannot_be_read_is_refused_before_a_value_is_written(text: str) -> None:
    assert code_of(text, [1]) in ("parse_error", "too_long")
