"""Settings compared: each figure is the one that the question would really have."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import obverse
from obverse.accounting import budget as budgets
from obverse.accounting.zcdp import epsilon_of
from obverse.core.errors import Refused
from obverse.curator.explore import Explored, Sought, Sweep, explore, sought_of
from obverse.engines.duckdb import DuckDBEngine
from obverse.testing import synthetic

TOML = """\
[project]
name = "small"
[privacy]
accounting = "pure"
epsilon = 0.1
delta = 1e-8
[budget]
epsilon = 4.0
delta = 1e-6
[tables.people]
source = "people.parquet"
unit = "id"
[tables.people.columns]
age = { type = "integer", bounds = [0, 120] }
sex = { type = "text", values = ["F", "M"] }
town = { type = "text" }
[tables.visits]
source = "visits.parquet"
unit = "id -> people.id"
limits = { rows = 20, groups = 5 }
[tables.visits.columns]
cost = { type = "integer", bounds = [0, 1000] }
ward = { type = "text", values = ["a", "b", "c"] }
"""
ROWS = {
    "people": {"id": [1, 2], "age": [30, 40], "sex": ["F", "M"], "town": ["x", "y"]},
    "visits": {"id": [1, 2], "cost": [10, 20], "ward": ["a", "b"]},
}
BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
BY_TOWN = "SELECT town, COUNT(*) AS n FROM people GROUP BY town"
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return synthetic(ROWS, TOML, tmp_path / "small")


def swept(found: Explored, over: str) -> Sweep:
    return next(one for one in found.sweeps if one.over == over)


def test_each_width_is_the_one_that_explain_quotes(project: Path) -> None:
    questions = [BY_SEX, BY_TOWN, BY_WARD, "SELECT SUM(cost) FROM visits", "SELECT AVG(age) FROM people"]
    found = explore(project, questions)
    with obverse.open(project) as session:
        for sql, one in zip(questions, found):
            for line in swept(one, "epsilon").lines:
                quoted = session.explain(sql, epsilon=line.at)
                known = [m["half_width"] for m in quoted.measures if m["half_width"] is not None]
                assert list(line.widths[: len(known)]) == known
                assert quoted.remaining is not None
                assert line.widths[-1] == quoted.remaining.like_this


def test_a_cap_in_the_table_is_the_cap_declared_in_the_toml(project: Path, tmp_path: Path) -> None:
    (found,) = explore(project, [BY_WARD], Sought(caps=(3,)))
    other = synthetic(ROWS, TOML.replace("rows = 20", "rows = 3"), tmp_path / "other")
    with obverse.open(other) as session:
        line = next(one for one in swept(found, "visits.rows").lines if one.at == 3)
        assert line.widths == (session.explain(BY_WARD).measures[0]["half_width"],)


def test_so_many_questions_fit_into_the_budget_and_not_many_more(project: Path) -> None:
    """The noise of each of k questions is that of a price at which k fit; a price a hundredth higher does not fit k
    times.
    """
    (found,) = explore(project, [BY_SEX])
    with obverse.open(project) as session:
        for line in swept(found, "questions").lines:
            k = int(line.at)
            pure = Fraction(4) / line.at
            assert line.widths[0] == session.explain(BY_SEX, epsilon=pure).measures[0]["half_width"]
            assert session.explain(BY_SEX, epsilon=pure).remaining.like_this == k  # type: ignore[union-attr]
    concentrated = project.parent / "concentrated"
    synthetic(ROWS, TOML.replace('"pure"', '"zcdp"'), concentrated)
    with obverse.open(concentrated) as session:
        cap = budgets.cap_of(session.catalog.budget, "zcdp")
        for line in swept(found, "questions").lines:
            k = int(line.at)
            alone = epsilon_of(cap.amount / int(line.at), Fraction(1, 10**8))
            less, more = (session.explain(BY_SEX, epsilon=alone * Fraction(n, 1000)) for n in (999, 1010))
            assert less.remaining.like_this >= k > more.remaining.like_this  # type: ignore[union-attr,operator]
            assert more.measures[0]["half_width"] <= line.widths[1] <= less.measures[0]["half_width"]  # type: ignore[operator]


def test_what_the_budget_means_is_what_every_claim_says(project: Path) -> None:
    (found,) = explore(project, [BY_SEX])
    with obverse.open(project) as session:
        assert session.ask(BY_SEX).claim.belief == found.belief


def test_noise_falls_with_epsilon_and_grows_with_caps_and_questions(project: Path) -> None:
    (found,) = explore(project, [BY_WARD])
    for over, sign in (("epsilon", -1), ("visits.rows", 1), ("questions", 1)):
        firsts = [line.widths[0] for line in swept(found, over).lines]
        assert all(sign * (b - a) >= 0 for a, b in itertools.pairwise(firsts)), over  # type: ignore[operator]
        assert firsts[0] != firsts[-1]


def test_how_many_people_are_assumed_is_said(project: Path) -> None:
    for people, said in ((50_000, False), (None, True)):
        (found,) = explore(project, [BY_SEX], Sought(people=people))
        assert ("are assumed" in swept(found, "trust").note) is said


def test_without_trust_the_error_is_larger_and_takes_more_people(project: Path) -> None:
    for sql in (BY_SEX, "SELECT SUM(age) FROM people"):
        (found,) = explore(project, [sql], Sought(people=50_000))
        for line in swept(found, "trust").lines:
            central, local, people = line.widths
            assert central is not None
            assert local is not None
            assert people == pytest.approx(50_000 * (local / central) ** 2, rel=1e-6)
            assert local > 10 * central


def test_yes_or_no_without_trust_errs_as_randomized_response_does(project: Path) -> None:
    """Two options at epsilon ln 3: the two coins, whose share errs by the root of 3/4 over n for a rare answer."""
    (found,) = explore(
        project, ["SELECT COUNT(*) FROM people WHERE age > 60"], Sought((Fraction("1.0986123"),), people=10_000)
    )
    line = next(one for one in swept(found, "trust").lines if not one.declared)
    assert line.widths[1] == pytest.approx(1.96 * (0.75 / 10_000) ** 0.5 * 10_000, rel=1e-3)


def test_what_has_no_local_twin_and_no_use_of_delta_is_left_out(project: Path) -> None:
    (wards,) = explore(project, [BY_WARD])
    (towns,) = explore(project, [BY_TOWN])
    assert {one.over for one in wards.sweeps} == {"epsilon", "visits.rows", "questions"}
    assert {one.over for one in towns.sweeps} == {"epsilon", "delta", "questions"}
    told = [line.widths[1] for line in swept(towns, "delta").lines]
    assert told == sorted(told, reverse=True)  # type: ignore[type-var]


def test_exploring_reads_no_private_row_and_makes_no_ledger(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(*args: object, **options: object) -> None:
        pytest.fail("a private row was read")

    monkeypatch.setattr(DuckDBEngine, "run", touched)
    before = sorted(path.name for path in project.rglob("*"))
    assert len(explore(project)) == 4
    assert sorted(path.name for path in project.rglob("*")) == before


def test_usual_questions_come_from_the_declarations(project: Path, tmp_path: Path) -> None:
    assert [one.sql for one in explore(project)] == [
        BY_SEX, "SELECT SUM(age) AS total FROM people", BY_WARD, "SELECT SUM(cost) AS total FROM visits",
    ]  # fmt: skip
    odd = TOML.replace("sex", "order").replace("age", '"Old age"')
    people = {**ROWS["people"], "order": ROWS["people"]["sex"], "Old age": ROWS["people"]["age"]}
    rows = ROWS | {"people": {name: people[name] for name in ("id", "Old age", "order", "town")}}
    found = explore(synthetic(rows, odd, tmp_path / "odd"))
    assert found[0].sql == 'SELECT "order", COUNT(*) AS n FROM people GROUP BY "order"'
    assert found[1].sql == 'SELECT SUM("Old age") AS total FROM people'


def test_caps_that_are_to_be_learned_are_compared_beforehand(project: Path, tmp_path: Path) -> None:
    auto = synthetic(ROWS, TOML.replace("{ rows = 20, groups = 5 }", '"auto"'), tmp_path / "auto")
    (found,) = explore(auto, [BY_WARD])
    (declared,) = explore(project, [BY_WARD])
    lines = swept(found, "visits.rows").lines
    known = swept(declared, "visits.rows").lines
    assert {line.at: line.widths for line in lines}.items() <= {line.at: line.widths for line in known}.items()
    assert not any(line.declared for line in lines)
    assert "visits 10" in swept(found, "epsilon").note


def test_what_has_no_noise_is_refused(tmp_path: Path) -> None:
    toml = TOML + '[tables.wards]\nsource = "wards.csv"\npublic = true\n'
    folder = synthetic(ROWS | {"wards": {"ward": ["a", "b"]}}, toml, tmp_path / "public")
    with pytest.raises(Refused) as refused:
        explore(folder, ["SELECT COUNT(*) FROM wards"])
    assert refused.value.code == "nothing_to_explore"


@pytest.mark.parametrize(("epsilons", "caps", "deltas"), [("0", "", ""), ("", "0.5", ""), ("", "x", ""), ("", "", "1")])
def test_settings_that_cannot_be_are_refused(epsilons: str, caps: str, deltas: str) -> None:
    with pytest.raises(Refused) as refused:
        sought_of(epsilons, caps, deltas, None, 0.95)
    assert refused.value.code == "bad_parameter"


def test_settings_are_read_as_they_are_written() -> None:
    found = sought_of("0.1,0.5", "3,7", "1e-9", 12, 0.9)
    wanted = Sought((Fraction(1, 10), Fraction(1, 2)), (3, 7), (Fraction(1, 10**9),), people=12, confidence=0.9)
    assert found == wanted
    assert sought_of("", "", "", None, 0.95) == replace(
        wanted, epsilons=Sought().epsilons, caps=Sought().caps, deltas=Sought().deltas, people=None, confidence=0.95
    )
