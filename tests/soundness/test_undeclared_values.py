"""The master law where undeclared values are a category: (other), NULL, or both, in short lists and in long ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pytest

from tests.soundness.conftest import World
from tests.soundness.test_master_law import BOTH, EXACT, HALF, UNITS, assert_law, assert_tight, texts
from tests.stands import STANDS

LONG = '["a", "b", "c", "d", "e", "f", "g", "h", "i"]'
COLUMNS = f"""
i = {{ type = "integer", bounds = [-5, 20] }}
c = {{ type = "double", bounds = [0, 100], grid = 0.25 }}
r = {{ type = "text", values = ["a", "b"], other = true, nullable = true }}
e = {{ type = "text", values = ["a", "b"], other = true, nullable = false }}
v = {{ type = "text", values = {LONG}, other = true, nullable = true }}
x = {{ type = "text", values = {LONG}, other = true, nullable = false }}
n = {{ type = "integer", values = [1, 2, 7], nullable = true }}
"""
PHYSICAL = {"i": "BIGINT", "c": "DOUBLE", "r": "VARCHAR", "e": "VARCHAR", "v": "VARCHAR", "x": "VARCHAR", "n": "BIGINT"}
QUESTIONS = (
    ("SELECT v, COUNT(*), SUM(c) FROM t GROUP BY v", EXACT),
    ("SELECT x, COUNT(x), SUM(i) FROM t GROUP BY x", EXACT),
    ("SELECT r, e, COUNT(*), SUM(i) FROM t GROUP BY r, e", EXACT),
    ("SELECT x, v, COUNT(*) FROM t GROUP BY x, v", EXACT),
    ("SELECT n, COUNT(*), SUM(n) FROM t GROUP BY n", HALF),
    ("SELECT v, AVG(c) FROM t WHERE v <> 'a' AND r IS NOT NULL GROUP BY v", HALF),
    ("SELECT UPPER(r), COUNT(DISTINCT v) FROM t GROUP BY 1", HALF),
    ("SELECT v, n, COUNT(*) FROM t GROUP BY GROUPING SETS ((v), (n))", EXACT),
    ("SELECT COUNT(*) FILTER (WHERE r = '(other)'), COUNT(*) FILTER (WHERE e <> 'a' OR v IS NULL) FROM t", EXACT),
)


@dataclass
class Residuals(World):
    physical: ClassVar[dict[str, str]] = PHYSICAL
    columns: ClassVar[str] = COLUMNS


@pytest.fixture(
    params=[(unit, neighbours, kind) for unit in UNITS for neighbours in BOTH for kind in STANDS], ids="-".join
)
def here(request: pytest.FixtureRequest) -> Iterator[World]:
    unit, neighbours, kind = request.param
    made = Residuals(unit, neighbours, text=unit == "many", kind=kind)
    yield made
    made.stand.close()


def test_a_unit_moves_no_cell_of_other_or_missing_values_further_than_claimed(here: World) -> None:
    questions = QUESTIONS[::3] if here.kind == "spark" else QUESTIONS
    reach, _ = here.reach(texts(questions), here.families((1, 2), units=12))
    assert_law(here.label, questions, reach)
    tight = [place for place, (_, kind) in enumerate(questions) if kind == EXACT]
    assert_tight(here.label, [questions[n] for n in tight], [reach[n] for n in tight], exact=False)
