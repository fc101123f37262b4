"""Names, positions and clauses: what a question means over the catalog."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from obverse.core.errors import Refused
from obverse.plan.expressions import canonical
from obverse.plan.identity import presented, query_json
from obverse.plan.query import PublicQuestion, Question
from obverse.plan.relation import scans

Read = Callable[[str], Question]


def identity(question: Question) -> tuple[object, object]:
    return query_json(question), presented(question)


Refusal = Callable[[str], Refused]


@pytest.mark.parametrize(
    "other",
    [
        "select count( * ) as count from PEOPLE where AGE > 3",
        'SELECT COUNT(*) FROM "people" WHERE "age" > 3;',
        "SELECT COUNT(*) FROM people AS p WHERE p.age > 3",
        "SELECT COUNT(*) FROM people WHERE (age) > (3) -- the same",
        "SELECT COUNT(*) FROM people WHERE age > 1 + 2",
        "SELECT COUNT(*) FROM people WHERE age > '3'",
    ],
)
def test_one_meaning_in_other_words_is_one_question(read: Read, other: str) -> None:
    assert identity(read(other)) == identity(read("SELECT COUNT(*) FROM people WHERE age > 3"))


def test_a_limit_may_be_cast_as_drivers_do(read: Read, refusal: Refusal) -> None:
    plain = read("SELECT sex, COUNT(*) FROM people GROUP BY sex LIMIT 2 OFFSET 1")
    assert read("SELECT sex, COUNT(*) FROM people GROUP BY sex LIMIT 2::INTEGER OFFSET CAST(1 AS BIGINT)") == plain
    assert refusal("SELECT sex, COUNT(*) FROM people GROUP BY sex LIMIT '2'::INTEGER").code == "type_error"


@pytest.mark.parametrize(
    "other",
    [
        "SELECT COUNT(*) FROM people WHERE age >= 3", "SELECT COUNT(age) FROM people WHERE age > 3 OR age IS NULL",
        "SELECT COUNT(*) AS n FROM people WHERE age > 3", "SELECT SUM(age) FROM people WHERE age > 3",
        "SELECT COUNT(*) FROM people WHERE NOT age > 3", "SELECT COUNT(*) FROM people WHERE age > 3 LIMIT 0",
    ],
)  # fmt: skip
def test_another_meaning_is_another_question(read: Read, other: str) -> None:
    assert identity(read(other)) != identity(read("SELECT COUNT(*) FROM people WHERE age > 3"))


def test_quoted_names_are_exact_and_others_fold(read: Read, refusal: Refusal) -> None:
    read('SELECT SUM("Odd") FROM people')
    read("SELECT SUM(odd), SUM(ODD) FROM people")
    assert refusal('SELECT SUM("odd") FROM people').code == "column_not_declared"
    assert refusal('SELECT COUNT(*) FROM "People"').code == "table_not_declared"


def test_an_alias_hides_the_tables_own_name(refusal: Refusal) -> None:
    assert refusal("SELECT COUNT(*) FROM people AS p WHERE people.age > 3").code == "column_not_declared"
    assert refusal("SELECT COUNT(*) FROM people WHERE p.age > 3").code == "column_not_declared"
    assert refusal("SELECT COUNT(*) FROM people WHERE main.people.age > 3").code == "column_not_declared"


@pytest.mark.parametrize("key", ["sex", "1", "k", "K", '"k"'])
def test_a_key_is_named_by_column_position_or_alias(read: Read, key: str) -> None:
    question = read(f"SELECT sex AS k, COUNT(*) FROM people GROUP BY {key} ORDER BY {key}")
    assert [k.domain for k in question.keys] == [("F", "M", "X")]
    assert canonical(question.order[0].expr) == canonical(question.outputs[0].expr)


def test_a_column_wins_over_an_alias_of_its_name(read: Read) -> None:
    question = read("SELECT sex AS age, COUNT(*) FROM people GROUP BY age, sex")
    assert [canonical(k.expr) for k in question.keys] == ['"age"', '"sex"']


@pytest.mark.parametrize("position", ["0", "3", "99"])
def test_a_position_outside_the_outputs_is_refused(refusal: Refusal, position: str) -> None:
    assert refusal(f"SELECT sex, COUNT(*) FROM people GROUP BY {position}").code == "unsupported_construct"


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT COUNT(*), SUM(age), AVG(age) AS Mean, 1 + COUNT(*) FROM people", ["count", "sum", "mean", "column"]),
        ('SELECT COUNT(*) AS "Mixed Case" FROM people', ["Mixed Case"]),
        ("SELECT Sex, COUNT(*) FILTER (WHERE hiv) FROM people GROUP BY SEX", ["sex", "count"]),
        ("SELECT COUNT(*), COUNT(*) FROM people", ["count", "count"]),
        ("SELECT DATE_TRUNC('year', joined), VAR_POP(age) FROM people GROUP BY 1", ["date_trunc", "var_pop"]),
        ("SELECT CASE WHEN COUNT(*) > 1 THEN 1 END FROM people", ["column"]),
    ],
)
def test_outputs_are_called_as_postgresql_would(read: Read, sql: str, names: list[str]) -> None:
    assert [o.name for o in read(sql).outputs] == names


def test_equal_aggregates_are_noised_once(read: Read) -> None:
    question = read(
        "SELECT COUNT(*), 2 * COUNT(*), SUM(age), sum( AGE ) FROM people HAVING COUNT(*) > 3 ORDER BY SUM(age)"
    )
    assert len(question.aggregates) == 2


@pytest.mark.parametrize(
    ("key", "domain"),
    [
        ("hiv", (False, True)),
        ("sex", ("F", "M", "X")),
        ("age // 40", (0, 1, 2, 3)),
        ("age > 17", (False, True)),
        ("CASE WHEN age < 18 THEN 'young' ELSE 'old' END", ("young", "old")),
        ("EXTRACT(DOW FROM joined)", tuple(range(7))),
        ("age IS NULL", (False, True)),
    ],
)
def test_a_domain_follows_from_the_expression(read: Read, key: str, domain: tuple[object, ...]) -> None:
    (found,) = read(f"SELECT {key}, COUNT(*) FROM people GROUP BY 1").keys
    assert found.domain == domain
    assert found.null_cell is found.expr.facts.nullable


def test_a_filter_narrows_the_keys(read: Read) -> None:
    (key,) = read("SELECT sex, COUNT(*) FROM people WHERE sex IN ('M', 'F') GROUP BY sex").keys
    assert (key.domain, key.null_cell) == (("F", "M"), False)


def test_a_total_is_asked_for_once(refusal: Refusal) -> None:
    assert refusal("SELECT COUNT(*) FROM people GROUP BY GROUPING SETS ((), ())").code == "unsupported_construct"


def test_no_output_without_an_aggregate_is_answered(refusal: Refusal) -> None:
    for sql in (
        "SELECT 1 FROM people",
        "SELECT sex FROM people GROUP BY sex",
        "SELECT 1 FROM people HAVING COUNT(*) > 10",
    ):
        assert refusal(sql).code == "not_aggregate"


@pytest.mark.parametrize(
    "sql", ["SELECT city FROM clinics", "SELECT city, COUNT(*) FROM clinics GROUP BY city", "SELECT * FROM clinics"]
)
def test_a_public_table_is_asked_for_its_rows(read_public: Callable[[str], PublicQuestion], sql: str) -> None:
    assert [scan.table for scan in scans(read_public(sql).relation)] == ["clinics"]


def test_a_public_question_cannot_reach_a_private_table(refusal: Refusal) -> None:
    for sql in (
        "SELECT (SELECT COUNT(*) FROM people) FROM clinics",
        "SELECT city FROM clinics WHERE clinic IN (SELECT name FROM people)",
        "SELECT city FROM clinics WHERE EXISTS (SELECT 1 FROM people)",
        "SELECT city FROM clinics, people",
        "SELECT city FROM clinics UNION SELECT name FROM people",
        "SELECT city FROM clinics ORDER BY (SELECT MAX(age) FROM people)",
        "SELECT city FROM clinics LIMIT (SELECT COUNT(*) FROM people)",
    ):
        refusal(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people WHERE age BETWEEN SYMMETRIC 9 AND 3", "SELECT COUNT(*) FROM people LIMIT 50%",
        "SELECT COUNT(*) FROM people WHERE joined > CURRENT_DATE('UTC')", "SELECT MAX(age, 3) FROM people",
        "SELECT COUNT(*) FROM people WHERE ROUND(salary, 1, 1) > 3", "SELECT COUNT(*) FROM ONLY people",
        "SELECT COUNT(*) FROM people FETCH FIRST 3 ROWS WITH TIES", "SELECT DISTINCT ON (sex) COUNT(*) FROM people",
        "SELECT SUM(age ORDER BY age) FROM people", "SELECT COUNT(*) FROM people ORDER BY 1 COLLATE NOCASE",
    ],
)  # fmt: skip
def test_what_is_half_understood_is_refused_not_answered_otherwise(refusal: Refusal, sql: str) -> None:
    refusal(sql)
