"""A view as a source: proved to give each row from one stored row, or refused, free, until the curator answers for
it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.core.errors import CatalogError, Failed, ObverseError
from obverse.core.relation import FOREIGN, TEMPORARY
from obverse.curator.check import check
from obverse.engines.postgres import described
from obverse.session.assumptions import proved
from obverse.sql.rowwise import NotRowwise
from tests.servers import postgres_address

TOML = """
[project]
name = "views"
{engine}[budget]
epsilon = 100
[tables.{name}]
source = "{source}"
unit = "{unit}"
{more}[tables.{name}.columns]
y = {{ type = "integer", bounds = [-100, 100] }}
"""
MADE = "CREATE TABLE t AS SELECT n AS id, n % 7 AS x, 'w' || (n % 3) AS s FROM generate_series(1, 90) AS g(n)"
MOVED = "SELECT id, CASE WHEN x < (SELECT AVG(x) FROM t) THEN 1 ELSE 0 END AS y FROM t"
UNPROVED = {
    "subquery": MOVED,
    "window": "SELECT id, CAST(SUM(x) OVER () AS INTEGER) AS y FROM t",
    "aggregate": "SELECT id, CAST(SUM(x) AS INTEGER) AS y FROM t GROUP BY id",
    "distinct": "SELECT DISTINCT id, x AS y FROM t",
    "limit": "SELECT id, x AS y FROM t LIMIT 5",
    "join": "SELECT a.id, b.x AS y FROM t AS a JOIN t AS b ON a.id = b.id",
    "union": "SELECT id, x AS y FROM t UNION ALL SELECT id, x AS y FROM t",
    "exists": "SELECT id, x AS y FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.x > 5)",
    "random": "SELECT id, CAST(random() * 5 AS INTEGER) AS y FROM t",
    "clock": "SELECT id, CASE WHEN now() > TIMESTAMP '2020-01-01 00:00:00' THEN x END AS y FROM t",
    "unit": "SELECT id / 2 AS id, x AS y FROM t",
    "times": "SELECT id, x AS y FROM t CROSS JOIN generate_series(1, 3) AS g(n)",
    "set": "SELECT id, CAST(unnest(ARRAY[x, x]) AS INTEGER) AS y FROM t",
}
PROVED = {
    "projection": "SELECT id, x AS y FROM t",
    "filter": "SELECT id, x + 1 AS y FROM t WHERE x > 2 AND s LIKE 'w%' AND s IN ('w1', 'w2')",
    "casts": "SELECT id, CAST(CAST(x AS TEXT) AS INTEGER) AS y FROM t",
    "case": "SELECT id, CASE WHEN x > 3 THEN x ELSE COALESCE(-x, 0) END AS y, upper(s) AS u FROM t WHERE x IS NOT NULL",
}


class Place:
    """A project over a database in which statements of its owner can be run."""

    dialect: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run(MADE)

    def run(self, *statements: str) -> None:
        raise NotImplementedError

    def project(self, source: str, more: str = "", unit: str = "id", name: str = "v") -> Path:
        raise NotImplementedError

    def written(self, source: str, engine: str, more: str, unit: str, name: str) -> Path:
        text = TOML.format(engine=engine, source=source, more=f"{more}\n" if more else "", unit=unit, name=name)
        (self.folder / "obverse.toml").write_text(text)
        return self.folder


class DuckDBPlace(Place):
    dialect = "duckdb"

    def run(self, *statements: str) -> None:
        import duckdb

        with duckdb.connect(str(self.folder / "d.duckdb")) as connection:
            for statement in statements:
                connection.execute(statement)

    def project(self, source: str, more: str = "", unit: str = "id", name: str = "v") -> Path:
        return self.written(f"d.duckdb:{source}", "", more, unit, name)


class PostgresPlace(Place):
    dialect = "postgres"
    owner: Any

    def __init__(self, folder: Path) -> None:
        import psycopg

        address = postgres_address()
        self.owner = psycopg.connect(address, autocommit=True)
        if not self.owner.execute("SELECT 1 FROM pg_roles WHERE rolname = 'only_reader'").fetchone():
            self.owner.execute("CREATE ROLE only_reader LOGIN")
        os.environ["VIEWS_DSN"] = address.replace("postgres:@", "only_reader@")
        super().__init__(folder)

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.owner.execute(statement)
        self.owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO only_reader")

    def project(self, source: str, more: str = "", unit: str = "id", name: str = "v") -> Path:
        return self.written(
            f"public.{source}", '[engine]\nkind = "postgres"\ndsn_env = "VIEWS_DSN"\n', more, unit, name
        )


PLACES = {"duckdb": DuckDBPlace, "postgres": PostgresPlace}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return PLACES[request.param](tmp_path)


def refused(project: Path) -> CatalogError:
    with pytest.raises(CatalogError) as error, obverse.open(project):
        pass
    return error.value


@pytest.mark.parametrize("shape", UNPROVED)
def test_a_view_that_may_compute_rows_from_other_rows_is_refused(place: Place, shape: str) -> None:
    place.run(f"CREATE VIEW v AS {UNPROVED[shape]}")
    error = refused(place.project("v"))
    assert error.code == "not_rowwise"
    assert error.place.startswith("obverse.toml:")
    assert "tables.v.source" in error.place
    assert "rowwise = true" in error.fix
    assert "CREATE TABLE" in error.fix
    assert not error.charged


@pytest.mark.parametrize("shape", PROVED)
def test_a_view_of_projection_filter_and_casts_is_answered(place: Place, shape: str) -> None:
    place.run(f"CREATE VIEW v AS {PROVED[shape]}")
    with obverse.open(place.project("v")) as session:
        answer = session.ask("SELECT COUNT(*) AS n FROM v", epsilon=10)
    assert answer.claim.assumes == ()


def test_views_of_views_are_followed(place: Place) -> None:
    place.run(f"CREATE VIEW a AS {MOVED}", "CREATE VIEW v AS SELECT id, y FROM a")
    assert refused(place.project("v")).code == "not_rowwise"
    place.run("DROP VIEW v", "CREATE VIEW b AS SELECT id AS key, x + 1 AS y FROM t")
    place.run("CREATE VIEW v AS SELECT key AS id, y FROM b")
    with obverse.open(place.project("v")) as session:
        session.ask("SELECT COUNT(*) FROM v", epsilon=1)


def test_the_curator_may_answer_for_a_view_and_every_claim_names_it(place: Place) -> None:
    place.run("CREATE VIEW v AS SELECT a.id, b.x AS y FROM t AS a JOIN t AS b ON a.id = b.id")
    with obverse.open(place.project("v", "rowwise = true")) as session:
        answer = session.ask("SELECT COUNT(*) FROM v", epsilon=1)
        (assumption,) = answer.claim.assumes
        assert "table v" in assumption
        assert "rowwise = true" in assumption
        assert assumption in answer.claim.sentence
        again = session.ask("SELECT COUNT(*) FROM v", epsilon=1)
        assert again.price.stored
        assert again.claim.assumes == answer.claim.assumes
        assert json.loads(answer.to_bytes())["claim"]["assumes"] == [assumption]


def test_a_view_and_its_table_have_one_budget(place: Place) -> None:
    place.run("CREATE VIEW v AS SELECT id, x AS y FROM t", "CREATE VIEW w AS SELECT id, x AS y FROM t")
    for source in ("v", "w"):
        with obverse.open(place.project(source)) as session:
            session.ask("SELECT COUNT(*) FROM v", epsilon=2)
            spent = session.ledger.spent().amount
    assert spent == 4


def test_a_renamed_unit_column_is_the_table_s_own(place: Place) -> None:
    """The same rows under another unit are refused, whatever a view calls it."""
    place.run("ALTER TABLE t ADD COLUMN other INTEGER", "CREATE VIEW v AS SELECT id, x AS y FROM t")
    place.run("CREATE VIEW w AS SELECT other AS id, x AS y FROM t")
    with obverse.open(place.project("v")):
        pass
    with pytest.raises(ObverseError) as error, obverse.open(place.project("w")):
        pass
    assert error.value.code == "terms_conflict"


def test_check_names_the_view_and_what_to_do(place: Place) -> None:
    place.run(f"CREATE VIEW v AS {MOVED}", "CREATE VIEW w AS SELECT id, x AS y FROM t")
    found = [finding for finding in check(place.project("v")) if finding.level == "error"]
    assert [finding.error.code for finding in found if finding.error] == ["not_rowwise"]
    told = [finding.message for finding in check(place.project("w")) if finding.about == "v"]
    assert any("a view that was proved row-wise over" in message for message in told)
    told = [(f.level, f.message) for f in check(place.project("v", "rowwise = true")) if f.about == "v"]
    assert any(level == "warn" and "rowwise = true" in message for level, message in told)


def test_functions_of_users_are_not_taken_for_the_engine_s_own(place: Place) -> None:
    if place.dialect == "duckdb":
        place.run("CREATE MACRO abs(of) AS (SELECT CAST(SUM(x) AS INTEGER) FROM t)")
    else:
        body = "LANGUAGE sql IMMUTABLE AS 'SELECT CAST(SUM(x) AS INTEGER) FROM public.t'"
        place.run(f"CREATE FUNCTION public.abs(bigint) RETURNS INTEGER {body}")
        place.run("CREATE FUNCTION public.abs(text) RETURNS INTEGER " + body)
    place.run(f"CREATE VIEW v AS SELECT id, {'abs(x)' if place.dialect == 'duckdb' else 'public.abs(s)'} AS y FROM t")
    assert refused(place.project("v")).code == "not_rowwise"


def test_generated_columns_are_looked_at(place: Place) -> None:
    stored = "" if place.dialect == "duckdb" else " STORED"
    place.run(f"CREATE TABLE g (id INTEGER, x INTEGER, y INTEGER GENERATED ALWAYS AS (x + 1){stored})")
    with obverse.open(place.project("g")) as session:
        session.ask("SELECT COUNT(*) FROM v", epsilon=1)
    if place.dialect == "duckdb":
        place.run("CREATE TABLE h (id INTEGER, y DOUBLE GENERATED ALWAYS AS (random()))")
    else:
        place.run(
            "CREATE FUNCTION public.most(integer) RETURNS INTEGER LANGUAGE sql IMMUTABLE AS "
            "'SELECT CAST(MAX(x) AS INTEGER) FROM t'",
            "CREATE TABLE h (id INTEGER, x INTEGER, y INTEGER GENERATED ALWAYS AS (public.most(x)) STORED)",
        )
    assert refused(place.project("h")).code == "not_rowwise"


def test_a_definition_that_changes_refuses_the_question_free_of_charge(tmp_path: Path) -> None:
    place = PostgresPlace(tmp_path)
    place.run("CREATE VIEW v AS SELECT id, x AS y FROM t")
    with obverse.open(place.project("v")) as session:
        session.ask("SELECT COUNT(*) FROM v", epsilon=1)
        place.run(f"CREATE OR REPLACE VIEW v AS {MOVED}")
        with pytest.raises(CatalogError) as error:
            session.ask("SELECT SUM(y) FROM v", epsilon=1)
        assert error.value.code == "source_changed"
        assert not error.value.charged
        assert session.ledger.spent().amount == 1


CHANGES = {
    "type": ("ALTER TABLE c ALTER COLUMN y TYPE BIGINT",),
    "collation": ('ALTER TABLE c ALTER COLUMN s TYPE TEXT COLLATE "C"',),
    "column": ("ALTER TABLE c ADD COLUMN more INTEGER",),
    "view": ("ALTER TABLE c RENAME TO d", f"CREATE VIEW c AS {MOVED}"),
    "replaced": ("DROP TABLE c", "CREATE TABLE c AS SELECT id, CAST(x AS INTEGER) AS y, s FROM t"),
    "security": ("ALTER TABLE c ENABLE ROW LEVEL SECURITY",),
    "gone": ("DROP TABLE c",),
    "child": ("CREATE TABLE c_more () INHERITS (c)",),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_between_opening_and_question_refuses_it(tmp_path: Path, change: str) -> None:
    place = PostgresPlace(tmp_path)
    place.run("CREATE TABLE c AS SELECT id, CAST(x AS INTEGER) AS y, s FROM t")
    with obverse.open(place.project("c")) as session:
        place.run(*CHANGES[change])
        with pytest.raises(CatalogError) as error:
            session.ask("SELECT SUM(y) FROM v", epsilon=1)
        assert error.value.code == "source_changed"
        assert session.ledger.spent().amount == 0


def test_what_changes_after_the_debit_fails_with_the_constant_message(tmp_path: Path) -> None:
    place = PostgresPlace(tmp_path)
    place.run("CREATE TABLE c AS SELECT id, CAST(x AS INTEGER) AS y, s FROM t")
    with obverse.open(place.project("c")) as session:
        session.started = lambda receipt: place.run("ALTER TABLE c RENAME TO d", f"CREATE VIEW c AS {MOVED}")
        with pytest.raises(Failed) as error:
            session.ask("SELECT SUM(y) FROM v", epsilon=1)
        assert error.value.code == "engine_failure"
        assert session.ledger.spent().amount == 1


def test_rows_may_change_while_definitions_do_not(place: Place) -> None:
    place.run("CREATE TABLE c AS SELECT id, CAST(x AS INTEGER) AS y FROM t")
    with obverse.open(place.project("c")) as session:
        if place.dialect == "postgres":
            place.run("INSERT INTO c VALUES (1000, 3)", "ANALYZE c")
        session.ask("SELECT SUM(y) FROM v", epsilon=1)


def test_row_security_and_materialized_views_are_recognised(tmp_path: Path) -> None:
    place = PostgresPlace(tmp_path)
    place.run(
        "CREATE TABLE s AS SELECT id, x AS y FROM t",
        "ALTER TABLE s ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY p ON s USING (y < (SELECT AVG(x) FROM t))",
        f"CREATE MATERIALIZED VIEW m AS {MOVED}",
        "CREATE MATERIALIZED VIEW n AS SELECT id, x AS y FROM t",
        "CREATE VIEW over_s AS SELECT id, y FROM s",
    )
    for source in ("s", "m", "over_s"):
        assert refused(place.project(source)).code == "not_rowwise", source
    with obverse.open(place.project("n")):
        pass
    place.project("s", "rowwise = true")
    file = tmp_path / "obverse.toml"
    file.write_text(file.read_text().replace('name = "views"', 'name = "views"\nledger = ".obverse/another.db"'))
    with obverse.open(tmp_path) as session:
        assert session.ask("SELECT COUNT(*) FROM v", epsilon=1).claim.assumes


def test_foreign_and_temporary_relations_are_recognised(tmp_path: Path) -> None:
    """A wrapper without a handler cannot be read, but it is described like any other."""
    place = PostgresPlace(tmp_path)
    place.run(
        "CREATE FOREIGN DATA WRAPPER elsewhere",
        "CREATE SERVER there FOREIGN DATA WRAPPER elsewhere",
        "CREATE FOREIGN TABLE f (id INTEGER, y INTEGER) SERVER there",
        "CREATE TABLE parted (id INTEGER, y INTEGER) PARTITION BY RANGE (id)",
        "CREATE TABLE whole (id INTEGER, y INTEGER) PARTITION BY RANGE (id)",
        "CREATE TABLE whole_1 PARTITION OF whole FOR VALUES FROM (0) TO (50)",
        "CREATE FOREIGN TABLE part PARTITION OF parted FOR VALUES FROM (50) TO (99) SERVER there",
        "CREATE VIEW over_f AS SELECT id, y FROM f",
        "CREATE TEMPORARY TABLE gone (id INTEGER, y INTEGER)",
    )
    oids = {}
    for name in ("f", "parted", "over_f", "gone", "t", "whole"):
        (oids[name],) = place.owner.execute("SELECT to_regclass(%s)::oid::bigint", (name,)).fetchone() or (0,)
    with place.owner.cursor() as cursor:
        cursor.execute("SET search_path = pg_catalog")
        found = described(cursor, oids)
    assert (found["f"].kind, found["gone"].kind) == (FOREIGN, TEMPORARY)
    for name in ("f", "parted", "over_f", "gone"):
        with pytest.raises(NotRowwise, match=r"foreign|temporary"):
            proved(found[name], "postgres")
    for name in ("t", "whole"):
        assert proved(found[name], "postgres")[0] is found[name]


def test_a_csv_file_whose_columns_changed_places_is_not_read_by_the_earlier_names(tmp_path: Path) -> None:
    """Its columns are read by place, so another first line would make another column the unit."""
    (tmp_path / "obverse.toml").write_text(TOML.format(engine="", source="v.csv", more="", unit="id", name="v"))
    (tmp_path / "v.csv").write_text("id,y\n" + "".join(f"{n},{n % 3}\n" for n in range(50)))
    with obverse.open(tmp_path) as session:
        session.ask("SELECT SUM(y) FROM v", epsilon=1)
        (tmp_path / "v.csv").write_text("y,id\n" + "".join(f"{n % 3},{n}\n" for n in range(50)))
        with pytest.raises(CatalogError) as error:
            session.ask("SELECT COUNT(*) FROM v", epsilon=1)
        assert error.value.code == "source_changed"
        assert session.ledger.spent().amount == 1


def test_names_that_lead_out_of_the_file_are_not_followed(tmp_path: Path) -> None:
    """A view whose table was dropped would read a declared table of the same name, which is another one."""
    place = DuckDBPlace(tmp_path)
    place.run(
        "CREATE TABLE other AS SELECT * FROM t", "CREATE VIEW v AS SELECT id, x AS y FROM other", "DROP TABLE other"
    )
    assert refused(place.project("v", name="other")).code == "source_unreadable"


def test_a_view_of_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,y\n1,2\n")
    place = DuckDBPlace(tmp_path)
    place.run(f"CREATE VIEW w AS SELECT id, y FROM read_csv('{tmp_path}/rows*.csv')")
    assert refused(place.project("w")).code in ("not_rowwise", "source_unreadable")
