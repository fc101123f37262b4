"""Made-up neighbours differ in one unit and in nothing else, in every table that it reaches."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from obverse.core.errors import Refused
from obverse.review.neighbours import WITH, WITHOUT, _databases, of_question
from obverse.session.rehearsal import rehearsal
from obverse.testing.noiseless import SeededRng

TOML = """\
[project]
name = "two-tables"
[budget]
epsilon = 10
[tables.people]
source = "people.parquet"
unit = "id"
[tables.people.columns]
id = { type = "integer" }
age = { type = "integer", bounds = [0, 100] }
[tables.visits]
source = "visits.parquet"
unit = "id -> people.id"
limits = { rows = 3 }
[tables.visits.columns]
id = { type = "integer" }
cost = { type = "double", bounds = [-5, 10], grid = 0.5 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "obverse.toml").write_text(TOML)
    return tmp_path


def test_one_unit_goes_with_all_its_rows_and_nobody_else(folder: Path) -> None:
    with rehearsal(folder, rows=5) as session:
        found = _databases(session.catalog)
    people, visits = (found[WITH[2]][name]["id"] for name in ("people", "visits"))
    (gone,) = set(people.tolist()) - set(found[WITHOUT]["people"]["id"].tolist())
    assert len(found[WITHOUT]["people"]["id"]) == len(people) - 1
    assert gone in visits
    assert np.array_equal(found[WITHOUT]["visits"]["id"], visits[visits != gone])


def test_a_unit_stands_at_the_ends_of_its_bounds_and_the_others_stay(folder: Path) -> None:
    with rehearsal(folder, rows=5) as session:
        found = _databases(session.catalog)
    high, low, made = (found[name] for name in WITH)
    for table, column, ends in (("people", "age", (0, 100)), ("visits", "cost", (-5, 10))):
        moved = np.ma.filled(low[table][column] != high[table][column], False)
        assert set(low[table][column][moved].tolist()) == {ends[0]}
        assert set(high[table][column][moved].tolist()) == {ends[1]}
        assert len(set(made[table]["id"][moved].tolist())) == 1
        assert np.array_equal(np.ma.getdata(made[table][column])[~moved], np.ma.getdata(high[table][column])[~moved])


def test_a_question_about_rows_that_reach_the_unit_is_replayed(folder: Path) -> None:
    target = of_question(folder, "SELECT SUM(cost) AS s FROM visits", 1, None, SeededRng(1))
    drawn = target.draw(WITHOUT, 50)
    assert drawn.shape == (50, 1)
    assert len(set(drawn[:, 0].tolist())) > 5
    assert target.epsilon == 1.0
    assert json.dumps(target.pairs)


def test_a_question_whose_bounds_are_found_first_is_no_target(folder: Path) -> None:
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = 1e-6) SUM(age) FROM people"
    with pytest.raises(Refused) as refused:
        of_question(folder, sql, None, None)
    assert refused.value.code == "no_target"
