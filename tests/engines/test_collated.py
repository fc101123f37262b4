"""What an engine's catalog says of columns that are compared otherwise than by bytes: by collations, types and
domains.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from obverse.curator.check import check
from tests import distribution
from tests.engines.sites import Held, PostgresSite, SparkTableSite
from tests.engines.test_edges import CITEXT, DOMAINS, FOLDED, LOCALES

TOML = """
[project]
name = "people"
[budget]
epsilon = 10
[tables.people]
source = "people.duckdb:people"
unit = "id"
[tables.people.columns]
id = { type = "text" }
name = { type = "text" }
'the "town"' = { type = "text", values = ["x", "y"] }
plain = { type = "text" }
[tables.seen]
source = "people.duckdb:seen"
unit = "id -> people.id"
limits = { rows = 2 }
[tables.seen.columns]
id = { type = "text" }
shown = { type = "text" }
"""
MADE = (
    'CREATE TABLE people("ID" VARCHAR COLLATE NOCASE, name VARCHAR COLLATE NOCASE.NOACCENT, "the ""town""" VARCHAR '
    "COLLATE de,"
    " plain VARCHAR, bytes VARCHAR COLLATE C, n INTEGER, undeclared VARCHAR COLLATE NFC)",
    "CREATE VIEW seen AS SELECT id, upper(name) AS shown FROM people",
)


def texts(kinds: Mapping[str, str], engine: str) -> dict[str, Held]:
    return {name: Held('{ type = "text" }', "VARCHAR", ("a", "A"), {engine: kind}) for name, kind in kinds.items()}


def project(folder: Path) -> Path:
    import duckdb

    (folder / "obverse.toml").write_text(TOML)
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        for statement in MADE:
            connection.execute(statement)
    return folder


def test_duckdb_says_which_columns_have_a_collation_also_of_a_view(tmp_path: Path) -> None:
    from obverse.catalog.load import load
    from obverse.engines.duckdb import DuckDBEngine

    engine = DuckDBEngine(load(project(tmp_path)))
    people = {"ID": "NOCASE", "name": "NOCASE.NOACCENT", 'the "town"': "de", "undeclared": "NFC"}
    for _ in range(2):  # it leaves nothing behind
        assert engine.collations("people") == people
        assert engine.collations("seen") == {"ID": "NOCASE", "shown": "NOCASE.NOACCENT"}
    engine.close()


def test_a_data_frame_may_have_none() -> None:
    import pyarrow as pa

    from obverse.catalog.load import loads
    from obverse.engines.duckdb import DuckDBEngine

    toml = '[project]\nname = "x"\n[budget]\nepsilon = 1\n[tables.t]\nsource = "python"\nunit = "row"\n'
    engine = DuckDBEngine(loads(toml, Path("/")), {"t": pa.table({"a": ["x"]})})
    assert engine.collations("t") == {}
    engine.close()


def test_postgres_says_which_columns_have_an_equality_of_their_own() -> None:
    kinds = {
        "u": "TEXT",
        "folded": "TEXT COLLATE edges.folded",
        "citext": "public.citext",
        "folk": "edges.folk",
        "kin": "edges.kin",
        "ordered": 'TEXT COLLATE "en-US-x-icu"',
        "padded": "CHAR(5)",
        "short": 'VARCHAR(5) COLLATE "C"',
        "kind": "edges.letter",
        "overruled": 'edges.alike COLLATE "C"',
    }
    site = PostgresSite(
        texts(kinds, "postgres"), distribution.database(LOCALES["icu en-US"]), (CITEXT, FOLDED, *DOMAINS)
    )
    assert site.engine.collations("t") == {"folded": "folded", "citext": "citext", "folk": "citext", "kin": "folded"}
    site.close()


def test_spark_says_which_columns_have_a_collation() -> None:
    kinds = {"u": "STRING", "x": "STRING COLLATE UTF8_LCASE", "y": "STRING COLLATE UTF8_BINARY", "z": "CHAR(5)"}
    site = SparkTableSite(texts(kinds, "spark"))
    assert site.engine.collations("t") == {"x": "UTF8_LCASE"}
    site.spark.sql(f"ALTER TABLE {site.name} ALTER COLUMN u TYPE STRING COLLATE UTF8_LCASE")
    assert site.run("SELECT COUNT(*) FROM t WHERE u = 'A'")[1] == (0, 1)  # read as it was when the project was opened
    site.close()


def test_check_says_what_became_of_equality_and_how_to_have_the_old_one(tmp_path: Path) -> None:
    found = {
        one.about: one.message for one in check(project(tmp_path)) if one.level == "warn" and "bytes" in one.message
    }
    assert set(found) == {"people.id", "people.name", 'people.the "town"', "seen.id", "seen.shown"}
    assert "NOCASE" in found["people.id"]
    assert "two units" in found["people.id"]
    assert "two units" in found["seen.id"]
    assert "Ask for LOWER(name)" in found["people.name"]
    assert not any("collat" in one.message or "bytes" in one.message for one in check(plain_project(tmp_path)))


def plain_project(folder: Path) -> Path:
    """The same with texts of no collation."""
    import duckdb

    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute("DROP VIEW seen")
        connection.execute("DROP TABLE people")
        for statement in MADE:
            for name in ("NOCASE.NOACCENT", "NOCASE", "de", "NFC"):
                statement = statement.replace(f" COLLATE {name}", "")
            connection.execute(statement)
    return folder
