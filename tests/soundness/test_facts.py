"""What planning believes of a relation's columns holds of every row that the emitted SQL gives: type, NULL, bounds,
units.
"""

from __future__ import annotations

import math
from collections import Counter

import pytest

from obverse.core.bounds import Categories, Interval
from obverse.core.types import Type, Value
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit.sources import Sources
from obverse.plan.expressions import ColumnFacts, as_number
from obverse.plan.query import Question
from obverse.plan.relation import Relation, every
from obverse.plan.stability.derive import facts_of
from obverse.session.planning import read
from obverse.testing.neighbours import family
from tests.soundness.conftest import HASH_KEY, NOW
from tests.soundness.shapes import FROMS, ROWS, WHO, Related

TYPES = {
    Type.INTEGER: "BIGINT", Type.DOUBLE: "DOUBLE", Type.BOOLEAN: "BOOLEAN", Type.TEXT: "VARCHAR", Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}  # fmt: skip
# Subqueries whose facts have to be rounded as the engine rounds, or whose names meet ours.
MORE = {
    "sums of tenths": "(SELECT SUM(cost * 0.1) AS x, COUNT(*) AS g FROM visits GROUP BY person) AS t",
    "sums of hundredths": "(SELECT SUM(0.01 * CASE WHEN age > 9 THEN 57 ELSE 0 END) AS x, MIN(sex) AS g FROM people"
    " GROUP BY person) AS t",
    "averages of thirds": "(SELECT AVG(cost / 3) AS x, MAX(cost) > 3 AS g FROM visits GROUP BY person) AS t",
    "our name for a look-up": "(SELECT look_up2 AS x, look_up2 > 9 AS g FROM (SELECT person, age AS look_up2 FROM "
    "people) AS a"
    " WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = a.person)) AS t",
    "our name for a match": "(SELECT matched AS x, matched > 9 AS g FROM (SELECT person, age AS matched FROM people "
    "EXCEPT"
    " SELECT person, n FROM (SELECT person, CAST(cost AS INTEGER) AS n FROM visits) AS v) AS t) AS t",
}


def fault(value: Value, facts: ColumnFacts) -> str | None:
    """What is not as believed of a value."""
    if value is None:
        return None if facts.nullable else "NULL"
    if isinstance(facts.bounds, Categories):
        return None if value in facts.bounds.values else "not in the list"
    if isinstance(facts.bounds, Interval):
        number = None if isinstance(value, float) and not math.isfinite(value) else as_number(value)
        return None if number is not None and facts.bounds.lo <= number <= facts.bounds.hi else "out of bounds"
    return None


def check(here: Related, relation: Relation) -> int:
    """Compare every row with what is believed; gives the number of values."""
    facts = facts_of(relation, here.catalog)
    source = Sources(here.catalog, DIALECTS["duckdb"], HASH_KEY)(relation)
    listed = ", ".join(source.columns[name] for name in facts.columns) or "1"
    found = here.engine.execute(f"SELECT {'u' if source.keyed else '0'}, {listed} FROM {source.sql} AS q")
    kinds = [str(column[1]) for column in found.description][1:]
    rows = found.fetchall()
    for (name, believed), kind in zip(facts.columns.items(), kinds):
        always_null = believed.nullable and believed.bounds == Categories(())
        assert kind == TYPES[believed.type] or always_null, f"{name} is {kind}, not {believed.type}"
    for row in rows:
        for (name, believed), value in zip(facts.columns.items(), row[1:]):
            assert fault(value, believed) is None, f"{name} = {value!r}: {fault(value, believed)} of {believed}"
    if facts.stability is not None and facts.stability.rows == 1 and source.keyed and rows:
        assert max(Counter(row[0] for row in rows).values()) == 1, "a unit has several rows"
    return len(rows) * len(facts.columns)


@pytest.mark.parametrize("name", [*FROMS, *(f"who: {n}" for n in WHO), *(f"rows: {n}" for n in ROWS), *MORE])
def test_facts_of_every_relation_hold_of_its_rows(name: str) -> None:
    kind, _, rest = name.partition(": ")
    here = Related("add-remove", "rows" if kind == "rows" else "keyed")
    text = {"who": WHO, "rows": ROWS}[kind][rest] if rest else (FROMS | MORE)[name]
    question = read(f"SELECT g, SUM(x) FROM {text} GROUP BY g", here.catalog, NOW)
    assert isinstance(question, Question)
    values = 0
    for seed in (1, 2):
        one = family(here.catalog, here.schemas, seed, units=5, crowd=3)
        for place in (1, 3, 5):
            here.fill(one.database(place))
            values += sum(check(here, relation) for relation in every(question.relation))
    assert values > 50
    here.engine.close()
