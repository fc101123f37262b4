"""Shapes of questions for the master law: every FROM with every SELECT and every WHERE, over units with keys and
without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.core.errors import Refused
from obverse.plan.sensitivity import MeasuredPlan
from obverse.session.project import with_public_facts
from obverse.testing.neighbours import Row
from tests.soundness.conftest import World

TOML = """
[project]
name = "relations"
[privacy]
neighbours = "{neighbours}"
[budget]
epsilon = 100
[tables.people]
source = "python"
unit = "person"
[tables.people.columns]
person = {{ type = "integer" }}
age = {{ type = "integer", bounds = [0, 99] }}
sex = {{ type = "text", values = ["F", "M"] }}
[tables.visits]
source = "python"
unit = "person -> people.person"
limits = {{ rows = 3, groups = 2 }}
[tables.visits.columns]
person = {{ type = "integer" }}
visit = {{ type = "integer" }}
place = {{ type = "text", values = ["a", "b", "c"] }}
cost = {{ type = "double", bounds = [-10, 100], grid = 0.25 }}
note = {{ type = "text" }}
remark = {{ type = "text" }}
[tables.items]
source = "python"
unit = "visit -> visits.visit -> people.person"
limits = {{ rows = 4 }}
[tables.items.columns]
visit = {{ type = "integer" }}
n = {{ type = "integer", bounds = [-3, 9] }}
[tables.places]
source = "python"
public = true
"""
TEXTS = {"note": "VARCHAR", "remark": "VARCHAR"}
SCHEMAS = {
    "people": {"person": "BIGINT", "age": "BIGINT", "sex": "VARCHAR"},
    "visits": {"person": "BIGINT", "visit": "BIGINT", "place": "VARCHAR", "cost": "DOUBLE"} | TEXTS,
    "items": {"visit": "BIGINT", "n": "BIGINT"},
    "places": {"place": "VARCHAR", "city": "VARCHAR", "beds": "BIGINT", "same": "BIGINT"},
}
ROWS_TOML = """
[project]
name = "rows"
[privacy]
neighbours = "{neighbours}"
[budget]
epsilon = 100
[tables.t]
source = "python"
unit = "row"
[tables.t.columns]
place = {{ type = "text", values = ["a", "b", "c"] }}
city = {{ type = "text", values = ["x", "y"] }}
n = {{ type = "integer", bounds = [-3, 9] }}
cost = {{ type = "double", bounds = [-10, 100], grid = 0.25 }}
[tables.places]
source = "python"
public = true
"""
ROWS_SCHEMAS = {
    "t": {"place": "VARCHAR", "city": "VARCHAR", "n": "BIGINT", "cost": "DOUBLE"},
    "places": SCHEMAS["places"],
}
PLACES: tuple[Row, ...] = (
    {"place": "a", "city": "x", "beds": 7},
    {"place": "a", "city": "y", "beds": 2},
    {"place": "b", "city": "x", "beds": 3},
    {"place": "d", "city": None, "beds": None},
    {"place": None, "city": "y", "beds": 1},
    {"place": None, "city": "y", "beds": 1},
)
# Every FROM gives the columns x (a bounded number) and g (a finite key).
FROMS = {
    "join": "(SELECT v.cost AS x, p.sex AS g FROM people p JOIN visits v ON p.person = v.person) AS t",
    "left join": "(SELECT v.cost AS x, p.sex AS g FROM people p LEFT JOIN visits v USING (person)) AS t",
    "right join": "(SELECT p.age AS x, v.place AS g FROM people p RIGHT JOIN visits v ON p.person = v.person) AS t",
    "full join": "(SELECT v.cost + p.age AS x, v.place AS g FROM people p FULL JOIN visits v USING (person)) AS t",
    "left join with a condition": "(SELECT v.cost AS x, p.sex AS g FROM people p LEFT JOIN visits v ON p.person = "
    "v.person"
    " AND v.cost > p.age) AS t",
    "many to many": "(SELECT a.cost - b.cost AS x, a.place AS g FROM visits a JOIN visits b ON a.person = b.person) AS "
    "t",
    "comma": "(SELECT v.cost AS x, p.sex AS g FROM people p, visits v WHERE v.person = p.person AND p.age > 20) AS t",
    "public": "(SELECT c.beds AS x, c.city AS g FROM visits v JOIN places c ON v.place = c.place) AS t",
    "public left": "(SELECT v.cost AS x, c.city AS g FROM visits v LEFT JOIN places c ON v.place = c.place) AS t",
    "public first": "(SELECT c.beds AS x, c.city AS g FROM places c JOIN visits v ON v.place = c.place) AS t",
    "three": "(SELECT p.age * c.beds AS x, c.city AS g FROM people p JOIN visits v USING (person) JOIN places c"
    " ON c.place = v.place WHERE v.cost > 0) AS t",
    "along a path": "(SELECT i.n AS x, v.place AS g FROM items i JOIN visits v ON i.visit = v.visit) AS t",
    "path alone": "(SELECT n AS x, n > 2 AS g FROM items) AS t",
    "per unit": "(SELECT SUM(cost) AS x, COUNT(*) AS g FROM visits GROUP BY person) AS t",
    "per unit average": "(SELECT AVG(cost) AS x, COUNT(DISTINCT place) AS g FROM visits GROUP BY person) AS t",
    "per unit having": "(SELECT MAX(cost) - MIN(cost) AS x, COUNT(place) > 1 AS g FROM visits GROUP BY person"
    " HAVING COUNT(*) > 1) AS t",
    "per unit and key": "(SELECT SUM(cost) AS x, place AS g FROM visits GROUP BY person, place) AS t",
    "per visit": "(SELECT SUM(n) AS x, COUNT(*) AS g FROM items GROUP BY visit) AS t",
    "per unit joined": "(SELECT s.total AS x, p.sex AS g FROM people p JOIN (SELECT person, SUM(cost) AS total FROM "
    "visits"
    " GROUP BY person) AS s ON s.person = p.person) AS t",
    "distinct": "(SELECT DISTINCT person, place AS g, cost AS x FROM visits) AS t",
    "union all": "(SELECT cost AS x, place AS g FROM visits UNION ALL SELECT age, sex FROM people) AS t",
    "union": "(SELECT person, cost AS x, place AS g FROM visits UNION SELECT person, age, sex FROM people) AS t",
    "intersect": "(SELECT p.age AS x, p.sex AS g FROM people p JOIN (SELECT person FROM visits WHERE cost > 0 "
    "INTERSECT SELECT"
    " person FROM people WHERE age > 9) AS k ON k.person = p.person) AS t",
    "except": "(SELECT p.age AS x, p.sex AS g FROM people p JOIN (SELECT person FROM people EXCEPT SELECT person FROM "
    "visits"
    " WHERE cost > 50) AS k ON k.person = p.person) AS t",
    "except with a key": "(SELECT 1 AS x, g FROM (SELECT person, place AS g FROM visits EXCEPT SELECT person, place "
    "FROM visits"
    " WHERE cost < 0) AS k) AS t",
    "in unit": "(SELECT age AS x, sex AS g FROM people WHERE person IN (SELECT person FROM visits WHERE cost > 3)) AS "
    "t",
    "not in unit": "(SELECT age AS x, sex AS g FROM people WHERE person NOT IN (SELECT person FROM visits GROUP BY "
    "person"
    " HAVING COUNT(*) > 1)) AS t",
    "exists": "(SELECT cost AS x, place AS g FROM visits v WHERE EXISTS (SELECT 1 FROM people p WHERE p.person = "
    "v.person AND"
    " p.age > 30)) AS t",
    "not exists": "(SELECT age AS x, sex AS g FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.person ="
    " p.person AND v.cost > 10)) AS t",
    "in public": "(SELECT cost AS x, place AS g FROM visits WHERE place IN (SELECT place FROM places WHERE beds > 2)) "
    "AS t",
    "not in public": "(SELECT cost AS x, place AS g FROM visits WHERE place NOT IN (SELECT city FROM places)) AS t",
    "exists or": "(SELECT age AS x, sex AS g FROM people p WHERE age > 60 OR EXISTS (SELECT 1 FROM visits v WHERE "
    "v.person ="
    " p.person AND v.place = p.sex)) AS t",
    "case exists": "(SELECT CASE WHEN EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person) THEN age ELSE -age END "
    "AS x,"
    " sex AS g FROM people p) AS t",
    "not in with a value": "(SELECT age AS x, sex AS g FROM people WHERE (person, sex) NOT IN (SELECT person, place "
    "FROM"
    " visits)) AS t",
    "joined on an outer key": "(SELECT w.cost AS x, p.sex AS g FROM people p LEFT JOIN visits v ON v.person = p.person "
    "AND"
    " v.place = 'a' LEFT JOIN visits w ON w.person = v.person) AS t",
    "public sums": "(SELECT c.beds AS x, v.place AS g FROM visits v JOIN (SELECT place, SUM(beds) AS beds FROM places "
    "WHERE"
    " place IS NOT NULL GROUP BY place) AS c ON c.place = v.place) AS t",
    "listed": "(SELECT c.n AS x, c.name AS g FROM visits v JOIN (VALUES ('a', 'left', 7), ('b', 'right', -3), ('a', "
    "'up', 5))"
    " AS c(place, name, n) ON c.place = v.place) AS t",
    "a list": "(SELECT cost AS x, place AS g FROM visits v LEFT JOIN UNNEST(['a', 'b', 'b']) AS c(p) ON c.p = v.place) "
    "AS t",
    # What once broke the law: a unit's key that an outer join made NULL, a FULL JOIN of single rows, copies of single
    # rows.
    "per unit of an outer side": "(SELECT COUNT(*) AS x, COUNT(*) > 2 AS g FROM visits a LEFT JOIN visits b ON "
    "a.person ="
    " b.person AND a.cost < b.cost GROUP BY a.person, b.person) AS t",
    "different units of two sides": "(SELECT DISTINCT a.person, b.person AS other, 1 AS x, TRUE AS g FROM visits a "
    "LEFT JOIN"
    " visits b ON a.person = b.person AND a.cost < b.cost) AS t",
    "full join of single rows": "(SELECT p.age AS x, q.sex AS g FROM people p FULL JOIN people q ON p.person = "
    "q.person AND"
    " p.age > 50) AS t",
    "union of per units": "(SELECT SUM(cost) AS x, COUNT(*) AS g FROM visits GROUP BY person UNION ALL SELECT "
    "AVG(cost),"
    " COUNT(place) FROM visits GROUP BY person) AS t",
    "per unit with public": "(SELECT s.total AS x, c.city AS g FROM (SELECT MIN(place) AS place, SUM(cost) AS total "
    "FROM visits"
    " GROUP BY person) AS s JOIN places c ON c.place = s.place) AS t",
}
# Here the unit is a column too.
WHO = {
    "table": "(SELECT person AS who, cost AS x, place AS g FROM visits) AS t",
    "single": "(SELECT person AS who, age AS x, sex AS g FROM people) AS t",
    "joined": "(SELECT p.person AS who, v.cost AS x, p.sex AS g FROM people p LEFT JOIN visits v USING (person)) AS t",
    "public": "(SELECT v.person AS who, c.beds AS x, c.city AS g FROM visits v JOIN places c ON v.place = c.place) AS "
    "t",
    "united": "(SELECT person AS who, cost AS x, place AS g FROM visits UNION ALL SELECT person, age, sex FROM people) "
    "AS t",
    "per units united": "(SELECT person AS who, SUM(cost) AS x, COUNT(*) AS g FROM visits GROUP BY person UNION ALL "
    "SELECT"
    " person, AVG(cost), COUNT(place) FROM visits GROUP BY person) AS t",
    "full": "(SELECT COALESCE(p.person, q.person) AS who, p.age AS x, q.sex AS g FROM people p FULL JOIN people q ON "
    "p.person ="
    " q.person AND p.age > 50) AS t",
}
# Each row is a unit of its own, over table t and the public one.
ROWS = {
    "table": "(SELECT cost AS x, place AS g FROM t) AS t",
    "public": "(SELECT c.beds AS x, c.city AS g FROM t JOIN places c ON t.place = c.place) AS t",
    "public left": "(SELECT t.cost AS x, c.city AS g FROM t LEFT JOIN places c ON t.place = c.place) AS t",
    "public twice": "(SELECT c.beds - d.beds AS x, d.city AS g FROM t JOIN places c ON t.place = c.place JOIN places d"
    " ON d.city = t.city) AS t",
    "public with a condition": "(SELECT t.cost AS x, c.city AS g FROM t JOIN places c ON t.place = c.place AND t.n > "
    "c.beds)"
    " AS t",
    "public with its own equality": "(SELECT t.cost AS x, c.city AS g FROM t JOIN places c ON t.place = c.place AND "
    "c.beds ="
    " c.same) AS t",
    "public of different ones": "(SELECT t.cost AS x, c.city AS g FROM t JOIN (SELECT DISTINCT city FROM places) AS c "
    "ON c.city"
    " = t.city) AS t",
    "twice": "(SELECT cost AS x, place AS g FROM t UNION ALL SELECT cost, place FROM t) AS t",
    "twice with public": "(SELECT cost AS x, place AS g FROM t UNION ALL SELECT c.beds, t.place FROM t JOIN places c ON"
    " c.place = t.place) AS t",
    "listed": "(SELECT c.n AS x, c.name AS g FROM t JOIN (SELECT 'a' AS place, 'left' AS name, 7 AS n UNION ALL SELECT "
    "'b',"
    " 'right', -3 UNION ALL SELECT 'a', 'up', 5) AS c ON c.place = t.place) AS t",
    "in public": "(SELECT cost AS x, place AS g FROM t WHERE place IN (SELECT place FROM places WHERE beds > 2)) AS t",
    "not in public": "(SELECT cost AS x, place AS g FROM t WHERE place NOT IN (SELECT city FROM places)) AS t",
    "exists public": "(SELECT cost AS x, place AS g FROM t WHERE EXISTS (SELECT 1 FROM places c WHERE c.beds = "
    "t.cost)) AS t",
}
# What is selected, and how it is grouped.
SELECTS = (
    ("COUNT(*), SUM(x)", ""),
    ("AVG(x), COUNT(x)", ""),
    ("g, COUNT(*)", "g"),
    ("g, SUM(x), COUNT(x)", "g"),
    ("g, AVG(x)", "g"),
    ("VAR_POP(x), COUNT(*) FILTER (WHERE x < 5)", ""),
    ("CORR(x, 2 * x), COVAR_POP(x, -x)", ""),
    ("COUNT(DISTINCT x), COUNT(DISTINCT g), COUNT(*)", ""),
    ("g, COUNT(DISTINCT x), SUM(x)", "g"),
    ("MEDIAN(x), MIN(x)", ""),
    ("g, MAX(x), COUNT(*)", "g"),
    ("MODE(g), MODE(x > 3)", ""),
    ("g, MODE(x > 3), QUANTILE_CONT(x, 0.9)", "g"),
    ("g, x > 3 AS h, COUNT(*), SUM(x)", "ROLLUP (g, h)"),
    ("g, x > 3 AS h, COUNT(DISTINCT x), MEDIAN(x), MODE(g)", "CUBE (g, h)"),
    ("g, AVG(x), MODE(g)", "GROUPING SETS ((g), ())"),
    ("x / 3, COUNT(*), SUM(x)", "x / 3"),
    ("x / 3, g, COUNT(DISTINCT x), AVG(x)", "x / 3, g"),
    ("x / 3, g, MEDIAN(x), MODE(x > 3), COUNT(*)", "x / 3, g"),
    ("x / 3, x / 7, COUNT(*)", "x / 3, x / 7"),
)
COUNTED = (
    ("COUNT(DISTINCT who)", ""),
    ("g, COUNT(DISTINCT who), COUNT(*)", "g"),
    ("COUNT(DISTINCT who) FILTER (WHERE x > 3), COUNT(DISTINCT x)", ""),
    ("g, x > 3 AS h, COUNT(DISTINCT who)", "CUBE (g, h)"),
    ("x / 3, COUNT(DISTINCT who), MODE(g)", "x / 3"),
)
WHERES = ("", " WHERE x > 1", " WHERE g IS NOT NULL AND (x IS NOT NULL OR x IS NULL)")


@dataclass(frozen=True, slots=True)
class Shape:
    """One question, and which FROM it is over."""

    world: str
    source: str
    text: str


def shapes() -> Iterator[Shape]:
    """The whole product."""
    for world, sources, selects in (("keyed", FROMS, SELECTS), ("keyed", WHO, COUNTED), ("rows", ROWS, SELECTS)):
        for source, text in sources.items():
            for select, group in selects:
                for where in WHERES:
                    grouped = f" GROUP BY {group}" if group else ""
                    yield Shape(world, f"{world}: {source}", f"SELECT {select} FROM {text}{where}{grouped}")


class Related(World):
    """Three private tables of one unit, and a public one."""

    def __init__(self, neighbours: str, name: str = "keyed", kind: str = "duckdb") -> None:
        toml, schemas = {"keyed": (TOML, SCHEMAS), "rows": (ROWS_TOML, ROWS_SCHEMAS)}[name]
        self.name = name
        self.neighbours = neighbours
        self.text = False
        self.schemas = schemas
        self.kind = kind
        self.parallel = 0
        self.take(complete(loads(toml.format(neighbours=neighbours), Path("/")), schemas, {}))
        self.fill({"places": tuple({"same": row["beds"], **row} for row in PLACES)})
        self.catalog = with_public_facts(self.catalog, self.engine)

    def plan_or_none(self, text: str) -> tuple[MeasuredPlan, str] | None:
        try:
            return self.plan(text)
        except Refused:
            return None
