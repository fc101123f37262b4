"""What seldom data meets: keys outside long lists, NULLs that are declared away, keys that are not public, and the
words.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import obverse
from obverse.core.errors import Refused
from obverse.session.session import Session
from obverse.testing import noiseless
from tests.hostile.made import made

HEAD = """
[project]
name = "seldom"
[privacy]
accounting = "{accounting}"
epsilon = 1
delta = 1e-6
[budget]
epsilon = 100
delta = 0.1
[tables.t]
source = "t.parquet"
unit = "{unit}"
{limits}
[tables.t.columns]
"""
LISTED = "w = { type = 'text', values = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'], nullable = false }\n"
COLUMNS = LISTED + "note = { type = 'text' }\nx = { type = 'integer', bounds = [0, 49] }\nn = { type = 'integer' }\n"
ROWS = """
SELECT i AS id, chr((97 + i % 12)::INTEGER) AS w, 'n' || (i % 2) AS note, CASE WHEN i % 7 > 0 THEN i % 50 END AS x,
CASE WHEN i % 2 = 0 THEN 7 END AS n FROM range(4800) AS r(i)
"""


def project(
    folder: Path,
    rows: str = ROWS,
    columns: str = COLUMNS,
    *,
    unit: str = "row",
    limits: str = "",
    accounting: str = "pure",
) -> Path:
    return made(folder, HEAD.format(unit=unit, limits=limits, accounting=accounting) + columns, {"t": rows})


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return obverse.open(project(tmp_path / "p"))


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT w, COUNT(DISTINCT x) FROM t GROUP BY w", 10),  # two of twelve values are outside the list
        ("SELECT w, MEDIAN(x), COUNT(*) FROM t GROUP BY w", 10),
        ("SELECT w, note, COUNT(*) FROM t GROUP BY w, note", 20),
        ("SELECT w, note, MEDIAN(x), MODE(x > 3) FROM t GROUP BY w, note", 20),
    ],
)
def test_one_key_outside_a_list_does_not_decide_whether_there_is_an_answer(
    sql: str, rows: int, session: Session
) -> None:
    assert len(session.ask(sql, epsilon=20)) == rows


def test_a_discovered_key_may_be_null(session: Session) -> None:
    assert [row[0] for row in session.ask("SELECT n, COUNT(*) FROM t GROUP BY n", epsilon=20)] == [7, None]


def test_a_null_that_is_declared_away_is_the_lowest_value_in_trees_too(tmp_path: Path) -> None:
    rows = "SELECT i AS id, CASE WHEN i % 3 = 0 THEN 9 END AS x FROM range(300) AS r(i)"
    with noiseless(
        project(tmp_path / "p", rows, "x = { type = 'integer', bounds = [0, 10], nullable = false }")
    ) as exactly:
        assert exactly.ask("SELECT MEDIAN(x), SUM(x), COUNT(x) FROM t").rows[0] == (0, 900, 300)


def test_a_cap_on_sums_holds_below_zero(tmp_path: Path) -> None:
    rows = "SELECT i % 10 AS id, -2.0 AS cost FROM range(1000) AS r(i)"
    columns = "cost = { type = 'double', bounds = [-100, 100], grid = 0.5 }"
    limits = "limits = { rows = 100, sums = { cost = 50 } }"
    with noiseless(project(tmp_path / "p", rows, columns, unit="id", limits=limits)) as exactly:
        assert exactly.ask("SELECT SUM(cost) FROM t").value == -500
        assert exactly.ask("SELECT SUM(own) FROM (SELECT id, SUM(cost) AS own FROM t GROUP BY id) AS u").value == -500


def test_the_epsilon_of_a_batch_is_that_of_all_its_questions(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p", accounting="zcdp")) as concentrated:
        one = concentrated.ask("SELECT COUNT(x) FROM t")
        both = concentrated.ask_all(["SELECT COUNT(*) FROM t", "SELECT SUM(x) FROM t"])
        assert {answer.price.epsilon for answer in both} == {both[0].claim.epsilon}
        assert 1.3 * float(one.price.epsilon) < float(both[0].price.epsilon) < 2 * float(one.price.epsilon)


def test_a_series_over_keys_that_are_not_public_is_refused_for_nothing(session: Session) -> None:
    with pytest.raises(Refused):
        session.ask("SELECT note, COUNT(*) FROM t GROUP BY note", above=3)
    assert session.ledger.spent().amount == 0


def test_names_that_double_at_each_use_are_counted(session: Session) -> None:
    doubled = [f"c{b} AS (SELECT * FROM c{a} UNION ALL SELECT * FROM c{a})" for a, b in itertools.pairwise(range(8))]
    with pytest.raises(Refused, match="64"):
        session.explain(f"WITH c0 AS (SELECT w, x FROM t), {', '.join(doubled)} SELECT COUNT(*) FROM c7")


def test_what_a_unit_may_bring_is_said_in_the_numbers_that_hold(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p", unit="id", limits="limits = { rows = 4, groups = 2 }")) as limited:
        assert "what 4 rows can hold" in limited.ask("SELECT COUNT(*) FROM t").claim.limits
        assert "weigh at most 4 together" in limited.ask("SELECT w, COUNT(*) FROM t GROUP BY w").claim.limits
        found = limited.ask("SELECT note, COUNT(DISTINCT w) FROM t GROUP BY note", epsilon=20).claim
        assert "at most 2 different values over all groups" in found.limits
        assert "at most 2 groups that are not public" in found.limits
        assert "units with more than 2 different values over all groups count with fewer" in found.bias
        google = limited.ask(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=5) w, COUNT(DISTINCT id) FROM t GROUP BY w"
        ).claim
        assert "what a unit has beyond 1 group is lost" in google.bias


def test_nobody_foresees_which_rows_are_chosen(session: Session) -> None:
    assert len({session.hash_key() for _ in range(9)}) == 9
