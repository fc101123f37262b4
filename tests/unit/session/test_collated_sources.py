"""A project over a DuckDB file whose texts are declared without case: all that reads them tells 'a' from 'A'."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.core.bounds import Categories
from obverse.curator import limits
from obverse.curator.rights import export
from obverse.engines.duckdb import DuckDBEngine
from obverse.session import custody
from obverse.session.networks import edges_sql, listed
from obverse.session.planning import Wish
from obverse.session.session import former_names

TOML = """\
[project]
name = "collated"
[privacy]
delta = 1e-8
[budget]
epsilon = 50
delta = 1e-5
[tables.visits]
source = "data.duckdb:visits"
unit = "person"
limits = "auto"
[tables.visits.columns]
person = { type = "text" }
name = { type = "text" }
town = { type = "text", values = "towns.town" }
n = { type = "integer", bounds = [0, 9] }
[tables.towns]
source = "public.duckdb:towns"
public = true
"""
NETWORK = """\
[project]
name = "friends"
[budget]
epsilon = 5
[tables.people]
source = "public.duckdb:people"
public = true
[graphs.friends]
edges = "data.duckdb:friends"
nodes = "people.id"
unit = "edge"
"""
MADE = """
CREATE TABLE visits(person VARCHAR COLLATE NOCASE, name VARCHAR COLLATE NOCASE, town VARCHAR COLLATE NOCASE, n INTEGER);
INSERT INTO visits SELECT 'p' || range, if(range % 2 = 0, 'alice', 'bob'), 'rome', range % 10 FROM range(400);
INSERT INTO visits VALUES ('P1', 'aLICe', 'ROME', 3), ('P1', 'bob', 'Rome', 3);
CREATE TABLE friends("from" VARCHAR COLLATE NOCASE, "to" VARCHAR COLLATE NOCASE);
INSERT INTO friends VALUES ('ann', 'bob'), ('Ann', 'bob'), ('ANN', 'bob');
"""
PUBLIC = """
CREATE TABLE towns(town VARCHAR COLLATE NOCASE, size INTEGER);
INSERT INTO towns VALUES ('rome', 1), ('ROME', 2), ('Rome', 3);
CREATE TABLE people(id VARCHAR COLLATE NOCASE);
INSERT INTO people VALUES ('ann'), ('Ann'), ('bob'), ('BOB');
"""
TEXT = re.compile(r"""t\."(?:person|name|town|id|from|to)"(?! AS VARCHAR\) COLLATE "binary")""")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import duckdb

    (tmp_path / "obverse.toml").write_text(TOML)
    for name, statements in (("data", MADE), ("public", PUBLIC)):
        with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as connection:
            connection.execute(statements)
    return tmp_path


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that goes to the engine."""
    texts: list[str] = []
    for name in ("_fetch", "run_public", "batches", "readable"):
        real = getattr(DuckDBEngine, name)

        def noting(self: Any, *args: Any, real: Any = real, **named: Any) -> Any:
            texts.append(args[-1] if real.__name__ == "readable" else args[0])
            return real(self, *args, **named)

        monkeypatch.setattr(DuckDBEngine, name, noting)
    return texts


def test_no_text_is_read_but_by_its_bytes(folder: Path, sent: list[str]) -> None:
    limits.learn(folder, "visits", 1)
    with obverse.open(folder) as session:
        fixed = session.engine.run_public("SELECT current_setting('default_collation'), 'a' = 'A'", timeout_s=60).rows
        assert fixed == (("binary", False),)
        towns = session.catalog.tables["visits"].columns["town"].bounds
        assert towns == Categories(("ROME", "Rome", "rome"))
        labels = session.ask("SELECT name, COUNT(*) FROM visits GROUP BY name", epsilon=2)
        assert {row[0] for row in labels.rows} == {"alice", "bob"}
        session.ask("SELECT town, COUNT(*) FROM visits JOIN towns USING (town) GROUP BY town", epsilon=1)
        session.ask("SELECT MODE(town), COUNT(DISTINCT person) FROM visits WHERE name IN ('alice', 'bob')", epsilon=1)
    read = custody.collapsed(folder, "visits", ["name", "town"], what="a test", reason="to test")
    assert sorted(read.columns["name"]) == ["aLICe", "alice", "bob", "bob"]
    assert len(sent) > 6
    assert not [text for text in sent if TEXT.search(text)]


def test_an_export_holds_the_rows_of_one_spelling_of_a_key(folder: Path) -> None:
    held = export.export(folder, "P1", "asked for it")
    (visits,) = held.tables
    assert [row[1] for row in visits["rows"]] == ["aLICe", "bob"]


def test_a_network_has_the_edges_that_are_written(folder: Path, sent: list[str]) -> None:
    (folder / "obverse.toml").write_text(NETWORK)
    with obverse.open(folder) as session:
        (graph,) = session.catalog.graphs.values()
        assert listed(session.catalog, graph, session.engine, ()).people == 4
        found = session.engine.run(edges_sql(session.catalog, graph, session.engine), timeout_s=60).reveal()
        assert sorted(zip(found["u"].tolist(), found["v"].tolist())) == [(0, 3), (2, 3)]  # Ann, BOB, ann, bob
    assert sent
    assert not [text for text in sent if TEXT.search(text)]


def test_an_answer_of_an_earlier_version_is_not_given_where_equality_was_another(folder: Path) -> None:
    """Versions up to 0.1 compared by the collation, and called a question by a name that says nothing of it."""
    import duckdb

    def former(project: Path) -> Any:
        with obverse.open(project) as session:
            planned = session.prepare("SELECT COUNT(*) FROM visits WHERE name = 'alice'", Wish(1)).planned
            assert planned is not None
            return former_names((planned,), session.catalog, "v1")

    (folder / "obverse.toml").write_text(TOML.replace('"auto"', "{ rows = 3 }"))
    assert former(folder) is None
    for name in ("data", "public"):
        (folder / f"{name}.duckdb").unlink()
        with duckdb.connect(str(folder / f"{name}.duckdb")) as connection:
            connection.execute((MADE if name == "data" else PUBLIC).replace(" COLLATE NOCASE", ""))
    assert former(folder) is not None
