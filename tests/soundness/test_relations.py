"""The master law over relations: joins, subqueries, per-unit aggregation, set operations, look-ups; every FROM with every SELECT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.testing.neighbours import family
from tests.soundness.conftest import MemoryEngine, World

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
SCHEMAS = {
    "people": {"person": "BIGINT", "age": "BIGINT", "sex": "VARCHAR"},
    "visits": {"person": "BIGINT", "visit": "BIGINT", "place": "VARCHAR", "cost": "DOUBLE"},
    "items": {"visit": "BIGINT", "n": "BIGINT"},
    "places": {"place": "VARCHAR", "city": "VARCHAR", "beds": "BIGINT"},
}
PLACES = (
    {"place": "a", "city": "x", "beds": 7},
    {"place": "a", "city": "y", "beds": 2},
    {"place": "b", "city": "x", "beds": 3},
    {"place": "d", "city": None, "beds": None},
)
# Every FROM gives the columns x (a bounded number) and g (a finite key).
FROMS = {
    "join": "(SELECT v.cost AS x, p.sex AS g FROM people p JOIN visits v ON p.person = v.person) AS t",
    "left join": "(SELECT v.cost AS x, p.sex AS g FROM people p LEFT JOIN visits v USING (person)) AS t",
    "right join": "(SELECT p.age AS x, v.place AS g FROM people p RIGHT JOIN visits v ON p.person = v.person) AS t",
    "full join": "(SELECT v.cost + p.age AS x, v.place AS g FROM people p FULL JOIN visits v USING (person)) AS t",
    "left join with a condition": "(SELECT v.cost AS x, p.sex AS g FROM people p LEFT JOIN visits v ON p.person = v.person"
    " AND v.cost > p.age) AS t",
    "many to many": "(SELECT a.cost - b.cost AS x, a.place AS g FROM visits a JOIN visits b ON a.person = b.person) AS t",
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
    "per unit joined": "(SELECT s.total AS x, p.sex AS g FROM people p JOIN (SELECT person, SUM(cost) AS total FROM visits"
    " GROUP BY person) AS s ON s.person = p.person) AS t",
    "distinct": "(SELECT DISTINCT person, place AS g, cost AS x FROM visits) AS t",
    "union all": "(SELECT cost AS x, place AS g FROM visits UNION ALL SELECT age, sex FROM people) AS t",
    "union": "(SELECT person, cost AS x, place AS g FROM visits UNION SELECT person, age, sex FROM people) AS t",
    "intersect": "(SELECT p.age AS x, p.sex AS g FROM people p JOIN (SELECT person FROM visits WHERE cost > 0 INTERSECT SELECT"
    " person FROM people WHERE age > 9) AS k ON k.person = p.person) AS t",
    "except": "(SELECT p.age AS x, p.sex AS g FROM people p JOIN (SELECT person FROM people EXCEPT SELECT person FROM visits"
    " WHERE cost > 50) AS k ON k.person = p.person) AS t",
    "except with a key": "(SELECT 1 AS x, g FROM (SELECT person, place AS g FROM visits EXCEPT SELECT person, place FROM visits"
    " WHERE cost < 0) AS k) AS t",
    "in unit": "(SELECT age AS x, sex AS g FROM people WHERE person IN (SELECT person FROM visits WHERE cost > 3)) AS t",
    "not in unit": "(SELECT age AS x, sex AS g FROM people WHERE person NOT IN (SELECT person FROM visits GROUP BY person"
    " HAVING COUNT(*) > 1)) AS t",
    "exists": "(SELECT cost AS x, place AS g FROM visits v WHERE EXISTS (SELECT 1 FROM people p WHERE p.person = v.person AND"
    " p.age > 30)) AS t",
    "not exists": "(SELECT age AS x, sex AS g FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.person ="
    " p.person AND v.cost > 10)) AS t",
    "in public": "(SELECT cost AS x, place AS g FROM visits WHERE place IN (SELECT place FROM places WHERE beds > 2)) AS t",
    "not in public": "(SELECT cost AS x, place AS g FROM visits WHERE place NOT IN (SELECT city FROM places)) AS t",
    "exists or": "(SELECT age AS x, sex AS g FROM people p WHERE age > 60 OR EXISTS (SELECT 1 FROM visits v WHERE v.person ="
    " p.person AND v.place = p.sex)) AS t",
    "case exists": "(SELECT CASE WHEN EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person) THEN age ELSE -age END AS x,"
    " sex AS g FROM people p) AS t",
}
SELECTS = (
    "SELECT COUNT(*), SUM(x) FROM {}",
    "SELECT AVG(x) FROM {} WHERE x > 1",
    "SELECT g, COUNT(*) FROM {} GROUP BY g",
    "SELECT g, SUM(x), COUNT(x) FROM {} GROUP BY g",
    "SELECT g, AVG(x) FROM {} WHERE x IS NOT NULL GROUP BY g",
    "SELECT VAR_POP(x), COUNT(*) FILTER (WHERE x < 5) FROM {}",
)
BOTH = ("add-remove", "replace")


class Related(World):
    """The same world over three private tables and a public one."""

    def __init__(self, neighbours: str) -> None:
        self.name, self.neighbours, self.text, self.schemas = "relations", neighbours, False, SCHEMAS
        catalog = complete(loads(TOML.format(neighbours=neighbours), Path("/")), SCHEMAS, {})
        self.engine = MemoryEngine(catalog, SCHEMAS)
        self.engine.fill({"places": PLACES})
        from obverse.session.public_facts import with_public_facts

        self.catalog = with_public_facts(catalog, self.engine)


@pytest.fixture(scope="module")
def related() -> Iterator[Callable[[str], Related]]:
    made: dict[str, Related] = {}

    def make(neighbours: str) -> Related:
        made.setdefault(neighbours, Related(neighbours))
        return made[neighbours]

    yield make
    for one in made.values():
        one.engine.close()


def law(here: Any, texts: list[str], seed: int, units: int) -> int:
    reach, pairs = here.reach(texts, [family(here.catalog, SCHEMAS, seed, units=units, crowd=3)])
    for text, found in zip(texts, reach):
        for claim in found:
            assert claim.holds(), f"{here.label}: {text}: measure {claim.measure} moved {claim.ratio} times its {claim.norm}"
    return pairs * len(texts)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("name", FROMS)
def test_no_unit_moves_a_question_over_a_relation_further_than_claimed(
    name: str, neighbours: str, related: Callable[[str], Related]
) -> None:
    texts = [select.format(FROMS[name]) for select in SELECTS]
    assert law(related(neighbours), texts, 5, 10) >= 60
