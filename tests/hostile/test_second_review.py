"""What a hostile review of aggregates, keys and limits found once, and must never be found again."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import obverse
from obverse.core.errors import CatalogError, Refused
from obverse.curator.limits import learn
from obverse.plan.intervals import laplace_half_width
from obverse.session import learned_limits as learning
from obverse.session.session import Session
from obverse.testing import noiseless
from tests.hostile.made import made

HEAD = """
[project]
name = "second"
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
PEOPLE = """
SELECT i AS id, i % 100 AS age, 'n' || (i % 2) AS note, (i % 3)::INTEGER AS n, 'FMX'[1 + i % 3] AS sex,
DATE '1950-01-01' + (i % 3)::INTEGER AS born FROM range(600) AS r(i)
"""
COLUMNS = """
age = { type = "integer", bounds = [0, 120] }
note = { type = "text" }
n = { type = "integer" }
sex = { type = "text", values = ["F", "M", "X"] }
born = { type = "date" }
"""


def project(
    folder: Path, rows: str, columns: str, *, unit: str = "id", limits: str = "", accounting: str = "pure"
) -> Path:
    return made(folder, HEAD.format(accounting=accounting, unit=unit, limits=limits) + columns, {"t": rows})


@pytest.fixture
def people(tmp_path: Path) -> Session:
    return obverse.open(project(tmp_path / "p", PEOPLE, COLUMNS))


def test_the_claim_of_a_batch_holds_the_delta_that_hides_keys(tmp_path: Path) -> None:
    session = obverse.open(project(tmp_path / "p", PEOPLE, COLUMNS, accounting="zcdp"))
    before = session.ledger.spent()
    answers = session.ask_all([f"SELECT {key}, COUNT(*) FROM t GROUP BY {key}" for key in ("note", "n", "born")])
    hidden = session.ledger.spent().delta - before.delta
    assert hidden == Fraction(3, 2 * 10**6)  # half of each question's delta
    assert {Fraction(a.claim.delta) for a in answers} == {hidden + Fraction(1, 10**6)}
    assert {a.price.delta for a in answers} == {answers[0].claim.delta}


def test_a_batch_with_keys_to_discover_is_answered_under_pure_accounting(people: Session) -> None:
    answers = people.ask_all(["SELECT note, COUNT(*) FROM t GROUP BY note", "SELECT COUNT(*) FROM t"])
    assert [len(a) for a in answers] == [2, 1]
    assert (answers[0].claim.epsilon, answers[0].claim.delta) == ("2", "0.000001")


@pytest.mark.parametrize(("bound", "cap"), [(10**7, 5000), (10**12, 5000), (10**7, 5 * 10**6), (10**7, 3 * 10**7)])
def test_a_cap_on_sums_keeps_the_grid_fine(tmp_path: Path, bound: int, cap: int) -> None:
    limits = f"limits = {{ rows = 1000, sums = {{ cost = {cap} }} }}"
    columns = (
        f"cost = {{ type = 'double', bounds = [0, {bound}], grid = 0.01 }}\ng = {{ type = 'integer', bounds = [0, 1] }}"
    )
    rows = "SELECT i % 100 AS id, 2.0 AS cost, 0 AS g FROM range(100000) AS r(i)"
    with noiseless(project(tmp_path / "p", rows, columns, limits=limits)) as session:
        assert session.ask("SELECT SUM(cost) FROM t").value == pytest.approx(200_000)
        assert session.ask("SELECT g, SUM(cost) FROM t GROUP BY g").rows[0][1] == pytest.approx(200_000, rel=1e-3)
        own = "SELECT SUM(own) FROM (SELECT id, SUM(cost) AS own FROM t GROUP BY id) AS u"
        assert session.ask(own).value == pytest.approx(200_000)


