"""Each refusal suggests a rewriting, and the rewriting is answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import obverse
from obverse.core.errors import Refused
from obverse.demo.project import write_demo
from obverse.session.session import Session
from obverse.sql.support import REFUSALS

LOST = "SELECT AVG(n) FROM (SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic) AS t"
LEFT = "people p LEFT JOIN visits v ON v.person_id = p.person_id"
# What is refused, by its row in the table of supported SQL, and what its fix tells to write instead.
PAIRS: tuple[tuple[str, str, str], ...] = (
    ("statement", "DELETE FROM people WHERE age > 90", "SELECT COUNT(*) FROM people WHERE age > 90"),
    ("statement", "EXPLAIN SELECT COUNT(*) FROM people", "SELECT COUNT(*) FROM people"),
    ("second_statement", "SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM people"),
    ("rows", "SELECT * FROM people WHERE age > 90", "SELECT COUNT(*) FROM people WHERE age > 90"),
    ("ungrouped", "SELECT sex, AVG(age) FROM people", "SELECT sex, AVG(age) FROM people GROUP BY sex"),
    ("ungrouped", "SELECT sex, salary FROM people GROUP BY sex", "SELECT sex, AVG(salary) FROM people GROUP BY sex"),
    ("group_by_all", "SELECT sex, COUNT(*) FROM people GROUP BY ALL", "SELECT sex, COUNT(*) FROM people GROUP BY sex"),
    ("undeclared_table", "SELECT COUNT(*) FROM patients", "SELECT COUNT(*) FROM people"),
    ("undeclared_column", "SELECT AVG(income) FROM people", "SELECT AVG(salary) FROM people"),
    (
        "function",
        "SELECT COUNT(*) FROM people WHERE regexp_matches(name, '^A')",
        "SELECT COUNT(*) FROM people WHERE name LIKE 'A%'",
    ),
    ("table_function", "SELECT COUNT(*) FROM read_parquet('people.parquet')", "SELECT COUNT(*) FROM people"),
    ("random", "SELECT AVG(age) FROM people WHERE random() < 0.1", "SELECT AVG(age) FROM people"),
    ("aggregate", "SELECT any_value(age) FROM people", "SELECT MEDIAN(age) FROM people"),
    ("aggregate", "SELECT MAX(name) FROM people", "SELECT MAX(age) FROM people"),
    ("aggregate", "SELECT kurtosis(age) FROM people", "SELECT STDDEV(age) FROM people"),
    (
        "nested_aggregate",
        "SELECT AVG(COUNT(*)) FROM visits GROUP BY clinic",
        "SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY person_id) AS t",
    ),
    (
        "subquery",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)",
        "SELECT COUNT(*) FROM people WHERE age > 40.5",
    ),
    (
        "join_unit",
        "SELECT COUNT(*) FROM people a JOIN people b ON a.zip = b.zip",
        "SELECT COUNT(*) FROM people a JOIN people b ON a.person_id = b.person_id",
    ),
    (
        "join_unit",
        "SELECT COUNT(*) FROM visits WHERE clinic IN (SELECT clinic FROM visits WHERE cost > 9000)",
        "SELECT COUNT(*) FROM visits WHERE person_id IN (SELECT person_id FROM visits WHERE cost > 9000)",
    ),
    (
        "public_left",
        "SELECT COUNT(*) FROM clinics c LEFT JOIN visits v ON v.clinic = c.clinic",
        "SELECT COUNT(*) FROM visits v LEFT JOIN clinics c ON v.clinic = c.clinic",
    ),
    (
        "public_left",
        "SELECT COUNT(*) FROM visits v FULL JOIN clinics c ON v.clinic = c.clinic",
        "SELECT COUNT(*) FROM clinics c RIGHT JOIN visits v ON v.clinic = c.clinic",
    ),
    ("unit_lost", LOST, LOST.replace("SELECT clinic", "SELECT person_id").replace("BY clinic", "BY person_id")),
    (
        "unit_lost",
        "SELECT COUNT(*) FROM (SELECT DISTINCT clinic FROM visits) AS t",
        "SELECT COUNT(*) FROM (SELECT DISTINCT person_id, clinic FROM visits) AS t",
    ),
    (
        "unit_nulled",
        f"SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM {LEFT} GROUP BY v.person_id) AS t",
        f"SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM {LEFT} GROUP BY p.person_id) AS t",
    ),
    (
        "unit_nulled",
        f"SELECT COUNT(*) FROM (SELECT DISTINCT v.person_id FROM {LEFT}) AS t",
        f"SELECT COUNT(*) FROM (SELECT DISTINCT v.person_id FROM {LEFT} WHERE v.person_id IS NOT NULL) AS t",
    ),
    (
        "correlated",
        "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id AND"
        " v.at < p.joined)",
        "SELECT COUNT(DISTINCT p.person_id) FROM people p JOIN visits v ON v.person_id = p.person_id AND v.at < "
        "p.joined",
    ),
    (
        "correlated",
        "SELECT COUNT(*) FROM visits v WHERE v.clinic IN (SELECT w.clinic FROM visits w WHERE w.person_id = v.person_id"
        " AND w.cost > 99)",
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person_id = v.person_id"
        " AND w.clinic = v.clinic AND w.cost > 99)",
    ),
    (
        "private_filter",
        "SELECT COUNT(*) FROM clinics WHERE clinic IN (SELECT clinic FROM visits WHERE cost > 9000)",
        "SELECT COUNT(DISTINCT c.clinic) FROM clinics c JOIN visits v ON v.clinic = c.clinic WHERE v.cost > 9000",
    ),
    (
        "nullable_in",
        f"SELECT COUNT(*) FROM people WHERE person_id NOT IN (SELECT v.person_id FROM {LEFT})",
        f"SELECT COUNT(*) FROM people WHERE person_id NOT IN (SELECT v.person_id FROM {LEFT} WHERE v.person_id IS NOT "
        "NULL)",
    ),
    (
        "ambiguous",
        "SELECT COUNT(person_id) FROM people p JOIN visits v ON p.person_id = v.person_id",
        "SELECT COUNT(p.person_id) FROM people p JOIN visits v ON p.person_id = v.person_id",
    ),
    (
        "fanout",
        "SELECT COUNT(*) FROM visits v CROSS JOIN clinics c",
        "SELECT COUNT(*) FROM visits v JOIN clinics c ON c.clinic = v.clinic",
    ),
    ("fanout", "SELECT COUNT(*) FROM visits, UNNEST([1, 2]) AS t", "SELECT COUNT(*) FROM visits"),
    (
        "recursive",
        "WITH RECURSIVE t AS (SELECT age FROM people) SELECT COUNT(*) FROM t",
        "WITH t AS (SELECT age FROM people) SELECT COUNT(*) FROM t",
    ),
    (
        "set_operation",
        "SELECT COUNT(*) FROM people UNION ALL SELECT COUNT(*) FROM visits",
        "SELECT COUNT(*) FROM (SELECT person_id FROM people UNION ALL SELECT person_id FROM visits) AS t",
    ),
    (
        "window",
        "SELECT AVG(cost) OVER (PARTITION BY clinic) FROM visits",
        "SELECT clinic, AVG(cost) FROM visits GROUP BY clinic",
    ),
    ("distinct", "SELECT DISTINCT zip FROM people", "SELECT zip, COUNT(*) FROM people GROUP BY zip"),
    (
        "distinct_of_rows",
        "SELECT DISTINCT sex FROM people WHERE age > 119",
        "SELECT sex, COUNT(*) FROM people WHERE age > 119 GROUP BY sex",
    ),
    ("distinct_aggregate", "SELECT SUM(DISTINCT age) FROM people", "SELECT COUNT(DISTINCT age), SUM(age) FROM people"),
    ("sample", "SELECT AVG(age) FROM people TABLESAMPLE 10%", "SELECT AVG(age) FROM people"),
    (
        "clause",
        "SELECT AVG(age) FROM (SELECT age FROM people LIMIT 100) AS t",
        "SELECT AVG(age) FROM (SELECT age FROM people) AS t",
    ),
    (
        "clause",
        "SELECT COUNT(*) FROM people NATURAL JOIN visits",
        "SELECT COUNT(*) FROM people JOIN visits USING (person_id)",
    ),
    (
        "clause",
        "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT COUNT(*) FROM visits v WHERE v.person_id = p.person_id)",
        "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id)",
    ),
    (
        "clause",
        "SELECT COUNT(*) FROM (SELECT DISTINCT ON (person_id) person_id, clinic FROM visits) AS t",
        "SELECT COUNT(*) FROM (SELECT DISTINCT person_id, clinic FROM visits) AS t",
    ),
    ("expression", "SELECT COUNT(*) FROM people WHERE age << 1 > 80", "SELECT COUNT(*) FROM people WHERE age * 2 > 80"),
    (
        "grouping_sets",
        "SELECT zip, COUNT(*) FROM people GROUP BY ROLLUP (zip)",
        "SELECT zip, COUNT(*) FROM people GROUP BY zip",
    ),
    ("pattern", "SELECT COUNT(*) FROM people WHERE name LIKE zip", "SELECT COUNT(*) FROM people WHERE name LIKE 'A%'"),
    (
        "in_member",
        "SELECT COUNT(*) FROM people WHERE age IN (18, age)",
        "SELECT COUNT(*) FROM people WHERE age IN (18, 19)",
    ),
    ("parameter", "SELECT COUNT(*) FROM people WHERE age > ?", "SELECT COUNT(*) FROM people WHERE age > 40"),
    (
        "limit",
        "SELECT sex, COUNT(*) FROM people GROUP BY sex LIMIT 1 + 1",
        "SELECT sex, COUNT(*) FROM people GROUP BY sex LIMIT 2",
    ),
    ("where", "SELECT COUNT(*) FROM people WHERE age", "SELECT COUNT(*) FROM people WHERE age > 0"),
    (
        "unit_key",
        "SELECT person_id, SUM(cost) FROM visits GROUP BY person_id",
        "SELECT clinic, SUM(cost) FROM visits GROUP BY clinic",
    ),
    (
        "key_size",
        "SELECT joined, age, sex, COUNT(*) FROM people GROUP BY joined, age, sex",
        "SELECT DATE_TRUNC('year', joined) AS year, sex, COUNT(*) FROM people GROUP BY year, sex",
    ),
    ("no_aggregate", "SELECT sex FROM people GROUP BY sex", "SELECT sex, COUNT(*) FROM people GROUP BY sex"),
)
# The same of refusals that planning makes, by their code.
PLANNED: tuple[tuple[str, str, str], ...] = (
    ("no_bounds", "SELECT SUM(LENGTH(name)) FROM people", "SELECT SUM(CLAMP(LENGTH(name), 0, 60)) FROM people"),
    ("no_bounds", "SELECT MEDIAN(LENGTH(name)) FROM people", "SELECT MEDIAN(CLAMP(LENGTH(name), 0, 60)) FROM people"),
    (
        "no_bounds",
        "SELECT AVG(n) FROM (SELECT SUM(visit_id) AS n FROM visits GROUP BY person_id) AS t",
        "SELECT AVG(n) FROM (SELECT SUM(CLAMP(visit_id, 0, 10)) AS n FROM visits GROUP BY person_id) AS t",
    ),
    (
        "keys_not_public",
        "SELECT MODE(zip) FROM people",
        "SELECT MODE(CASE WHEN zip LIKE '10%' THEN 'near' ELSE 'far' END) FROM people",
    ),
    ("bad_parameter", "SELECT QUANTILE_CONT(cost, 50) FROM visits", "SELECT QUANTILE_CONT(cost, 0.5) FROM visits"),
    ("type_error", "SELECT SUM(name) FROM people", "SELECT COUNT(name) FROM people"),
    ("parse_error", "SELECT COUNT(DISTINCT *) FROM people", "SELECT COUNT(*) FROM people"),
    ("parse_error", "SELECT COUNT(*) FROM people WHERE name = E'a'", "SELECT COUNT(*) FROM people WHERE name = 'a'"),
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("rewritings") / "hospital"
    write_demo(folder)
    with obverse.open(folder) as opened:
        yield opened


def refused(session: Session, sql: str) -> Refused:
    with pytest.raises(Refused) as found:
        session.explain(sql)
    return found.value


@pytest.mark.parametrize(("name", "before", "after"), PAIRS)
def test_what_a_refusal_tells_to_write_is_answered(name: str, before: str, after: str, session: Session) -> None:
    found = refused(session, before)
    assert (found.code, found.fix) == (REFUSALS[name].code, REFUSALS[name].fix)
    session.explain(after)


@pytest.mark.parametrize(("code", "before", "after"), PLANNED)
def test_what_a_refusal_of_planning_tells_to_write_is_answered(
    code: str, before: str, after: str, session: Session
) -> None:
    found = refused(session, before)
    assert (found.code, bool(found.fix)) == (code, True)
    session.explain(after)


def test_keys_that_cannot_be_paid_for_are_declared_or_given_a_delta(session: Session) -> None:
    sql = "SELECT zip, COUNT(*) FROM people GROUP BY zip"
    with pytest.raises(Refused) as found:
        session.explain(sql, delta=0)
    assert found.value.code == "keys_not_public"
    assert "delta" in found.value.fix
    session.explain(sql, delta=1e-9)
    session.explain("SELECT sex, COUNT(*) FROM people GROUP BY sex", delta=0)


def test_every_refusal_has_a_rewriting() -> None:
    assert {name for name, _, _ in PAIRS} == set(REFUSALS)
