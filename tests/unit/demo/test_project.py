from __future__ import annotations

import json
import os
from pathlib import Path

import duckdb
import pytest

from obverse.catalog.load import load
from obverse.core.errors import Refused
from obverse.demo import project as demo
from obverse.demo.project import matches, write_demo

TABLES = ("people.parquet", "visits.parquet", "clinics.csv")
ALL = {"obverse.toml", *TABLES, "manifest.json"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "new" / "hospital"
    write_demo(folder)
    return folder


def test_the_demo_is_a_project_whose_tables_the_manifest_lists(project: Path) -> None:
    assert {file.name for file in project.iterdir()} == ALL
    sources = [table.source.path for table in load(project).tables.values()]
    assert matches(project / "manifest.json", [path for path in sources if path is not None])


def test_the_demo_is_in_the_schema_of_the_corpus(project: Path) -> None:
    described = {
        name: [row[:2] for row in duckdb.sql(f"DESCRIBE FROM '{project / name}'").fetchall()] for name in TABLES[:2]
    }
    assert described["people.parquet"] == [
        ("person_id", "BIGINT"),
        ("name", "VARCHAR"),
        ("age", "BIGINT"),
        ("zip", "VARCHAR"),
        ("sex", "VARCHAR"),
        ("salary", "DOUBLE"),
        ("hiv", "BOOLEAN"),
        ("joined", "DATE"),
    ]
    assert [kind for _, kind in described["visits.parquet"]] == ["BIGINT", "BIGINT", "VARCHAR", "DOUBLE", "TIMESTAMP"]


def test_two_demos_hold_the_same_values_in_different_bytes(project: Path, tmp_path: Path) -> None:
    write_demo(tmp_path)
    for name in TABLES[:2]:
        assert (project / name).read_bytes() != (tmp_path / name).read_bytes()
        differing = f"SELECT count(*) FROM (FROM '{project / name}' EXCEPT ALL FROM '{tmp_path / name}')"
        assert duckdb.sql(differing).fetchall() == [(0,)]


def test_what_is_there_is_kept_and_told(project: Path) -> None:
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in project.iterdir()}
    assert write_demo(project) == [
        f"kept {name}, which is there already" for name in ("obverse.toml", *TABLES, "manifest.json")
    ]
    assert {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in project.iterdir()} == before


def test_a_foreign_file_is_kept_and_never_signed_as_synthetic(tmp_path: Path) -> None:
    (tmp_path / "people.parquet").write_bytes(b"real people")
    said = write_demo(tmp_path)
    assert "kept people.parquet, which is there already" in said
    assert (tmp_path / "people.parquet").read_bytes() == b"real people"
    assert "people.parquet" not in json.loads((tmp_path / "manifest.json").read_text())["files"]
    assert not matches(tmp_path / "manifest.json", [tmp_path / "people.parquet"])


def test_a_dangling_link_is_something_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "obverse.toml").symlink_to(tmp_path / "nowhere")
    assert write_demo(tmp_path)[0].startswith("kept")
    assert not (tmp_path / "nowhere").exists()


def test_a_failure_in_the_middle_leaves_no_half_written_file(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        demo._write_once(tmp_path / "a.csv", fail)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    def slow(path: Path) -> None:
        path.write_bytes(b"ours")
        (tmp_path / "a.csv").write_bytes(b"theirs")

    assert not demo._write_once(tmp_path / "a.csv", slow)
    assert (tmp_path / "a.csv").read_bytes() == b"theirs"
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


def test_a_file_system_without_links_is_served_by_renaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError("not supported")

    monkeypatch.setattr(os, "link", no_links)
    assert demo._write_once(tmp_path / "a.csv", lambda path: demo._write_text(path, "x"))
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused) as caught:
        write_demo(tmp_path / "file")
    assert caught.value.code == "cannot_write"
