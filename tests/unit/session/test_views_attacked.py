"""Views and generated columns that look row-wise and are not: what each tried to hide, and that it is refused; and what looks
otherwise than it is, and passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import obverse
from tests.unit.session.test_views_as_sources import PLACES, DuckDBPlace, Place, refused

TOTAL = "(SELECT CAST(SUM(x) AS INTEGER) FROM t)"


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return PLACES[request.param](tmp_path)


MACROS = {
    "nvl(a, b)": "nvl(x, 1)",
    "iif(a, b, c)": "iif(x > 1, 1, 2)",
    '"if"(a, b, c)': '"if"(x > 1, 1, 2)',
    "date_to_date_str(a)": "date_to_date_str(x)",
    "time_to_time_str(a)": "time_to_time_str(x)",
    '"~~"(a, b)': "CASE WHEN s LIKE 'w' THEN 1 END",
    "date_part(a, b)": "extract(year FROM DATE '2020-01-01' + CAST(x AS INTEGER))",
    '"+"(a, b)': "x + 1",
    "string_split(a, b)": "split_part(s, 'w', 2)",  # which is a macro of DuckDB's own, and calls it
}


@pytest.mark.parametrize("macro", MACROS)
def test_a_macro_is_not_taken_for_what_another_dialect_has_by_its_name(tmp_path: Path, macro: str) -> None:
    place = DuckDBPlace(tmp_path)
    body = f"[{TOTAL}]" if macro.startswith("string_split") else TOTAL
    place.run(f"CREATE MACRO {macro} AS {body}", f"CREATE VIEW v AS SELECT id, {MACROS[macro]} AS y FROM t")
    assert refused(place.project("v")).code == "not_rowwise"


def test_a_view_whose_name_reads_like_a_definition_hides_nothing(tmp_path: Path) -> None:
    place = DuckDBPlace(tmp_path)
    place.run(f"CREATE MACRO abs(a) AS {TOTAL}")
    name = '"v AS SELECT id, x AS y FROM t --"'
    place.run(f"CREATE VIEW {name} AS SELECT id, abs(x) AS y FROM t", f"CREATE VIEW v AS SELECT id, y FROM {name}")
    assert refused(place.project("v")).code == "not_rowwise"


def test_macros_that_a_definition_does_not_use_are_let_be(tmp_path: Path) -> None:
    place = DuckDBPlace(tmp_path)
    place.run(f"CREATE MACRO total(a) AS {TOTAL}", "CREATE VIEW v AS SELECT id, CASE WHEN s LIKE 'w%' THEN abs(x + 1) END AS y FROM t")
    place.run("CREATE TABLE g (id INTEGER, x INTEGER, y INTEGER GENERATED ALWAYS AS (x + 1))")
    for source in ("v", "g"):
        with obverse.open(place.project(source)) as session:
            session.ask("SELECT COUNT(*) FROM v", epsilon=1)
