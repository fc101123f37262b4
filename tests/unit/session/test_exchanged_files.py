"""A DuckDB file that another takes the place of: a question is refused, free, where that one defines the source
otherwise.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pytest

import obverse
from obverse.core.errors import CatalogError, Failed, Refused
from tests.unit.session.test_views_as_sources import MADE, MOVED, TOML

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a file that is open can be exchanged only elsewhere")
COLUMNS = "id INTEGER, y INTEGER, s VARCHAR"
TABLE = (f"CREATE TABLE c ({COLUMNS})", "INSERT INTO c SELECT id, x, s FROM t")
OF_U = MOVED.replace(" t", " u")
VIEW = ("CREATE VIEW c AS SELECT id, x AS y FROM t",)


def written(file: Path, *statements: str) -> None:
    """A file of its own, put in place at once."""
    fresh = file.with_suffix(".new")
    with duckdb.connect(str(fresh)) as connection:
        for statement in (MADE, *statements):
            connection.execute(statement)
    os.replace(fresh, file)


def project(folder: Path, *statements: str) -> Path:
    (folder / "obverse.toml").write_text(TOML.format(engine="", source="d.duckdb:c", more="", unit="id", name="v"))
    written(folder / "d.duckdb", *statements)
    return folder


CHANGES = {
    "type": (TABLE, (TABLE[0].replace("y INTEGER", "y BIGINT"),)),
    "collation": (TABLE, (TABLE[0].replace("VARCHAR", "VARCHAR COLLATE NOCASE"),)),
    "column": (TABLE, (TABLE[0].replace("s VARCHAR", "s VARCHAR, more INTEGER"),)),
    "order": (TABLE, ("CREATE TABLE c (y INTEGER, id INTEGER, s VARCHAR)",)),
    "generated": (TABLE, (TABLE[0].replace("y INTEGER", "y INTEGER GENERATED ALWAYS AS (id + 1)"),)),
    "gone": (TABLE, ()),
    "view": (TABLE, ("CREATE VIEW c AS SELECT id, x AS y, s FROM t",)),
    "definition": (VIEW, (f"CREATE VIEW c AS {MOVED}",)),
    "base": (VIEW, ("ALTER TABLE t RENAME TO u", f"CREATE VIEW t AS SELECT id, y AS x FROM ({OF_U})", *VIEW)),
    "macro": (("CREATE VIEW c AS SELECT id, abs(x) AS y FROM t",),
              ("CREATE MACRO abs(a) AS (SELECT SUM(x) FROM t)", "CREATE VIEW c AS SELECT id, abs(x) AS y FROM t")),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_another_definition_in_its_place_refuses_the_question(tmp_path: Path, change: str) -> None:
    before, after = CHANGES[change]
    with obverse.open(project(tmp_path, *before)) as session:
        written(tmp_path / "d.duckdb", *after)
        with pytest.raises(CatalogError) as error:
            session.ask("SELECT SUM(y) FROM v", epsilon=1)
        assert error.value.code == "source_changed"
        assert not error.value.charged
        assert session.ledger.spent().amount == 0


@pytest.mark.parametrize("broken", [b"", b"no database", None])
def test_what_is_no_database_any_more_refuses_the_question(tmp_path: Path, broken: bytes | None) -> None:
    with obverse.open(project(tmp_path, *TABLE)) as session:
        (tmp_path / "d.duckdb").unlink()
        if broken is not None:
            (tmp_path / "d.duckdb").write_bytes(broken)
        with pytest.raises(CatalogError) as error:
            session.ask("SELECT SUM(y) FROM v", epsilon=1)
        assert error.value.code == "source_changed"
        assert session.ledger.spent().amount == 0


@pytest.mark.parametrize("rows", ["", "DELETE FROM c"])
def test_a_file_that_is_written_over_refuses_the_question(tmp_path: Path, rows: str) -> None:
    """DuckDB would look for its columns where those of the earlier content lay."""
    with obverse.open(project(tmp_path, *TABLE)) as session:
        (tmp_path / "other").mkdir()
        written(tmp_path / "other" / "d.duckdb", *TABLE, *filter(None, [rows]))
        shutil.copyfile(tmp_path / "other" / "d.duckdb", tmp_path / "d.duckdb")
        with pytest.raises(CatalogError) as error:
            session.ask("SELECT SUM(y) FROM v", epsilon=1)
        assert error.value.code == "source_changed"
        assert session.ledger.spent().amount == 0


def test_other_rows_of_the_same_definition_refuse_nothing(tmp_path: Path) -> None:
    """Whatever they are: whether a question is refused tells nothing of them."""
    with obverse.open(project(tmp_path, *TABLE)) as session:
        for rows in (
            "DELETE FROM c",
            "UPDATE c SET y = 1000000000, s = NULL",
            "INSERT INTO c VALUES (NULL, NULL, 'é')",
        ):
            written(tmp_path / "d.duckdb", *TABLE, rows)
            session.ask(f"SELECT SUM(y) FROM v WHERE y < {len(rows)}", epsilon=1)


def test_what_is_exchanged_after_the_debit_fails_with_the_constant_message(tmp_path: Path) -> None:
    with obverse.open(project(tmp_path, *VIEW)) as session:
        session.started = lambda receipt: written(tmp_path / "d.duckdb", f"CREATE VIEW c AS {MOVED}")
        with pytest.raises(Failed) as error:
            session.ask("SELECT SUM(y) FROM v", epsilon=1)
        assert error.value.code == "engine_failure"
        assert session.ledger.spent().amount == 1


def test_a_public_list_in_another_definition_is_not_read(tmp_path: Path) -> None:
    """Tables that are read exactly are held alike."""
    toml = '[tables.list]\nsource = "list.duckdb:list"\npublic = true\n'
    folder = project(tmp_path, *TABLE)
    (folder / "obverse.toml").write_text((folder / "obverse.toml").read_text() + toml)
    written(tmp_path / "list.duckdb", "CREATE TABLE list (name VARCHAR)", "INSERT INTO list VALUES ('a')")
    with obverse.open(folder) as session:
        assert list(session.ask("SELECT name FROM list")) == [("a",)]
        written(
            tmp_path / "list.duckdb", "CREATE TABLE list (name VARCHAR COLLATE NOCASE)", "INSERT INTO list VALUES ('a')"
        )
        with pytest.raises(Refused) as error:
            session.ask("SELECT name FROM list")
        assert error.value.code == "engine_failure"


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_of_other_columns_in_its_place_refuses_the_question(tmp_path: Path, kind: str) -> None:
    def put(query: str) -> None:
        duckdb.connect().execute(f"COPY ({query}) TO '{tmp_path / 'new'}' (FORMAT {kind})")
        os.replace(tmp_path / "new", tmp_path / f"v.{kind}")

    rows = "SELECT range::INTEGER AS id, 1::INTEGER AS y, 'a' AS s FROM range({})"
    put(rows.format(50))
    (tmp_path / "obverse.toml").write_text(TOML.format(engine="", source=f"v.{kind}", more="", unit="id", name="v"))
    with obverse.open(tmp_path) as session:
        put(rows.format(70))
        session.ask("SELECT COUNT(*) FROM v", epsilon=1)
        put(
            rows.format(50).replace("1::INTEGER", "1::BIGINT")
            if kind == "parquet"
            else rows.format(50).replace(" AS s", " AS z")
        )
        with pytest.raises(CatalogError) as error:
            session.ask("SELECT SUM(y) FROM v", epsilon=1)
        assert error.value.code == "source_changed"
        assert session.ledger.spent().amount == 1
