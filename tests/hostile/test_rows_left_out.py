"""No row that a subquery leaves out makes what stands above it fail, however an optimizer moves conditions about."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import obverse

TOML = """
[project]
name = "left-out"
[budget]
epsilon = 10
[tables.people]
source = "people.csv"
unit = "id"
[tables.people.columns]
id = { type = "integer" }
kind = { type = "integer", bounds = [0, 4] }
big = { type = "integer", bounds = [-9223372036854775808, 9223372036854775807] }
fill = { type = "text", values = ["", "ab"] }
[tables.visits]
source = "visits.csv"
unit = "id -> people.id"
limits = { rows = 1 }
[tables.visits.columns]
id = { type = "integer" }
[tables.kinds]
source = "kinds.csv"
public = true
"""
LEFT = "people FULL JOIN visits ON people.id = visits.id", "visits LEFT JOIN people ON people.id = visits.id"
ASKED = (("big BETWEEN 1 AND 8", "a.big * 3000000000 % 7 = 1"), ("fill = 'ab'", "LPAD('x', 3, a.fill) = 'abx'"))


@pytest.mark.parametrize(("condition", "asked"), ASKED)
@pytest.mark.parametrize("joined", LEFT)
def test_a_condition_above_a_join_sees_no_row_that_the_subquery_left_out(
    joined: str, condition: str, asked: str, tmp_path: Path
) -> None:
    rows = [f"{i},{i % 5},{i % 8 + 1},ab" for i in range(50)]
    rows[7] = "7,2,9223372036854775807,"
    (tmp_path / "people.csv").write_text("\n".join(["id,kind,big,fill", *rows, ""]))
    (tmp_path / "visits.csv").write_text("\n".join(["id", *map(str, range(50)), ""]))
    (tmp_path / "kinds.csv").write_text("kind,name\n0,a\n1,b\n2,c\n3,d\n4,e\n")
    (tmp_path / "obverse.toml").write_text(TOML)
    kept = f"SELECT people.id AS id, kind, big, fill FROM {joined} WHERE {condition}"
    with obverse.open(tmp_path) as session:
        session.ask(
            f"SELECT COUNT(*) FROM ({kept}) AS a JOIN kinds ON a.kind = kinds.kind WHERE {asked}", epsilon=Fraction(1)
        )
