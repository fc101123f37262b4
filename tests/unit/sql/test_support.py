"""The table of supported SQL: every refusal in it can happen, and says what, why and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from obverse.core.errors import Refused
from obverse.sql.aggregates import NAMED_PAIRS
from obverse.sql.support import AGGREGATE_NAMES, RANDOM_NAMES, REFUSALS

QUESTIONS = {  # one that triggers each row
    "statement": "DROP TABLE people",
    "second_statement": "SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people",
    "rows": "SELECT * FROM people",
    "ungrouped": "SELECT age, COUNT(*) FROM people",
    "group_by_all": "SELECT sex, COUNT(*) FROM people GROUP BY ALL",
    "undeclared_table": "SELECT COUNT(*) FROM secrets",
    "undeclared_column": "SELECT COUNT(*) FROM people WHERE note = 'x'",
    "function": "SELECT COUNT(*) FROM people WHERE md5(name) > 'a'",
    "table_function": "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "random": "SELECT COUNT(*) FROM people WHERE random() < 0.5",
    "aggregate": "SELECT string_agg(name, ',') FROM people",
    "nested_aggregate": "SELECT SUM(COUNT(*)) FROM people",
    "subquery": "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)",
    "join_unit": "SELECT COUNT(*) FROM people a JOIN people b ON a.age = b.age",
    "public_left": "SELECT COUNT(*) FROM clinics c LEFT JOIN visits v ON v.clinic = c.clinic",
    "unit_lost": "SELECT COUNT(*) FROM (SELECT sex FROM people GROUP BY sex) AS t",
    "correlated": "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.cost > p.age)",
    "private_filter": "SELECT COUNT(*) FROM clinics WHERE clinic IN (SELECT clinic FROM visits)",
    "unit_nulled": "SELECT COUNT(*) FROM (SELECT DISTINCT v.person_id FROM people p LEFT JOIN visits v ON v.person_id ="
    " p.person_id) AS t",
    "nullable_in": "SELECT COUNT(*) FROM people WHERE person_id NOT IN (SELECT v.person_id FROM people p LEFT JOIN "
    "visits v ON"
    " v.person_id = p.person_id)",
    "ambiguous": "SELECT COUNT(*) FROM people a JOIN people b ON a.person_id = b.person_id WHERE age > 3",
    "fanout": "SELECT COUNT(*) FROM people, UNNEST([1, 2])",
    "recursive": "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT 2 FROM t) SELECT COUNT(*) FROM t",
    "set_operation": "SELECT COUNT(*) FROM people UNION SELECT COUNT(*) FROM people",
    "window": "SELECT SUM(age) OVER () FROM people",
    "distinct": "SELECT DISTINCT name FROM people",
    "distinct_of_rows": "SELECT DISTINCT sex FROM people WHERE age > 119",
    "distinct_aggregate": "SELECT SUM(DISTINCT age) FROM people",
    "sample": "SELECT COUNT(*) FROM people TABLESAMPLE 10%",
    "clause": "SELECT COUNT(*) INTO copy FROM people",
    "expression": "SELECT COUNT(*) FROM people WHERE age << 2 > 3",
    "grouping_sets": "SELECT sex, COUNT(*) FROM people GROUP BY sex WITH ROLLUP",
    "pattern": "SELECT COUNT(*) FROM people WHERE name LIKE sex",
    "in_member": "SELECT COUNT(*) FROM people WHERE age IN (1, age)",
    "parameter": "SELECT COUNT(*) FROM people WHERE age > $1",
    "limit": "SELECT COUNT(*) FROM people LIMIT 1.5",
    "where": "SELECT COUNT(*) FROM people WHERE age",
    "unit_key": "SELECT person_id, COUNT(*) FROM people GROUP BY person_id",
    "key_size": "SELECT COUNT(*) FROM people GROUP BY joined, age, sex",
    "no_aggregate": "SELECT sex FROM people GROUP BY sex",
}


def test_each_refusal_has_a_question_that_triggers_it() -> None:
    assert sorted(QUESTIONS) == sorted(REFUSALS)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_question_gets_the_refusal_of_that_row(name: str, refusal: Callable[[str], Refused]) -> None:
    row = REFUSALS[name]
    refused = refusal(QUESTIONS[name])
    pattern = re.escape(row.message).replace(re.escape("{what}"), ".+")
    assert refused.code == row.code
    assert re.fullmatch(pattern, refused.message)
    assert (refused.why, refused.fix) == (row.why, row.fix)


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_says_what_why_and_what_to_do(name: str) -> None:
    row = REFUSALS[name]
    assert re.fullmatch(r"[a-z_]+", row.code)
    assert all((row.message, row.why, row.fix))


ANSWERED = {"mode", "quantile", "quantile_cont", "quantile_disc", "percentile_cont"} | set(NAMED_PAIRS)


@pytest.mark.parametrize("name", sorted(AGGREGATE_NAMES - ANSWERED))
def test_an_aggregate_without_a_private_answer_is_refused_by_any_of_its_names(
    name: str, refusal: Callable[[str], Refused]
) -> None:
    assert refusal(f"SELECT {name}(age) FROM people").code in (
        "aggregate_not_private",
        "function_not_allowed",
        "parse_error",
    )


@pytest.mark.parametrize("name", sorted(RANDOM_NAMES))
def test_a_function_that_changes_from_call_to_call_is_refused(name: str, refusal: Callable[[str], Refused]) -> None:
    assert refusal(f"SELECT COUNT(*) FROM people WHERE {name}() IS NULL").code == "nondeterministic_function"
