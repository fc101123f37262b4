"""Which tables an advisory is about: those whose queries read an affected source, on the engine that it names."""

from __future__ import annotations

from pathlib import Path

import duckdb
import psycopg
import pytest

from obverse.curator import check
from obverse.curator.check import advised
from obverse.session.project import load_project
from tests import distribution

TOML = """
[project]
name = "homes"
{engine}
[budget]
epsilon = 1
[tables.people]
source = "{people}"
unit = "person"
[tables.homes]
source = "{homes}"
unit = "person -> people.person"
limits = {{ rows = 2 }}
[tables.homes.columns]
home = {{ type = "text" }}
[tables.visits]
source = "{visits}"
unit = "home -> homes.home -> people.person"
limits = {{ rows = 2 }}
[tables.visits.columns]
home = {{ type = "text" }}
town = {{ type = "text", values = "towns.town" }}
[tables.towns]
source = "{towns}"
public = true
"""
TABLES = ("people", "homes", "visits", "towns")


def made(folder: Path, homes: str, towns: str) -> dict[str, frozenset[str]]:
    with duckdb.connect(str(folder / "store.duckdb")) as connection:
        connection.execute("CREATE TABLE people (person VARCHAR)")
        connection.execute(f"CREATE TABLE homes (person VARCHAR, home {homes})")
        connection.execute("CREATE TABLE visits (home VARCHAR, town VARCHAR)")
        connection.execute(f"CREATE TABLE towns (town {towns}); INSERT INTO towns VALUES ('Ahr')")
    sources = {name: f"store.duckdb:{name}" for name in TABLES}
    (folder / "obverse.toml").write_text(TOML.format(engine="", **sources), encoding="utf-8")
    project = load_project(folder)
    try:
        return advised(project)
    finally:
        project.engine.close()


def test_a_collated_key_touches_the_tables_that_reach_their_unit_through_it(tmp_path: Path) -> None:
    assert made(tmp_path, "VARCHAR COLLATE NOCASE", "VARCHAR")[check.COLLATION] == {"homes", "visits"}


def test_a_collated_list_of_values_touches_the_tables_that_declare_it(tmp_path: Path) -> None:
    assert made(tmp_path, "VARCHAR", "VARCHAR COLLATE NOCASE")[check.COLLATION] == {"towns", "visits"}


def test_nothing_is_touched_where_all_texts_are_bytes(tmp_path: Path) -> None:
    assert not any(made(tmp_path, "VARCHAR", "VARCHAR").values())


def test_an_engine_that_read_texts_by_bytes_before_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = distribution.database()
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("CREATE EXTENSION citext; CREATE TABLE people (person TEXT)")
        owner.execute("CREATE TABLE homes (person TEXT, home CITEXT)")
        owner.execute("CREATE TABLE visits (home TEXT, town TEXT); CREATE TABLE towns (town CITEXT)")
        owner.execute("INSERT INTO towns VALUES ('Ahr')")
    monkeypatch.setenv("OBVERSE_TESTS_ADVISED", address)
    engine = '[engine]\nkind = "postgres"\ndsn_env = "OBVERSE_TESTS_ADVISED"'
    sources = {name: f"public.{name}" for name in TABLES}
    (tmp_path / "obverse.toml").write_text(TOML.format(engine=engine, **sources), encoding="utf-8")
    project = load_project(tmp_path)
    try:
        assert not any(advised(project).values())
    finally:
        project.engine.close()
