"""Text to one SELECT; spans underline what is meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from obverse.core.errors import Refused, Span
from obverse.sql.parse import parse

Underlined = Callable[[str], str]


def code(text: str) -> str:
    with pytest.raises(Refused) as refused:
        parse(text)
    return refused.value.code


@pytest.mark.parametrize("text", ["", ";", "  \n\t", ";;;", "-- nothing", "/* nothing */"])
def test_an_empty_question_is_refused(text: str) -> None:
    assert code(text) == "parse_error"


@pytest.mark.parametrize("text", ["SHOW ALL", "SHOW", "DESCRIBE people", "SELECT (", "WITH x AS", "FROM"])
def test_what_ends_too_early_is_refused(text: str) -> None:
    assert code(text) in ("parse_error", "statement_kind")


@pytest.mark.parametrize("text", ["SELECT 1", "select 1;", "(SELECT 1)", "SELECT 1 -- end", "/* a */ SELECT 1; -- b"])
def test_one_select_is_read(text: str) -> None:
    assert parse(text).key == "select"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("DROP TABLE people", "DROP"),
        ("  -- DELETE\n update people set age = 1", "UPDATE"),
        ("/* x */ CHECKPOINT", "CHECKPOINT"),
        ("LISTEN c", "LISTEN"),
        ("EXPLAIN SELECT 1", "EXPLAIN"),
        ("INSERT INTO people VALUES (1)", "INSERT"),
    ],
)
def test_another_statement_is_refused_by_its_name(text: str, word: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(text)
    assert refused.value.code == "statement_kind"
    assert refused.value.message == f"only one SELECT is answered, not {word}."


@pytest.mark.parametrize(
    "text", ["SELECT 'abc", "SELECT FROM", "SELECT COUNT(* FROM people", "SELECT 1 +", "hello", "SELECT 'a' 'b"]
)
def test_what_is_not_sql_is_refused_and_nothing_else_is_raised(text: str) -> None:
    assert code(text) in ("parse_error", "statement_kind")


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("SELECT COUNT(*) FROM secrets", "secrets"),
        ("SELECT COUNT(*) FROM people WHERE note = 'x'", "note"),
        ("SELECT COUNT(*)\nFROM people\nWHERE md5(name) > 3", "md5(name)"),
        ("SELECT COUNT(*) FROM people WHERE joined > '2020-13-01'", "joined > '2020-13-01'"),
        ("SELECT age, COUNT(*) FROM people", "age"),
        ("SELECT COUNT(*) FROM people GROUP BY person_id", "person_id"),
        ("SELECT SUM(COUNT(*)) FROM people", "COUNT(*)"),
        ("SELECT COUNT(*) FROM people WHERE age IN (1, age)", "age"),
        ("SELECT COUNT(*) FROM people LIMIT 1.5", "1.5"),
        ("SELECT COUNT(*) FROM people WHERE age > 1e999", "1e999"),
        ("SELECT ROUND(AVG(age), 400) FROM people", "ROUND(AVG(age), 400)"),
        ("SELECT\u00a01", "\u00a0"),
        ("SELECT COUNT(*) FROM people WHERE name = E'a'", "E'"),
        ("SELECT COUNT(*) FROM people /* open", "/*"),
    ],
)
def test_the_part_that_is_meant_is_underlined(sql: str, part: str, underlined: Underlined) -> None:
    assert underlined(sql) == part


def test_an_error_prints_its_line_with_carets() -> None:
    text = "SELECT COUNT(*)\nFROM people\nWHERE note = 'x'"
    assert Span(34, 38).underline(text) == "  WHERE note = 'x'\n        ^^^^"
    assert Span(34, 38).line_and_column(text) == (3, 7)


@pytest.mark.parametrize(
    ("text", "start", "end", "whole"),
    [
        ("f(g(x))", 0, 5, "f(g(x))"),
        ("f(x )", 0, 3, "f(x )"),
        ("f(x, y)", 0, 3, "f(x"),
        ("f(')')", 0, 5, "f(')')"),
        ("(x)", 1, 2, "x"),
        ("a) + (b)", 0, 7, "a) + (b)"),
    ],
)
def test_a_span_closes_the_parentheses_that_it_opens(text: str, start: int, end: int, whole: str) -> None:
    span = Span(start, end).closed(text)
    assert text[span.start : span.end] == whole
    assert span.closed(text) == span