def test_a_clamp_at_a_limit_off_the_grid_is_that_limit(people: Session, tmp_path: Path) -> None:
    with noiseless(tmp_path / "p") as session:
        exact = (
            duckdb.connect()
            .execute(
                "SELECT SUM(LEAST(age, 17.5)), AVG(LEAST(age, 17.5)), VAR_POP(GREATEST(LEAST(n, 0.7), 0.3)) FROM "
                f"({PEOPLE})"
            )
            .fetchone()
        )
        assert exact is not None
        found = session.ask(
            "SELECT SUM(CLAMP(age, 0, 17.5)), AVG(CLAMP(age, 0, 17.5)), VAR_POP(CLAMP(n, 0.3, 0.7)) FROM t"
        )
        assert found.rows[0] == pytest.approx([float(x) for x in exact], rel=1e-6)
        count = "COUNT(*, contribution_bounds_per_group => (0.3, 0.7))"
        with pytest.raises(Refused, match="whole numbers"):
            session.ask(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) {count} FROM t")


@pytest.mark.parametrize("key", ["born", "date_trunc('month', born)", "born + 1"])
def test_a_discovered_date_is_a_date(people: Session, key: str) -> None:
    answer = people.ask(f"SELECT {key} AS k, COUNT(*) FROM t GROUP BY k", epsilon=20)
    assert len(answer) >= 1
    assert {type(row[0]) for row in answer} == {dt.date}
    assert people.ask(f"SELECT {key} AS k, COUNT(*) FROM t GROUP BY k", epsilon=20).rows == answer.rows  # from store


def test_what_groups_cost_is_said(tmp_path: Path) -> None:
    rows = "SELECT i // 5 AS id, i % 5 AS g FROM range(5000) AS r(i)"
    columns = "g = { type = 'integer', bounds = [0, 4] }"
    session = obverse.open(project(tmp_path / "p", rows, columns, limits="limits = { rows = 5, groups = 3 }"))
    units = session.ask("SELECT g, COUNT(DISTINCT id) FROM t GROUP BY g").claim
    assert "each unit brings at most 3 groups" in units.limits
    assert "units with more than 3 groups count with fewer" in units.bias
    assert "5 rows" not in units.bias
    google = session.ask("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=5) g, COUNT(*) FROM t GROUP BY g").claim
    assert "of each unit no more than 1 group is kept" in google.limits
    assert "merged" not in google.limits
    assert "units may be left out" in google.bias


def test_counts_and_sums_of_an_average_are_weighted_alike(tmp_path: Path) -> None:
    rows = "SELECT i % 3 AS id, 7.5 AS x, 0 AS g FROM range(60000) AS r(i)"
    columns = "x = { type = 'double', bounds = [0, 10] }\ng = { type = 'integer', bounds = [0, 1] }"
    with noiseless(project(tmp_path / "p", rows, columns, limits="limits = { rows = 2 }")) as session:
        assert session.ask("SELECT g, AVG(x), VAR_POP(x) FROM t GROUP BY g").rows[0][1:] == pytest.approx(
            [7.5, 0], abs=1e-4
        )


def test_distinct_and_caps_make_another_question(people: Session) -> None:
    several = people.ask("SELECT COUNT(*) * 0 FROM t GROUP BY sex")
    one = people.ask("SELECT DISTINCT COUNT(*) * 0 FROM t GROUP BY sex")
    assert (len(several), len(one), one.price.stored) == (3, 1, False)


@pytest.mark.parametrize("confidence", [1 - 1e-15, 1 - 2**-53, 1e-300, 1e-17, 0.0, 1.0])
def test_a_confidence_that_no_interval_can_have_costs_nothing(people: Session, confidence: float) -> None:
    before = people.ledger.spent()
    with pytest.raises(Refused, match="confidence"):
        people.ask("SELECT VAR_POP(age), AVG(age) + AVG(age) FROM t", confidence=confidence)
    assert people.ledger.spent() == before


@pytest.mark.parametrize("confidence", [0.01, 1 - 1e-9])
def test_confidences_at_both_ends_are_answered(people: Session, confidence: float) -> None:
    asked = "SELECT sex, VAR_POP(age), CORR(age, age + 1), AVG(age) + AVG(age), MEDIAN(age) FROM t GROUP BY sex"
    assert len(people.ask(asked, confidence=confidence)) == 3


def test_choices_among_many_values_in_many_discovered_groups_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "SELECT i AS id, 'c' || (i % 20) AS city, i % 50 AS x FROM range(20000) AS r(i)"
    columns = "city = { type = 'text' }\nx = { type = 'integer', bounds = [0, 99] }"
    monkeypatch.setattr("obverse.plan.release.noise.SCORES_MAX", 250)  # two cells at a time
    session = obverse.open(project(tmp_path / "p", rows, columns))
    assert len(session.ask("SELECT city, MODE(x) FROM t GROUP BY city", epsilon=20)) == 20


