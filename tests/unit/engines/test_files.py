"""A file that is exchanged while it is read gives no answer: weights of one file do not bound the rows of another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from obverse.catalog.load import loads
from obverse.core.errors import Failed
from obverse.engines.duckdb import DuckDBEngine

TOML = """
[project]
name = "files"
[budget]
epsilon = 1
[tables.t]
source = "t.parquet"
unit = "row"
"""


def written(path: Path, rows: int) -> None:
    duckdb.connect().execute(f"COPY (SELECT range AS i FROM range({rows})) TO '{path}' (FORMAT parquet)")


def exchanged(path: Path) -> None:
    written(path.with_suffix(".new"), 9)
    os.replace(path.with_suffix(".new"), path)


def removed(path: Path) -> None:
    path.unlink()


def touched(path: Path) -> None:
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000))


def swapped(path: Path) -> None:
    """For another file of the same size and time."""
    old = path.stat()
    new = path.with_suffix(".new")
    new.write_bytes(path.read_bytes())
    os.utime(new, ns=(old.st_atime_ns, old.st_mtime_ns))
    os.replace(new, path)


befalls = pytest.mark.parametrize("change", [exchanged, removed, touched, swapped])
pytestmark = pytest.mark.skipif(os.name == "nt", reason="a file that is open can be exchanged only elsewhere")


@befalls
def test_a_file_that_changes_during_a_question_gives_no_answer(
    change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    written(path, 5)
    engine = DuckDBEngine(loads(TOML, tmp_path))
    sql = "SELECT CAST(0 AS BIGINT) AS k, COUNT(*) AS m0 FROM t"
    assert engine.run(sql, timeout_s=60).reveal()["m0"].tolist() == [5]
    fetch = engine._fetch

    def meanwhile(sql: str, timeout_s: float) -> dict[str, Any]:
        found = fetch(sql, timeout_s)
        change(path)
        return found

    monkeypatch.setattr(engine, "_fetch", meanwhile)
    with pytest.raises(Failed) as failed:
        engine.run(sql, timeout_s=60)
    assert (failed.value.code, failed.value.charged) == ("engine_failure", True)
    engine.close()


@befalls
def test_a_file_that_changes_between_two_batches_gives_no_answer(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    written(path, 5)
    engine = DuckDBEngine(loads(TOML, tmp_path))
    sql = "SELECT i AS f0, CAST(1 AS BIGINT) AS m0 FROM t"
    assert sum(len(batch.reveal()["m0"]) for batch in engine.batches(sql, timeout_s=60)) == 5
    found = engine.batches(sql, timeout_s=60)
    next(found)
    change(path)
    with pytest.raises(Failed) as failed:
        list(found)
    assert (failed.value.code, failed.value.charged) == ("engine_failure", True)
    engine.close()
