"""Views and generated columns that look row-wise and are not: what each tried to hide, and that it is refused; and what
looks
otherwise than it is, and passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import obverse
from obverse.core.errors import CatalogError
from tests.unit.session.test_views_as_sources import PLACES, DuckDBPlace, PostgresPlace, refused

TOTAL = "(SELECT CAST(SUM(x) AS INTEGER) FROM t)"

NETWORK = """
[project]
name = "friends"
[budget]
epsilon = 5
[tables.people]
source = "people.csv"
public = true
[graphs.friends]
edges = "d.duckdb:friends"
nodes = "people.id"
unit = "edge"
"""


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
    place.run(
        f"CREATE MACRO total(a) AS {TOTAL}",
        "CREATE VIEW v AS SELECT id, CASE WHEN s LIKE 'w%' THEN abs(x + 1) END AS y FROM t",
    )
    place.run("CREATE TABLE g (id INTEGER, x INTEGER, y INTEGER GENERATED ALWAYS AS (x + 1))")
    for source in ("v", "g"):
        with obverse.open(place.project(source)) as session:
            session.ask("SELECT COUNT(*) FROM v", epsilon=1)


ARGUMENTS = ("", "x", "s", "x, x", "s, s", "'year', s", "x, x, x", "s, s, s", "x, 1, 2, 3", "DISTINCT x", "*")
OTHERWISE = {
    "duckdb": "SELECT function_name FROM duckdb_functions() WHERE function_type NOT LIKE '%macro' GROUP BY ALL "
    "HAVING NOT bool_or(function_type = 'scalar' AND stability = 'CONSISTENT')",
    "postgres": "SELECT proname FROM pg_proc WHERE proretset OR provolatile = 'v' OR prokind <> 'f'",
}


def test_no_function_of_other_rows_or_of_chance_is_listed(place: Any) -> None:
    """All that the engine has, whatever class the parser gives them: aggregates, window and table functions,
    volatile ones.
    """
    from obverse.core.relation import Relation, StoredColumn
    from obverse.sql.rowwise import NotRowwise, own_row

    relation = Relation("t", "table", (StoredColumn("x", "INTEGER"), StoredColumn("s", "VARCHAR")))
    if place.dialect == "duckdb":
        names = [name for (name,) in duckdb.connect().execute(OTHERWISE["duckdb"]).fetchall()]
    else:
        names = [name for (name,) in place.owner.execute(OTHERWISE["postgres"]).fetchall()]
    assert len(names) > 100
    listed = set()
    for name in dict.fromkeys(names):
        for arguments in ARGUMENTS:
            try:
                own_row(f"{name}({arguments})", relation, place.dialect)
            except NotRowwise:
                continue
            listed.add(f"{name}({arguments})")
    assert listed == set()


DAY = "DATE '2020-01-01' + CAST(x AS INTEGER)"
HARMLESS = {
    "ordered": "SELECT id, x AS y FROM t ORDER BY x DESC, id",
    "months": f"SELECT id, CAST(date_part('year', date_trunc('month', {DAY})) AS INTEGER) AS y FROM t",
    "interval": f"SELECT id, x AS y, {DAY} + INTERVAL '3 days' AS due FROM t",
    "powers": "SELECT id, CAST(power(x, 2) + sqrt(x) + exp(x) AS INTEGER) AS y FROM t",
    "bits": "SELECT id, (x & 3) | 1 AS y FROM t",
    "table": "SELECT t.*, x AS y FROM t",
    "patterns": "SELECT id, x AS y, regexp_replace(s, 'w', 'v') AS r FROM t",
}


@pytest.mark.parametrize("shape", HARMLESS)
def test_a_view_of_functions_of_the_row_passes(place: Any, shape: str) -> None:
    place.run(f"CREATE VIEW v AS {HARMLESS[shape]}")
    with obverse.open(place.project("v")) as session:
        session.ask("SELECT COUNT(*) FROM v", epsilon=1)


@pytest.mark.parametrize(
    "text", ["regexp_matches(s, 'w.')", "strftime(DATE '2020-01-01', '%Y') = s", "date_diff('day', d, d) > 1"]
)
def test_a_view_of_duckdb_s_own_functions_of_the_row_passes(tmp_path: Path, text: str) -> None:
    place = DuckDBPlace(tmp_path)
    place.run("ALTER TABLE t ADD COLUMN d DATE", f"CREATE VIEW v AS SELECT id, CASE WHEN {text} THEN 1 END AS y FROM t")
    with obverse.open(place.project("v")) as session:
        session.ask("SELECT COUNT(*) FROM v", epsilon=1)


@pytest.mark.parametrize("text", ["s ~ 'w.'", "to_char(DATE '2020-01-01', 'YYYY') = s", "position('w' IN s) > 1"])
def test_a_view_of_postgres_s_own_functions_of_the_row_passes(tmp_path: Path, text: str) -> None:
    place = PostgresPlace(tmp_path)
    place.run(f"CREATE VIEW v AS SELECT id, CASE WHEN {text} THEN 1 END AS y FROM t")
    with obverse.open(place.project("v")) as session:
        session.ask("SELECT COUNT(*) FROM v", epsilon=1)


def test_a_network_of_computed_edges_is_refused_with_a_fix_that_it_has(tmp_path: Path) -> None:
    """Its edges cannot be declared row-wise."""
    DuckDBPlace(tmp_path).run(
        "CREATE TABLE people AS SELECT n AS id FROM range(9) AS g(n)",
        'CREATE VIEW friends AS SELECT a.id AS "from", b.id AS "to" FROM people AS a JOIN people AS b ON a.id = b.id + '
        "1",
    )
    (tmp_path / "obverse.toml").write_text(NETWORK)
    duckdb.connect().execute(f"COPY (SELECT range AS id FROM range(9)) TO '{tmp_path / 'people.csv'}'")
    error = refused(tmp_path)
    assert (error.code, "rowwise" in error.fix) == ("not_rowwise", False)
    assert "graphs.friends.edges" in error.place


CAST = (
    "CREATE TYPE mark AS (a INTEGER)",
    "CREATE FUNCTION spelled(mark) RETURNS TEXT LANGUAGE sql AS 'SELECT (SELECT SUM(x) FROM public.t)::TEXT'",
    "CREATE CAST (mark AS TEXT) WITH FUNCTION spelled(mark)",
    "CREATE DOMAIN marked AS mark",
)


@pytest.mark.parametrize("kind", ["mark", "marked"])
def test_a_column_whose_cast_is_a_function_of_users_is_refused(tmp_path: Path, kind: str) -> None:
    """Plans read it by that cast, which gave every row the sum over all of them."""
    place = PostgresPlace(tmp_path)
    place.run(
        *CAST,
        f"CREATE TABLE c AS SELECT id, 1 AS y, ROW(x)::mark::{kind} AS s FROM t",
        "CREATE VIEW w AS SELECT id, y, s FROM c",
    )
    for source in ("c", "w"):
        with obverse.open(place.project(source)) as session:  # which is not declared, so nothing reads it
            session.ask("SELECT COUNT(*) FROM v", epsilon=1)
        folder = place.project(source)
        file = folder / "obverse.toml"
        declared = file.read_text() + 's = { type = "text" }\n'
        file.write_text(declared)
        error = refused(folder)
        assert (error.code, "public.spelled" in error.message) == ("not_rowwise", True)
        file.write_text(declared.replace('unit = "id"', 'unit = "id"\nrowwise = true'))
        with obverse.open(folder) as session:
            assert session.ask("SELECT COUNT(*) FROM v WHERE s = '1'", epsilon=1).claim.assumes


def test_a_cast_that_is_made_after_opening_refuses_the_question(tmp_path: Path) -> None:
    place = PostgresPlace(tmp_path)
    place.run(CAST[0], CAST[1], "CREATE TABLE c AS SELECT id, 1 AS y, ROW(x)::mark AS s FROM t")
    folder = place.project("c")
    (folder / "obverse.toml").write_text((folder / "obverse.toml").read_text() + 's = { type = "text" }\n')
    with obverse.open(folder) as session:
        session.ask("SELECT COUNT(*) FROM v WHERE s = '(1)'", epsilon=1)
        place.run(CAST[2])
        with pytest.raises(CatalogError) as error:
            session.ask("SELECT COUNT(*) FROM v WHERE s = '1'", epsilon=1)
        assert error.value.code == "source_changed"
        assert session.ledger.spent().amount == 1
