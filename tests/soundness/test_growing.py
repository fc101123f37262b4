"""Growing data: a unit moves only questions that touch its partition, and those no further than claimed; on every
engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.core.types import Value
from obverse.plan.partitions import touched
from obverse.session.project import grown
from obverse.testing.neighbours import Family, Row, family
from tests.soundness.conftest import World
from tests.soundness.stacked import moved
from tests.stands import STANDS

TOML = """
[project]
name = "growing"
[budget]
epsilon = 100
[tables.t]
source = "python"
unit = "person"
limits = {{ rows = 3 }}
partition = {{ column = "wave", counts = "{counts}" }}
[tables.t.columns]
wave = {{ type = "integer", bounds = [1, 4] }}
day = {{ type = "date", bounds = ["2020-01-01", "2020-12-31"] }}
c = {{ type = "double", bounds = [0, 100], grid = 0.25 }}
s = {{ type = "text", values = ["a", "b", "c"] }}
"""
SCHEMAS = {"t": {"person": "BIGINT", "wave": "BIGINT", "day": "DATE", "c": "DOUBLE", "s": "VARCHAR"}}
THROUGH = 3
QUESTIONS = (
    "SELECT COUNT(*), SUM(c) FROM t WHERE wave = 2",
    "SELECT s, COUNT(*), AVG(c) FROM t WHERE wave >= 2 AND wave <= 3 GROUP BY s",
    "SELECT COUNT(*) FROM t WHERE wave IN (1, 2) AND c > 10",
    "SELECT wave, COUNT(*) FROM t WHERE wave < 3 GROUP BY wave",
    "SELECT SUM(c) FROM t",
    "SELECT MEDIAN(c) FROM t WHERE 3 <= wave",
)
OF_PERSONS = ("SELECT COUNT(DISTINCT person) FROM t WHERE wave = 3",)


class Growing(World):
    """One table of which three of four partitions are published, and the first may be retired."""

    def __init__(self, counts: str, kind: str, retired: int | None = None) -> None:
        self.first = 1 + (retired or 0)
        self.name = counts
        self.neighbours = "add-remove"
        self.text = False
        self.kind = kind
        self.parallel = 0
        self.schemas = SCHEMAS
        catalog = complete(loads(TOML.format(counts=counts), Path("/")), SCHEMAS, {})
        self.take(grown(catalog, THROUGH, retired))

    def partitions(self, rows: tuple[Row, ...]) -> set[int]:
        """Where a unit's rows count."""
        read: list[Value] = [row.get("wave") for row in rows if row.get("person") is not None]
        found = {wave for wave in read if isinstance(wave, int) and self.first <= wave <= THROUGH}
        return {min(found)} if found and self.name == "first" else found


PARAMS = [
    (counts, kind, retired) for kind in STANDS for counts, retired in (("first", None), ("first", 1), ("each", None))
]


@pytest.fixture(scope="module", params=PARAMS, ids=lambda one: "-".join(map(str, one)))
def here(request: pytest.FixtureRequest) -> Iterator[Growing]:
    made = Growing(*request.param)
    yield made
    made.stand.close()


def databases(one: Family) -> list[dict[str, tuple[Row, ...]]]:
    return [dict(one.database(place)) for place in range(len(one.units) + 1)]


def test_a_unit_moves_only_what_touches_its_partition_and_no_further_than_claimed(here: Growing) -> None:
    """Where the unit is one's part of a partition, somebody who is in several moves a question as often as she is in
    it.
    """
    texts = (*QUESTIONS, *OF_PERSONS)
    plans = [here.plan(text) for text in texts]
    apart = within = 0
    for seed in (1, 2):
        one = family(here.catalog, SCHEMAS, seed, units=14, crowd=3)
        seen = here.answers(plans, databases(one))
        for text, (plan, _), exact in zip(texts, plans, seen):
            among = touched(plan.question.relation, here.catalog)
            assert among is not None
            for place, unit in enumerate(one.units, 1):
                inside = [p for p in here.partitions(unit["t"]) if among.first <= p <= among.last]
                claims = moved(plan, exact[0], exact[place])
                for claim in claims:
                    times = max(len(inside), 1) if claim.norm != "l0" or here.name == "each" else 1
                    assert claim.holds(Fraction(times)), f"{here.label}: {text}: {claim}"
                if not inside:
                    apart += 1
                    assert exact[0] == exact[place] or all(claim.ratio == 0 for claim in claims), (
                        f"{here.label}: {text}"
                    )
                within += any(claim.ratio > Fraction(1, 2) for claim in claims)
    assert apart >= 30
    assert within >= 30


def test_a_question_that_names_partitions_touches_those(here: Growing) -> None:
    found = []
    for text in QUESTIONS:
        plan, _ = here.plan(text)
        among = touched(plan.question.relation, here.catalog)
        assert among is not None
        found.append((among.first, among.last))
    assert found == [(max(first, here.first), last) for first, last in ((2, 2), (2, 3), (1, 2), (1, 2), (1, 3), (3, 3))]


def test_rows_of_retired_partitions_are_not_read(here: Growing) -> None:
    plans = [here.plan(text) for text in (*QUESTIONS, *OF_PERSONS)]
    rows = dict(family(here.catalog, SCHEMAS, 3, units=14, crowd=3).database(0))
    kept = {"t": tuple(row for row in rows["t"] if row["wave"] is None or int(str(row["wave"])) >= here.first)}
    whole = here.answers(plans, [rows])
    rest = here.answers(plans, [kept])
    assert whole == rest
    assert here.first == 1 or len(kept["t"]) < len(rows["t"])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FILTER (WHERE wave = 2) FROM t",
        "SELECT COUNT(*) FROM t WHERE wave = 2 OR c > 3",
        "SELECT COUNT(*) FROM t WHERE wave + 0 = 2",
        "SELECT COUNT(*) FROM (SELECT wave AS w, c FROM t) AS q WHERE w = 2 AND c > 1",
        "SELECT COUNT(*) FROM (SELECT c FROM t WHERE wave = 1 UNION ALL SELECT c FROM t) AS q",
    ],
)
def test_what_is_not_known_to_be_in_some_partitions_touches_all(text: str) -> None:
    here = Growing("first", "duckdb")
    plan, _ = here.plan(text)
    among = touched(plan.question.relation, here.catalog)
    here.stand.close()
    assert among is not None
    assert (among.first, among.last) == (1, THROUGH)
