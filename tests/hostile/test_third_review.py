"""What a hostile review of joins, subqueries and look-ups found once, and must never be found again."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

import obverse
from obverse.core.errors import Refused
from obverse.session.session import Session
from obverse.testing import noiseless
from tests.hostile.made import made
from tests.soundness.shapes import Related

TOML = """
[project]
name = "third"
[budget]
epsilon = 10
[tables.people]
source = "people.parquet"
unit = "person"
[tables.people.columns]
person = { type = "integer" }
age = { type = "integer", bounds = [0, 99] }
n = { type = "integer", bounds = [0, 9] }
sex = { type = "text", values = ["F", "M"] }
[tables.visits]
source = "visits.parquet"
unit = "person -> people.person"
limits = { rows = 10 }
[tables.visits.columns]
person = { type = "integer" }
n = { type = "integer", bounds = [0, 9] }
cost = { type = "integer", bounds = [0, 99] }
[tables.places]
source = "places.parquet"
public = true
"""
PEOPLE = "SELECT i AS person, (i * 7) % 60 AS age, i % 5 AS n, 'FM'[1 + i % 2] AS sex FROM range(40) AS r(i)"
VISITS = "SELECT i % 50 AS person, i % 4 AS n, (i * 7) % 31 AS cost FROM range(200) AS r(i)"
PLACES = "SELECT i AS cost, i % 3 AS public_x FROM range(30) AS r(i)"


def project(folder: Path, people: str = PEOPLE) -> Path:
    return made(folder, TOML, {"people": people, "visits": VISITS, "places": PLACES})


@pytest.fixture
def exactly(tmp_path: Path) -> Session:
    return noiseless(project(tmp_path / "p"), limits=None)


OUTCOMES = {
    "a column named as our look-up": "SELECT COUNT(*) FROM (SELECT person, sex AS look_up2 FROM people WHERE age = 42) "
    "t WHERE"
    " look_up2 = 'zzz' AND EXISTS (SELECT 1 FROM people p WHERE p.person = t.person)",
    "a column named as our match": "SELECT COUNT(*) FROM (SELECT person, sex AS matched FROM people WHERE age = 42 "
    "INTERSECT"
    " SELECT person, sex FROM people) t",
    "a root of what rounding makes negative": "SELECT MEDIAN(SQRT(0.57 - t)) FROM (SELECT person, SUM(0.01 * CASE WHEN "
    "age = 42"
    " THEN 57 ELSE 0 END) AS t FROM people WHERE person = 6 GROUP BY person) s",
    "an arc of what rounding makes too large": "SELECT MAX(ASIN(t / 0.57)) FROM (SELECT person, SUM(0.01 * CASE WHEN "
    "age = 42"
    " THEN 57 ELSE 0 END) AS t FROM people WHERE person = 6 GROUP BY person) s",
}


@pytest.mark.parametrize("name", OUTCOMES)
@pytest.mark.parametrize("age", [42, 43])
def test_one_person_does_not_decide_whether_there_is_an_answer(name: str, age: int, tmp_path: Path) -> None:
    people = PEOPLE.replace("(i * 7) % 60", f"CASE WHEN i = 6 THEN {age} ELSE i END")
    with obverse.open(project(tmp_path / "p", people)) as session:
        assert len(session.ask(OUTCOMES[name], epsilon=0.001)) == 1


EXACT = {
    "a match beside a column of that name": "SELECT SUM(matched) FROM (SELECT person, age AS matched FROM people "
    "EXCEPT SELECT"
    " person, cost FROM visits) t",
    "a unit's key that an outer join left NULL": "SELECT COUNT(*) FROM (SELECT a.person, b.person AS other, COUNT(*) "
    "AS c FROM"
    " visits a LEFT JOIN visits b ON a.person = b.person AND a.cost < b.cost GROUP BY a.person, b.person) t",
    "different ones of it": "SELECT COUNT(*) FROM (SELECT DISTINCT a.person, b.person AS other FROM visits a LEFT JOIN "
    "visits b"
    " ON a.person = b.person AND a.cost < b.cost) t",
    "names of a WITH and then of its use": "WITH c(a, b, d) AS (SELECT person, age AS d, n AS b FROM people) SELECT "
    "SUM(b) FROM"
    " c AS e(z)",
    "quotes in names": 'SELECT SUM(COALESCE(a, b, 0)), SUM(COALESCE("a"", ""b", 0)) FROM (SELECT person, NULLIF(n, 1) '
    "AS a, age"
    ' AS b, NULLIF(n, 2) AS "a"", ""b" FROM people) t',
    "dots in names": 'SELECT SUM("a.b".c), SUM(a."b.c") FROM (SELECT person, n AS c FROM people) AS "a.b" JOIN (SELECT '
    "person,"
    ' age AS "b.c" FROM people) AS a ON a.person = "a.b".person',
}


@pytest.mark.parametrize("name", EXACT)
def test_the_meaning_is_that_of_plain_sql(name: str, exactly: Session) -> None:
    plain = duckdb.connect()
    for table, rows in {"people": PEOPLE, "visits": VISITS}.items():
        plain.execute(f"CREATE TABLE {table} AS {rows}")
    assert exactly.ask(EXACT[name]).rows[0] == pytest.approx(plain.execute(EXACT[name]).fetchone())


REFUSED = {
    "a name that is inside as well": "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person ="
    " people.person AND v.cost = age + n)",
    "a name that the alias gives twice": "SELECT SUM(b) FROM (SELECT age AS a, n AS b FROM people) t(b)",
    "names that differ in case alone": 'SELECT SUM(x."A"), SUM(x.a) FROM (SELECT person, n AS "A", age AS a FROM '
    "people) x",
    "public rows that would stay alone": "SELECT COUNT(*) FROM visits v RIGHT JOIN places c ON v.cost = c.cost",
    "joins without end": "SELECT COUNT(*) FROM people p0"
    + "".join(f" JOIN people p{i} ON p{i}.person = p0.person" for i in range(1, 80)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_sure_meaning_is_refused(name: str, exactly: Session) -> None:
    with pytest.raises(Refused):
        exactly.ask(REFUSED[name])


def test_a_public_column_may_begin_like_our_functions(exactly: Session) -> None:
    assert len(exactly.ask("SELECT public_x FROM places")) == 30


@pytest.mark.parametrize("number", ["sNaN", "NaN", "Infinity"])
def test_a_number_that_is_none_is_no_parameter(exactly: Session, number: str) -> None:
    with pytest.raises(Refused):
        exactly.ask("SELECT COUNT(*) FROM people WHERE age > ?", parameters=[Decimal(number)])


@pytest.mark.parametrize("kept", ["MIN", "MAX"])
def test_which_of_two_zeros_came_last_decides_nothing(kept: str) -> None:
    """What a trim keeps is chosen by a hash of the row, and the sign of a zero was in it."""
    here = Related("add-remove")
    plan, sql = here.plan(
        f"SELECT SUM(v.n) FROM (SELECT person, CLAMP(visit % 7, -3, 3) AS n, {kept}(cost) AS c FROM visits GROUP BY "
        "person,"
        " visit) v JOIN visits w ON w.person = v.person AND v.c = w.cost"
    )
    totals = set()
    for zeros in (("0.0", "-0.0"), ("-0.0", "0.0"), ("0.0", "0.0")):
        here.engine.execute("TRUNCATE visits")
        for zero in zeros:
            here.engine.execute(
                "INSERT INTO visits(person, visit, cost) "
                f"SELECT 100 + b, i, '{zero}'::DOUBLE FROM range(40) t(b), range(8) s(i)"
            )
        totals.add(here.vectors(plan, sql).totals)
    here.engine.close()
    assert len(totals) == 1
