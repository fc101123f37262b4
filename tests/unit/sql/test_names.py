from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlglot import expressions as exp
from sqlglot import parse_one

from obverse.core.errors import Refused
from obverse.sql.names import column_instead, instead


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT COUNT(*) FROM peple", "Did you mean people?"),
        ("WITH older AS (SELECT age FROM people) SELECT COUNT(*) FROM oldr", "Did you mean older?"),
        ("SELECT COUNT(*) FROM people WHERE agee > 3", "Did you mean age?"),
        ("SELECT AVG(p.agee) FROM people AS p", "Did you mean age?"),
        ("SELECT COUNT(*) FROM people WHERE sex = Female", "Text stands in single quotes."),
        ("SELECT MEDAIN(age) FROM people", "Did you mean MEDIAN?"),
        ("SELECT COUNT(*) FROM people WHERE age > :least", "--param"),
    ],
)
def test_a_slip_is_told_with_what_was_probably_meant(refusal: Callable[[str], Refused], sql: str, hint: str) -> None:
    assert hint in refusal(sql).fix


def test_a_name_that_needs_quotes_is_shown_in_them() -> None:
    column = parse_one("marital-status", dialect="duckdb").find(exp.Column)
    assert column is not None
    assert column_instead(column, ["age", "marital-status"]).endswith('"marital-status".')
    assert instead("My Co", ['My "Col']) == 'Did you mean "My ""Col"?'


def test_what_is_not_near_or_too_long_is_not_guessed() -> None:
    assert instead("height", ["age", "sex"]) == ""
    assert instead("a" * 60_000, ["a" * 60_000]) == ""


def test_a_hidden_column_is_never_offered(refusal: Callable[[str], Refused]) -> None:
    told = refusal("SELECT COUNT(*) FROM people WHERE notee = 3")
    assert "note" not in told.fix
