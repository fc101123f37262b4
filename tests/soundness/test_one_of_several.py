"""limits = { rows = 1 } for units that have several rows: the law holds, and what a unit brings is of all its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from obverse.testing import noiseless, synthetic
from tests.soundness.conftest import World

QUESTIONS = (
    "SELECT COUNT(*), SUM(i), AVG(c), VAR_POP(d) FROM t",
    "SELECT s, COUNT(*), SUM(c), AVG(i) FROM t GROUP BY s",
    "SELECT MEDIAN(i), MAX(c), MODE(s), COUNT(DISTINCT w), COUNT(DISTINCT person) FROM t",
    "SELECT s, MEDIAN(c), MODE(o), COUNT(DISTINCT i), COUNT(DISTINCT person) FROM t GROUP BY s",
    "SELECT t, COUNT(*), SUM(c) FROM t GROUP BY t",
    "SELECT COUNT(*), SUM(a.c - b.d) FROM t a JOIN t b ON a.person = b.person",
    "SELECT s, AVG(n) FROM (SELECT person, s, COUNT(*) AS n FROM t GROUP BY person, s) AS own GROUP BY s",
)
TOML = """
[project]
name = "several"
[budget]
epsilon = 10
[tables.t]
source = "t.parquet"
unit = "person"
limits = { rows = 1 }
[tables.t.columns]
person = { type = "integer" }
x = { type = "integer", bounds = [0, 100] }
g = { type = "text", values = ["a", "b"] }
"""


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_unit_moves_a_question_further_than_one_row_can(neighbours: str) -> None:
    here = World("first", neighbours)
    try:
        reach, pairs = here.reach(QUESTIONS, here.families((2, 3), 8))
        assert pairs >= 16
        for text, found in zip(QUESTIONS, reach):
            assert all(claim.holds() for claim in found), f"{neighbours}: {text}"
            assert any(claim.ratio > 0.3 for claim in found), f"{neighbours}: {text} is not moved at all"
    finally:
        here.engine.close()


def test_a_unit_counts_with_all_its_rows_and_not_with_the_least_of_them(tmp_path: Path) -> None:
    columns = {
        "person": [i % 100 for i in range(600)],
        "x": [(i * 37) % 101 for i in range(600)],
        "g": [*"aabab", "b"] * 100,
    }
    with noiseless(synthetic({"t": columns}, TOML, tmp_path / "p")) as session:
        assert session.ask("SELECT COUNT(*), AVG(x), MEDIAN(x) FROM t").rows[0] == pytest.approx([100, 50, 50], abs=1.5)
        assert [row[1] for row in session.ask("SELECT g, COUNT(*) FROM t GROUP BY g")] == [50, 50]
