"""Functions of the text: folded where all is constant, and refused in every form that has no proof."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable

import pytest

from obverse.core.errors import Refused
from obverse.plan.expressions import Call, Expr, Literal
from obverse.plan.query import Question
from obverse.plan.relation import Filter

Read = Callable[[str], Question]
Refusal = Callable[[str], Refused]


def constants(expr: Expr) -> list[object]:
    if isinstance(expr, Call):
        return [value for arg in expr.args for value in constants(arg)]
    return [expr.value] if isinstance(expr, Literal) else []


def compared(read: Read, column: str, written: str) -> object:
    relation = read(f"SELECT COUNT(*) FROM people WHERE {column} = {written}").relation
    assert isinstance(relation, Filter)
    (value,) = constants(relation.predicate)
    return value


@pytest.mark.parametrize(
    ("column", "written", "value"),
    [
        ("name", "UPPER('ab')", "AB"),
        ("name", "'a' || 1 || TRUE", "a1true"),
        ("name", "CONCAT('a', NULL, 'b')", "ab"),
        ("name", "SUBSTRING('hello' FROM 2 FOR 3)", "ell"),
        ("name", "LPAD('7', 3, '0')", "007"),
        ("name", "TO_CHAR(DATE '2020-03-04', 'DD.MM.YYYY')", "04.03.2020"),
        ("name", "DAYNAME(DATE '2020-03-04')", "Wednesday"),
        ("age", "LENGTH('abc')", 3),
        ("age", "STRPOS('abc', 'c')", 3),
        ("age", "WIDTH_BUCKET(5, 0, 10, 5)", 3),
        ("age", "DATE '2020-03-01' - DATE '2020-02-01'", 29),
        ("age", "DATE_DIFF('month', '2020-01-31', DATE '2020-02-01')", 1),
        ("age", "EXTRACT(YEAR FROM AGE(DATE '1990-03-05'))", 35),
        ("salary", "POWER(2, 10)", 1024.0),
        ("salary", "2 ^ 3", 8.0),
        ("salary", "PI()", math.pi),
        ("salary", "LOG(100)", 2.0),
        ("salary", "SQRT(-1)", None),
        ("salary", "LN(0)", None),
        ("salary", "EXP(10000)", None),
        ("joined", "DATE '2020-02-28' + 2", dt.date(2020, 3, 1)),
        ("joined", "DATE '2020-02-28' - 2", dt.date(2020, 2, 26)),
        ("joined", "DATE '9999-12-31' + 1", None),
        ("joined", "MAKE_DATE(2020, 2, 30)", None),
        ("joined", "CURRENT_DATE - 30", dt.date(2026, 2, 2)),
        ("seen", "DATE '2020-01-31' + INTERVAL '1 month'", dt.datetime(2020, 2, 29)),
        ("seen", "DATE '2020-01-31' - INTERVAL '1 year 2 days'", dt.datetime(2019, 1, 29)),
        ("seen", "INTERVAL 2 HOUR + TIMESTAMP '2020-01-31'", dt.datetime(2020, 1, 31, 2)),
        ("seen", "CURRENT_TIMESTAMP - INTERVAL '-1' WEEK", dt.datetime(2026, 3, 11, 5, 6, 7)),
        ("seen", "TO_TIMESTAMP(86400)", dt.datetime(1970, 1, 2)),
    ],
)
def test_functions_of_constants_are_folded(read: Read, column: str, written: str, value: object) -> None:
    found = compared(read, column, written)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("REPEAT(name, 3) = 'a'", "function_not_allowed"),
        ("REGEXP_REPLACE(name, 'a', 'b') = 'a'", "function_not_allowed"),
        ("RPAD(name, age, 'x') = 'a'", "function_not_allowed"),
        ("INSTR(name, 'a', 2) = 1", "function_not_allowed"),
        ("TRUNC(salary, 2) = 1", "function_not_allowed"),
        ("TO_CHAR(joined, 'Day') = 'a'", "function_not_allowed"),
        ("TO_TIMESTAMP(name, 'YYYY') = seen", "function_not_allowed"),
        ("AGE(joined) IS NULL", "function_not_allowed"),
        ("EXTRACT(MONTH FROM AGE(joined)) = 1", "function_not_allowed"),
        ("DATE_TRUNC('century', joined) = joined", "function_not_allowed"),
        ("DATE_DIFF('century', joined, seen) = 1", "function_not_allowed"),
        ("EXTRACT(TIMEZONE FROM seen) = 1", "function_not_allowed"),
        ("STRFTIME(joined, '%c') = 'a'", "type_error"),
        ("LEFT(name, age) = 'a'", "type_error"),
        ("SUBSTRING(name, 0, 2) = 'a'", "type_error"),
        ("REPLACE(name, sex, 'a') = 'a'", "type_error"),
        ("CONTAINS(name, sex)", "type_error"),
        ("CONCAT(salary, 'a') = 'a'", "type_error"),
        ("UPPER(age) = 'a'", "type_error"),
        ("SQRT(name) > 1", "type_error"),
        ("WIDTH_BUCKET(age, 10, 0, 5) = 1", "type_error"),
        ("joined + INTERVAL age DAY > joined", "type_error"),
        ("joined + INTERVAL '1.5 days' > joined", "type_error"),
        ("joined + INTERVAL '1 fortnight' > joined", "type_error"),
        ("joined + INTERVAL '99999999 years' > joined", "type_error"),
        ("joined + 1.5 > joined", "type_error"),
        ("joined + joined > joined", "type_error"),
        ("seen - joined > 3", "type_error"),
        ("seen + 1 > seen", "type_error"),
        ("INTERVAL '1 day' - joined > 3", "unsupported_construct"),
        ("INTERVAL '1 day' IS NULL", "unsupported_construct"),
        ("name SIMILAR TO 'a'", "unsupported_construct"),
        ("name ~ 'a'", "function_not_allowed"),
    ],
)
def test_a_form_without_a_proof_is_refused(refusal: Refusal, condition: str, code: str) -> None:
    refused = refusal(f"SELECT COUNT(*) FROM people WHERE {condition}")
    assert refused.code == code
    assert refused.fix


@pytest.mark.parametrize(
    "key", ["LEFT(name, 1)", "UPPER(name)", "LENGTH(name)", "SPLIT_PART(name, '-', 1)", "name || 'x'"]
)
def test_a_function_of_a_private_text_is_no_public_key(read: Callable[[str], Question], key: str) -> None:
    assert read(f"SELECT {key}, COUNT(*) FROM people GROUP BY 1").keys[0].domain is None


@pytest.mark.parametrize(
    "key", ["LEFT(CAST(person_id AS TEXT), 1)", "SIGN(person_id)", "WIDTH_BUCKET(person_id, 0, 9, 3)"]
)
def test_the_unit_cannot_be_smuggled_into_a_key(refusal: Refusal, key: str) -> None:
    assert refusal(f"SELECT {key}, COUNT(*) FROM people GROUP BY 1").code == "privacy_id_in_output"


def test_a_length_has_no_bounds_unless_it_is_clamped(read: Read, refusal: Refusal) -> None:
    read("SELECT SUM(CLAMP(LENGTH(name), 0, 50)), SUM(LENGTH(sex)) FROM people")
