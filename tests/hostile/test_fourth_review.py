"""What a hostile review of found bounds and written rows found once, and must never be found again."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import obverse
from obverse.accounting import zcdp
from obverse.core.errors import Refused
from obverse.session.session import Session
from obverse.testing import noiseless
from tests.hostile.made import made

TOML = """
[project]
name = "fourth"
[privacy]
accounting = "{accounting}"
neighbours = "{neighbours}"
epsilon = 1
delta = 1e-6
[budget]
epsilon = 100
delta = 0.1
[tables.t]
source = "t.parquet"
unit = "{unit}"
{more}
[tables.t.columns]
age = {{ type = "integer", bounds = [0, 120] }}
x = {{ type = "double" }}
neg = {{ type = "double", bounds = [-9, -3] }}
rate = {{ type = "double", bounds = [0, 70] }}
tiny = {{ type = "double", bounds = [0, 1e-89] }}
note = {{ type = "text" }}
sex = {{ type = "text", values = ["F", "M"] }}
"""
ROWS = """
SELECT i % 600 AS id, i % 100 AS age, (i % 5)::DOUBLE AS x, -9.0 AS neg, 69.5 AS rate, 1e-90 AS tiny, 'n' || (i % 2) \
AS note,
'FM'[1 + i % 2] AS sex FROM range(1800) AS r(i)
"""
LIMITS = "limits = { rows = 5 }"
HEAD = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({}) "


def project(
    folder: Path, *, accounting: str = "pure", neighbours: str = "add-remove", unit: str = "id", more: str = LIMITS
) -> Path:
    return made(folder, TOML.format(accounting=accounting, neighbours=neighbours, unit=unit, more=more), {"t": ROWS})


@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "1e-3"])
@pytest.mark.parametrize("select", ["SUM(x) FROM t", "note, SUM(x), AVG(age) FROM t GROUP BY note"])
def test_searches_pay_at_the_delta_that_the_question_says(delta: str, select: str, tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p", accounting="zcdp")) as session:
        answer = session.ask(HEAD.format(f"epsilon=1, delta={delta}") + select)
        spent = session.ledger.spent()
        found = zcdp.epsilon_of(spent.amount, Fraction(delta) - spent.delta)
        assert Fraction(999, 1000) <= found <= Fraction(answer.claim.epsilon) == 1


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_a_series_is_answered_under_both_accountings(accounting: str, tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "p", accounting=accounting)) as session:
        assert len(session.ask("SELECT sex, COUNT(*) FROM t GROUP BY sex", above=3, first=2, epsilon=5)) == 2


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    "asked",
    [
        "note, SUM(x)",
        "note, COUNT(DISTINCT id), SUM(age)",
        "note, AVG(age), COUNT(*)",
        "sex, SUM(neg), AVG(neg), AVG(x)",
    ],
)
def test_the_loss_does_not_depend_on_what_is_found(
    accounting: str, neighbours: str, asked: str, tmp_path: Path
) -> None:
    with obverse.open(project(tmp_path / "p", accounting=accounting, neighbours=neighbours)) as session:
        key = asked.split(",")[0]
        for options in ("epsilon=10", "epsilon=10, max_groups_contributed=2"):
            assert len(session.ask(HEAD.format(options) + f"{asked} FROM t GROUP BY {key}")) == 2


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("epsilon", ["0.05", "0.2", "1"])
@pytest.mark.parametrize(("aggregate", "exact"), [("AVG(age)", 49.5), ("SUM(age)", 89_100), ("COUNT(*)", 1_800)])
def test_noise_that_hides_all_units_does_not_make_bounds(
    aggregate: str, exact: float, epsilon: str, tmp_path: Path
) -> None:
    """The interval holds what clipping of a quarter of the units, at most, leaves. A search believes noise with a
    chance of
    one in a hundred, as it says, so noise comes from a seed here."""
    with obverse.open(project(tmp_path / "p")) as session:
        answer = session.ask(HEAD.format(f"epsilon={epsilon}") + f"{aggregate} FROM t", confidence=0.999)
        low, high = answer.intervals[0][0]  # type: ignore[misc]
        assert low <= 1.1 * exact  # type: ignore[operator]
        assert high >= 0.5 * exact  # type: ignore[operator]


def test_values_near_the_end_of_their_bounds_are_not_cut(tmp_path: Path) -> None:
    with noiseless(project(tmp_path / "p", unit="row", more="")) as exactly:
        found = exactly.ask(HEAD.format("epsilon=5") + "SUM(neg), AVG(neg), SUM(rate), AVG(rate) FROM t").rows[0]
        assert found == pytest.approx([-16_200, -9, 125_100, 69.5])


@pytest.mark.parametrize("told", ["COUNT(*)", "SUM(age)", "AVG(age)", "MEDIAN(age)", "sex, COUNT(*)"])
def test_a_list_of_nothing_but_null_leaves_the_rows_of_an_outer_join(told: str, tmp_path: Path) -> None:
    rows = "t LEFT JOIN (VALUES (CAST(NULL AS INTEGER), 5)) AS v(a, b) ON t.age = v.a"
    grouped = " GROUP BY sex" if told.startswith("sex") else ""
    with noiseless(project(tmp_path / "p"), limits=None) as exactly:
        found = exactly.ask(f"SELECT {told} FROM {rows}{grouped}").rows
        assert found == exactly.ask(f"SELECT {told} FROM t{grouped}").rows


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return obverse.open(project(tmp_path / "p"))


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT sex, GROUPING({', '.join(['sex'] * 64)}), COUNT(*) FROM t GROUP BY ROLLUP (sex)",
        f"SELECT sex, GROUPING({', '.join(['sex'] * 1500)}), COUNT(*) FROM t GROUP BY ROLLUP (sex)",
        "SELECT *",
        "SELECT * FROM (SELECT *) AS q",
        "SELECT x FROM UNNEST([]) AS u(x)",
        "SELECT SUM(age * (1e2+1)) FROM t",
    ],
    ids=lambda sql: sql[:50],
)
def test_what_has_no_answer_is_refused_before_anything_is_spent(sql: str, session: Session) -> None:
    with pytest.raises(Refused) as refused:
        session.ask(sql)
    assert refused.value.code != "engine_failure"
    assert "10,000 rows combinations" not in refused.value.message
    assert session.ledger.spent().amount == 0


def test_the_smallest_numbers_have_bounds_too(session: Session) -> None:
    assert session.ask(HEAD.format("epsilon=1") + "SUM(tiny) FROM t").value == pytest.approx(1.8e-87, rel=3)


def test_not_any_of_a_subquery_is_not_in(tmp_path: Path) -> None:
    with noiseless(project(tmp_path / "p"), limits=None) as exactly:
        for listed, count in (("(1), (2)", 1764), ("(1), (NULL)", 0)):
            asked = f"SELECT COUNT(*) FROM t WHERE age <> ALL(SELECT v FROM (VALUES {listed}) AS l(v))"
            assert exactly.ask(asked).value == count
