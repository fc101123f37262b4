"""The law's own check where keys are discovered and measures are more than sums: claims are tight, faults are
noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from obverse.testing.conformance.aggregate import Claimed
from obverse.testing.neighbours import Family, Row, family
from tests.soundness.shapes import FROMS, PLACES, ROWS, Related

T = "(SELECT person AS who, cost AS x, place AS g FROM visits) AS t"
ONE = "(SELECT person AS who, age AS x, sex AS g FROM people) AS t"
PAIRS = "(SELECT a.cost AS x, b.place AS g FROM visits a JOIN visits b ON a.person = b.person) AS t"

# Kinds of measures and keys, each of which some unit moves by at least half of every claim that sets noise.
TIGHT = {
    "different values": f"SELECT COUNT(DISTINCT x), COUNT(DISTINCT g) FROM {T}",
    "different values by key": f"SELECT g, COUNT(DISTINCT x) FROM {T} GROUP BY g",
    "different values of single rows": f"SELECT COUNT(DISTINCT x), COUNT(DISTINCT g) FROM {ONE}",
    "units": f"SELECT COUNT(DISTINCT who) FILTER (WHERE x > 3) FROM {T}",
    "units by key": f"SELECT g, COUNT(DISTINCT who) FROM {T} GROUP BY g",
    "tree": f"SELECT MEDIAN(x) FROM {T}",
    "tree by key": f"SELECT g, MIN(x), MAX(x) FROM {T} GROUP BY g",
    "tree of single rows": f"SELECT g, MEDIAN(x) FROM {ONE} GROUP BY g",
    "choice": f"SELECT MODE(g) FROM {T}",
    "choice by key": f"SELECT x > 3, MODE(g) FROM {T} GROUP BY 1",
    "choice of single rows": f"SELECT MODE(g) FROM {ONE}",
    "grouping sets": f"SELECT g, x > 3 AS h, COUNT(*), AVG(x), MEDIAN(x), MODE(g) FROM {T} GROUP BY CUBE (g, h)",
    "grouping sets of single rows": f"SELECT g, COUNT(*), COUNT(DISTINCT x) FROM {ONE} GROUP BY ROLLUP (g)",
    "joined": f"SELECT g, COUNT(DISTINCT x), MEDIAN(x), MODE(g) FROM {FROMS['left join']} GROUP BY g",
    "rows united": f"SELECT COUNT(*), SUM(x), MEDIAN(x), MODE(g) FROM {ROWS['twice']}",
    "rows with public ones": f"SELECT g, COUNT(*), MEDIAN(x) FROM {ROWS['public left']} GROUP BY g",
}
# Here a unit that comes or goes takes its keys along: over those that stay, others must have the same keys.
FOUND = {
    "discovered": f"SELECT x / 3, COUNT(*), SUM(x) FROM {T} GROUP BY 1",
    "discovered and listed": f"SELECT x / 3, g, AVG(x), COUNT(DISTINCT g), MEDIAN(x), MODE(g) FROM {T} GROUP BY 1, 2",
    "discovered by single rows": f"SELECT x / 3, COUNT(*), MEDIAN(x) FROM {ONE} GROUP BY 1",
    "units of discovered": f"SELECT x / 3, COUNT(DISTINCT who) FROM {T} GROUP BY 1",
}
# A unit chooses its keys and different values over all grouping sets together, so it cannot do in each what it does in
# one: the claim counts every set in full, and of n sets a n-th is reached.
LOOSE = {
    "different values in grouping sets": (f"SELECT g, COUNT(DISTINCT x) FROM {T} GROUP BY ROLLUP (g)", 2),
    "units in grouping sets": (f"SELECT g, COUNT(DISTINCT who) FROM {T} GROUP BY CUBE (g)", 2),
}
NOISE = ("l1", "l2", "linf", "joint l1", "joint l2", "range", "votes", "own votes")
BOTH = ("add-remove", "replace")


@pytest.fixture(scope="module")
def worlds() -> Iterator[dict[tuple[str, str], Related]]:
    made = {(name, neighbours): Related(neighbours, name) for name in ("keyed", "rows") for neighbours in BOTH}
    yield made
    for one in made.values():
        one.engine.close()


def alike(here: Related, seed: int) -> Family:
    """Neighbours over a base that has every row of every unit, by other units: no key comes or goes."""
    made = family(here.catalog, here.schemas, seed, units=9, crowd=0)
    base: dict[str, list[Row]] = {name: [] for name in made.base}
    for n, unit in enumerate(made.units * 2):
        keys = {"person": 1_000 + n, "visit": 10_000 + n}
        for name, rows in unit.items():
            base[name] += [
                {**row, **{key: own for key, own in keys.items() if row.get(key) is not None}} for row in rows
            ]
    return Family({name: tuple(rows) for name, rows in base.items()}, made.units)


def reach(here: Related, text: str, families: list[Family]) -> tuple[Claimed, ...]:
    (found,), _ = here.reach_of([here.plan(text)], families)
    assert all(claim.holds() for claim in found), [claim for claim in found if not claim.holds()]
    return tuple(claim for claim in found if claim.norm in NOISE)


def families_of(here: Related, name: str) -> list[Family]:
    made = [family(here.catalog, here.schemas, seed, units=10, crowd=0) for seed in (1, 2)]
    return [*made, alike(here, 3), alike(here, 4)] if name in FOUND else made


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("name", [*TIGHT, *FOUND])
def test_some_unit_goes_half_way_so_that_a_claim_cut_to_045_is_noticed(
    name: str, neighbours: str, worlds: dict[tuple[str, str], Related]
) -> None:
    here = worlds["rows" if name.startswith("rows") else "keyed", neighbours]
    for claim in reach(here, (TIGHT | FOUND)[name], families_of(here, name)):
        assert claim.ratio >= 0.5 - 1e-6, f"{name}: only {claim.ratio} of {claim}"
        assert not claim.holds(Fraction(45, 100))


@pytest.mark.parametrize("name", LOOSE)
def test_choices_over_all_grouping_sets_reach_what_one_set_would(
    name: str, worlds: dict[tuple[str, str], Related]
) -> None:
    here = worlds["keyed", "add-remove"]
    text, sets = LOOSE[name]
    for claim in reach(here, text, families_of(here, name)):
        if claim.norm == "l1":
            assert claim.ratio == pytest.approx(1 / sets)


def person(key: int, age: int) -> dict[str, tuple[Row, ...]]:
    visits = tuple({"person": key, "visit": 10 * key + n, "place": "abc"[n], "cost": float(age)} for n in range(3))
    return {"people": ({"person": key, "age": age, "sex": "F"},), "visits": visits, "items": ()}


YOUNG = [person(key, 10) for key in range(1, 7)]
EVEN = Family(
    {name: tuple(row for one in YOUNG for row in one[name]) for name in YOUNG[0]}, (person(7, 90), person(8, 50))
)
MUTATIONS = {
    "units meet in a join": (PAIRS, "g, COUNT(*)", "g", "ON l.u = r.u", "ON TRUE"),
    "units meet in a look-up": (FROMS["exists"], "COUNT(*)", "", "l.u = r.u", "TRUE"),
    "rows are not merged": (ONE, "COUNT(*)", "", " AS f GROUP BY u)", " AS f)"),
    "as many different values as there are": (T, "COUNT(DISTINCT x)", "", "place <= 2", "place <= 99"),
    "votes without a limit": (T, "x / 3, COUNT(*)", "x / 3", "place <= 2", "place <= 99"),
    "rows counted as votes": (T, "x / 3, COUNT(*)", "x / 3", "SELECT DISTINCT u, f0", "SELECT u, f0"),
    "a tree without weights": (T, "MEDIAN(x)", "", "<= 3 THEN ", "<= 999 THEN "),
    "a choice without weights": (T, "MODE(g)", "", "<= 3 THEN ", "<= 999 THEN "),
    "weights that are twice as large": (T, "g, COUNT(*), MEDIAN(x)", "g", "<= 3 THEN ", "<= 3 THEN 2 * "),
    "units without weights": (T, "g, COUNT(DISTINCT who)", "g", "<= 2 THEN ", "<= 999 THEN "),
    "a total without a clamp": (FROMS["left join"], "COUNT(*), MEDIAN(x)", "", "LEAST(n0, 3)", "n0"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_fault_in_the_emitted_sql_is_noticed(name: str, worlds: dict[tuple[str, str], Related]) -> None:
    source, select, group, right, wrong = MUTATIONS[name]
    here = worlds["keyed", "add-remove"]
    plan, sql = here.plan(f"SELECT {select} FROM {source}" + (f" GROUP BY {group}" if group else ""))
    assert right in sql, sql
    families = [family(here.catalog, here.schemas, seed, units=12, crowd=seed) for seed in (0, 1, 3)] + [
        alike(here, 3),
        EVEN,
    ]
    (held, broken), _ = here.reach_of([(plan, sql), (plan, sql.replace(right, wrong))], families)
    assert all(claim.holds() for claim in held)
    assert not all(claim.holds() for claim in broken)


GROWN: tuple[Row, ...] = tuple({"same": row["beds"], **row} for row in PLACES for _ in range(3))


@pytest.mark.parametrize("name", ["public", "public with a condition", "twice with public"])
def test_a_public_table_that_has_grown_since_it_was_counted_multiplies_no_row_further(
    name: str, worlds: dict[tuple[str, str], Related]
) -> None:
    here = worlds["rows", "add-remove"]
    plan, sql = here.plan(f"SELECT COUNT(*), MEDIAN(x), MODE(g) FROM {ROWS[name]}")
    assert "place <= 2" in sql
    one = family(here.catalog, here.schemas, 3, units=12, crowd=3)
    here.fill({"places": GROWN})
    try:
        (held, broken), _ = here.reach_of([(plan, sql), (plan, sql.replace("place <= 2", "place <= 99"))], [one])
    finally:
        here.fill({"places": tuple({"same": row["beds"], **row} for row in PLACES)})
    assert all(claim.holds() for claim in held)
    assert not all(claim.holds() for claim in broken)


ODD = "(SELECT cost * 1 AS x, note AS a, remark AS b FROM visits) AS t"
ODD_PAIRS = "(SELECT v.note AS a, v.remark AS b FROM visits v JOIN visits w ON v.person = w.person) AS t"
ORDERED = {  # what is asked, and what of its SQL makes the order of rows unimportant
    "zeros": (
        f"SELECT x / 3, COUNT(*) FROM {ODD} GROUP BY 1",
        "CASE WHEN f0 = 0 THEN CAST('0.0' AS DOUBLE) ELSE f0 END",
        "f0",
    ),
    "votes": (
        f"SELECT a, b, COUNT(*) FROM {ODD} GROUP BY 1, 2",
        ", f0 NULLS LAST, f1 NULLS LAST) AS place",
        ") AS place",
    ),
    "values": (
        f"SELECT a, COUNT(DISTINCT b) FROM {ODD} GROUP BY a",
        ", f0 NULLS LAST, t0 NULLS LAST) AS place",
        ") AS place",
    ),
    "pairs": (
        f"SELECT a, b, COUNT(*) FROM {ODD_PAIRS} GROUP BY 1, 2",
        "ORDER BY h, c0 NULLS LAST, c1 NULLS LAST)",
        "ORDER BY h)",
    ),
}
TIED = (("a\x1fb", "c"), ("a", "b\x1fc"), ("", ""), ("", "c"))  # the first two are alike once they are written in one
NULLS = (("\x1e", ""), (None, ""), ("", "a"), ("a", "a"))


@pytest.mark.parametrize("name", ORDERED)
def test_the_order_of_rows_chooses_nothing(name: str, worlds: dict[tuple[str, str], Related]) -> None:
    """Neither among values whose hashes are alike (texts that hold the signs between them), nor which zero stands
    for both.
    """
    here = worlds["keyed", "add-remove"]
    text, right, wrong = ORDERED[name]
    plan, sql = here.plan(text)
    assert right in sql, sql
    rows = [
        {"person": key, "visit": key, "place": "a", "cost": (0.0, -0.0)[n % 2], "note": a, "remark": f"{b}{key}"}
        for key in range(40)
        for n, (a, b) in enumerate(TIED if key % 2 else NULLS)
    ]
    seen = []
    for order in (rows, rows[::-1], rows[1::2] + rows[::2]):
        here.fill({"visits": tuple(order)})
        seen.append([here.vectors(plan, printed) for printed in (sql, sql.replace(right, wrong))])
    assert seen[0][0] == seen[1][0] == seen[2][0]
    assert not seen[0][1] == seen[1][1] == seen[2][1]
