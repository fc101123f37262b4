"""Expressions: constants are read as the other side's type, folded at once, and the clock is one moment."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.expressions import Call, Expr, Literal
from obverse.plan.query import Question
from obverse.plan.relation import Filter

Read = Callable[[str], Question]
Refusal = Callable[[str], Refused]


def predicate(read: Read, condition: str) -> Expr:
    relation = read(f"SELECT COUNT(*) FROM people WHERE {condition}").relation
    assert isinstance(relation, Filter)
    return relation.predicate


def constants(expr: Expr) -> list[object]:
    if isinstance(expr, Call):
        return [value for arg in expr.args for value in constants(arg)]
    return [expr.value] if isinstance(expr, Literal) else []


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("hiv = '1'", True),
        ("hiv = 'no'", False),
        ("hiv = 0", False),
        ("age = '42'", 42),
        ("age = ' 42 '", 42),
        ("age = '4.5'", 4.5),
        ("salary > '1e3'", 1000.0),
        ("'2020-01-01' < joined", dt.date(2020, 1, 1)),
        ("seen > '2020-01-01 10:00:00'", dt.datetime(2020, 1, 1, 10)),
        ("seen > '2020-01-01'", dt.datetime(2020, 1, 1)),
        ("name = 5", "5"),
        ("name = '5'", "5"),
        ("age IN ('7')", 7),
        ("age = 42.0000000000000001", 42.0),
        ("joined = DATE '2020-02-29'", dt.date(2020, 2, 29)),
        ("NULLIF(age, '3') IS NULL", 3),
    ],
)
def test_a_constant_is_read_as_the_other_sides_type(read: Read, condition: str, value: object) -> None:
    found = constants(predicate(read, condition))
    assert found == [value]
    assert type(found[0]) is type(value)


@pytest.mark.parametrize(
    "condition",
    [
        "age = 'many'",
        "hiv = 'perhaps'",
        "joined > '2020-13-01'",
        "joined > 'soon'",
        "seen > 'now'",
        "salary < ''",
        "age IN (1, 'x')",
        "age = name",
        "joined > 5",
        "hiv > age",
        "age = DATE '2020-01-01'",
        "name + 1 = 2",
        "NOT age = 1 AND age",
        "hiv AND 1",
        "LEAST(age, name) = 1",
        "COALESCE(age, name) = 1",
        "CASE WHEN age THEN 1 END = 1",
        "EXTRACT(YEAR FROM age) = 1",
    ],
)
def test_types_that_do_not_meet_are_refused(refusal: Refusal, condition: str) -> None:
    assert refusal(f"SELECT COUNT(*) FROM people WHERE {condition}").code == "type_error"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-(-9223372036854775807 - 1)", 9223372036854775808.0),
        ("7 / 2", 3.5),
        ("7 // 2", 3),
        ("-7 // 2", -3),
        ("-7 % 3", -1),
        ("1 / 0", None),
        ("1 % 0", None),
        ("ABS(-3)", 3),
        ("ROUND(2.5)", 3.0),
        ("CAST('12' AS INTEGER)", 12),
        ("CAST('x' AS INTEGER)", None),
        ("COALESCE(NULL, 4)", 4),
        ("CASE WHEN 1 > 2 THEN 1 ELSE 2 END", 2),
        ("LEAST(3, 1, 2)", 1),
        ("EXTRACT(YEAR FROM DATE '2020-05-06')", 2020),
        ("CAST(TRUE AS INTEGER)", 1),
        ("9223372036854775807 + 1", 9223372036854775808.0),
        ("IF('abc' LIKE 'a%', 1, 2)", 1),
        ("NULLIF(1, 1)", None),
        ("CAST('NaN' AS DOUBLE)", None),
        ("1e308 * 10", None),
    ],
)
def test_constants_are_folded_before_any_engine_sees_them(read: Read, written: str, value: object) -> None:
    assert constants(predicate(read, f"age = {written}")) == [value]


def test_the_clock_is_one_moment_and_the_question_remembers_it(read: Read) -> None:
    question = read(
        "SELECT COUNT(*) FROM people WHERE joined < CURRENT_DATE AND seen < now() AND seen < CURRENT_TIMESTAMP"
    )
    assert question.now == "2026-03-04T05:06:07"
    assert isinstance(question.relation, Filter)
    moment = dt.datetime(2026, 3, 4, 5, 6, 7)
    assert constants(question.relation.predicate) == [moment.date(), moment, moment]


def test_a_question_without_a_clock_has_no_moment(read: Read) -> None:
    assert read("SELECT COUNT(*) FROM people").now is None


@pytest.mark.parametrize("kind", ["INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "TEXT", "VARCHAR", "DATE", "TIMESTAMP"])
def test_a_cast_gives_the_type_that_it_names(read: Read, kind: str) -> None:
    names = {"BIGINT": Type.INTEGER, "VARCHAR": Type.TEXT}
    (call,) = read(f"SELECT COUNT(CAST(name AS {kind})) FROM people").aggregates
    assert call.argument is not None
    assert call.argument.facts.type is names.get(kind, Type(kind.lower()) if kind not in names else None)


@pytest.mark.parametrize(
    "kind", ["INTEGER[]", "BLOB", "INTERVAL", "STRUCT(a INT)", "mood", "TIMESTAMPTZ", "HUGEINT", "JSON"]
)
def test_a_cast_to_a_type_that_is_not_ours_is_refused(refusal: Refusal, kind: str) -> None:
    assert refusal(f"SELECT COUNT(CAST(name AS {kind})) FROM people").code == "unsupported_construct"


def test_a_pattern_is_a_literal_of_bounded_cost(refusal: Refusal, read: Read) -> None:
    read("SELECT COUNT(*) FROM people WHERE name LIKE '%a_' AND name NOT ILIKE 'b\\%' ESCAPE '\\'")
    assert refusal("SELECT COUNT(*) FROM people WHERE name LIKE sex").code == "type_error"
    assert refusal(f"SELECT COUNT(*) FROM people WHERE name LIKE '{'%a' * 101}'").code == "too_complex"
    assert refusal("SELECT COUNT(*) FROM people WHERE name LIKE 'a' ESCAPE 'ab'").code == "type_error"


def test_the_unit_cannot_be_smuggled_into_a_key(refusal: Refusal) -> None:
    for key in ("person_id", "person_id % 2", "CASE WHEN person_id = 7 THEN 'a' ELSE 'b' END", "person_id > 7"):
        assert refusal(f"SELECT {key}, COUNT(*) FROM people GROUP BY 1").code == "privacy_id_in_output", key