def test_extremes_of_the_widest_integers_do_not_overflow(tmp_path: Path) -> None:
    rows = "SELECT i AS id, 9223372036854775807 AS x FROM range(1000) AS r(i)"
    columns = "x = { type = 'integer', bounds = [-9223372036854775808, 9223372036854775807] }"
    session = obverse.open(project(tmp_path / "p", rows, columns))
    answer = session.ask("SELECT MAX(x), MAX(x) + MAX(x) FROM t", epsilon=20)
    assert answer.rows[0] == pytest.approx([2.0**63, 2.0**64], rel=0.01)
    low, high = answer.intervals[0][0]  # type: ignore[misc]
    assert low <= answer.rows[0][0] <= high


@pytest.mark.parametrize("scale", [0.0, 1e-160, 1.0, 1e78, 1e300])
@pytest.mark.parametrize("several", [2, 4, 6])
def test_half_widths_scale_with_their_noises(scale: float, several: int) -> None:
    import numpy as np

    plain = laplace_half_width([np.array([1.0 + 0.1 * i]) for i in range(several)], 0.95)
    found = laplace_half_width([np.array([scale * (1.0 + 0.1 * i)]) for i in range(several)], 0.95)
    assert found == pytest.approx(plain * scale, rel=1e-9)


@pytest.mark.parametrize(
    "asked",
    [
        {"sql": "SELECT COUNT(*) FROM t HAVING MODE(sex) = 'F'", "within": 5},
        {"sql": "SELECT sex, COUNT(*) FROM t GROUP BY sex", "above": 1e30},
        {"sql": "SELECT note, COUNT(*) FROM t GROUP BY note", "delta": 1e-305},
        {"sql": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, min_privacy_units_per_group=9) COUNT(*) FROM t"},
        {"sql": "SELECT note, age, sex, n % 40, COUNT(*) FROM t GROUP BY 1, 2, 3, 4"},
    ],
)
def test_what_cannot_be_answered_is_refused_and_free(people: Session, asked: dict[str, Any]) -> None:
    before = people.ledger.spent()
    with pytest.raises(Refused):
        people.ask(**asked)
    assert people.ledger.spent() == before


@pytest.mark.parametrize(
    "change",
    [
        {"caps": [-5.0, 1.0]},
        {"caps": [0, 1]},
        {"caps": [1, float("nan")]},
        {"caps": [1, float("inf")]},
        {"caps": ["a", "b"]},
        {"caps": []},
        {"caps": 7},
        {"units": [1]},
        {"units": None},
        {"deviation": "x"},
        {"deviation": -1},
    ],
    ids=repr,
)
def test_a_damaged_file_of_learned_limits_is_said_to_be_damaged(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = project(tmp_path / "p", PEOPLE, COLUMNS, limits='limits = "auto"')
    learn(folder, "t", Fraction(1))
    with obverse.open(folder) as session:
        path = learning.path_of(session.catalog, "t")
    fields = json.loads(path.read_text())
    fields["rows"] |= change
    path.write_text(json.dumps(fields))
    with pytest.raises(CatalogError, match="learned"):
        obverse.open(folder)


def test_public_rows_may_hold_what_literals_and_json_cannot(tmp_path: Path) -> None:
    odd = "SELECT 9223372036854775807 AS x, 'a' || chr(0) AS s, '-inf'::DOUBLE AS f FROM range(3)"
    public = "[tables.odd]\nsource = 'odd.parquet'\npublic = true\n"
    toml = HEAD.format(accounting="pure", unit="id", limits="") + COLUMNS + public
    with obverse.open(made(tmp_path / "p", toml, {"t": PEOPLE, "odd": odd})) as session:
        assert session.ask("SELECT s FROM odd").rows == (("a\0",),) * 3
        answer = session.ask("SELECT SUM(x), MIN(f) FROM odd")
        assert answer.rows[0][0] == 3 * (2**63 - 1)
        assert json.loads(answer.to_bytes())["rows"] == [[3 * 2.0**63, None]]
