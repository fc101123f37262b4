"""The master law under WITH DIFFERENTIAL_PRIVACY: units' own aggregates, bounded, in chosen groups; and chosen rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from obverse.core.errors import Refused
from obverse.testing.neighbours import family
from tests.soundness.conftest import World
from tests.soundness.shapes import Related

BOTH = ("add-remove", "replace")
UNITS = 6
OPTIONS = ("", "max_groups_contributed=2", "max_groups_contributed=2, group_selection_strategy=PUBLIC_GROUPS")
BY_GROUP = (
    "COUNT(*), COUNT(x, contribution_bounds_per_group => (1, 2)), COUNT(DISTINCT person)",
    "SUM(x), SUM(x, contribution_bounds_per_group => (-3.5, 60)), SUM(x, contribution_bounds_per_row => (0, 7))",
    "AVG(x, contribution_bounds_per_group => (-1, 5)), AVG(x), SUM(x * 1e30, contribution_bounds_per_group => (-9, "
    "100))",
)
BY_ROW = (
    "PERCENTILE_CONT(x, 0.5, contribution_bounds_per_row => (0, 50)), COUNT(DISTINCT person)",
    "VAR_POP(x), STDDEV_POP(x, contribution_bounds_per_row => (-2, 2))",
)
ROWS = (
    "COUNT(*), SUM(x, contribution_bounds_per_row => (0, 7)), AVG(x), PERCENTILE_CONT(x, 0.25), COUNT(DISTINCT person)",
)
SOURCES = (
    "(SELECT person, cost AS x, place AS g FROM visits) AS t",
    "(SELECT v.person AS person, v.cost + p.age AS x, p.sex AS g FROM people p LEFT JOIN visits v USING (person)) AS t",
    "(SELECT a.person AS person, a.cost - b.cost AS x, b.place AS g FROM visits a JOIN visits b ON a.person = "
    "b.person) AS t",
    "(SELECT person, age AS x, sex AS g FROM people) AS t",
    "(SELECT b.person AS person, a.cost AS x, b.place AS g FROM visits a LEFT JOIN visits b ON a.person = b.person AND "
    "a.cost <"
    " b.cost) AS t",
)
KEYS = ("", "g", "g, x > 3")


def questions() -> Iterator[str]:
    for source in SOURCES:
        for key in KEYS:
            grouped = f" GROUP BY {key}" if key else ""
            first = f"{key}, " if key else ""
            for options in OPTIONS:
                for select in (*BY_GROUP, *BY_ROW):
                    yield f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {first}{select} FROM {source}{grouped}"
            for select in ROWS:
                limited = "OPTIONS(max_rows_contributed=2)"
                yield f"SELECT WITH DIFFERENTIAL_PRIVACY {limited} {first}{select} FROM {source}{grouped}"


def law(neighbours: str, texts: Sequence[str], seed: int) -> int:
    """Check the law on every question that is not refused; gives their number."""
    here = Related(neighbours)
    try:
        plans = {text: made for text in texts if (made := here.plan_or_none(text)) is not None}
        families = [family(here.catalog, here.schemas, seed, units=UNITS, crowd=3 * (seed % 2))]
        reach, pairs = here.reach_of(list(plans.values()), families)
        assert pairs >= UNITS
        for text, found in zip(plans, reach):
            for claim in found:
                assert claim.holds(), (
                    f"{neighbours}: {text}: measure {claim.measure} moved {claim.ratio} of its {claim.norm}"
                )
        return len(plans)
    finally:
        here.engine.close()


@pytest.mark.parametrize("neighbours", BOTH)
def test_no_unit_moves_what_is_gathered_further_than_claimed(neighbours: str) -> None:
    turn = BOTH.index(neighbours)
    assert law(neighbours, list(questions())[turn::5], 4 + turn) >= 25


SEARCHED = (
    "COUNT(*), SUM(f)",
    "SUM(g), AVG(-g)",
    "AVG(f), SUM(d)",
    "VAR_POP(g)",
    "AVG(big), SUM(i)",
    "PERCENTILE_CONT(f, .5)",
)


@pytest.mark.parametrize("seed", [2, pytest.param(3, marks=pytest.mark.soak)])
@pytest.mark.parametrize("unit", ["row", "one", "many", "path"])
@pytest.mark.parametrize("neighbours", BOTH)
def test_no_unit_moves_what_bounds_are_found_by_further_than_claimed(neighbours: str, unit: str, seed: int) -> None:
    here = World(unit, neighbours)
    try:
        plans = []
        for select in SEARCHED:
            for key, options in (("", ""), ("s, ", "max_groups_contributed=1"), ("", "max_rows_contributed=1")):
                grouped = " GROUP BY s" if key else ""
                plans += here.searches(
                    f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {key}{select} FROM t{grouped}"
                )
        reach, pairs = here.reach_of(plans, here.families((seed,), UNITS))
        assert len(plans) >= 50
        assert pairs >= UNITS
        for (_, sql), found in zip(plans, reach):
            assert all(claim.holds() for claim in found), f"{here.label}: {sql}"
        assert any(claim.ratio > 0.9 for found in reach for claim in found), "nothing came near its claim"
    finally:
        here.engine.close()


@pytest.mark.soak
@pytest.mark.parametrize("seed", [40, 41])
@pytest.mark.parametrize("neighbours", BOTH)
def test_the_law_holds_on_every_question_of_the_form(neighbours: str, seed: int) -> None:
    assert law(neighbours, list(questions()), seed) >= 120


@pytest.mark.parametrize("neighbours", BOTH)
def test_rows_that_are_units_are_bounded_one_by_one(neighbours: str) -> None:
    here = Related(neighbours, "rows")
    head = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1)"
    asked = [
        f"{head} SUM(n, contribution_bounds_per_group => (1, 4)), COUNT(n, contribution_bounds_per_group => (0, 1)) "
        "FROM t",
        f"{head} place, AVG(cost, contribution_bounds_per_group => (0, 9)), VAR_POP(n), COUNT(*) FROM t GROUP BY place",
    ]
    try:
        plans = [here.plan(text) for text in asked]
        families = [family(here.catalog, here.schemas, 4, units=UNITS, crowd=0)]
        reach, _ = here.reach_of(plans, families)
        assert all(claim.holds() for found in reach for claim in found)
        with pytest.raises(Refused):
            here.plan(f"{head} COUNT(*) FROM t JOIN places c ON t.place = c.place")
    finally:
        here.engine.close()
