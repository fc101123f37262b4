"""A project over a folder of Parquet files on Spark, the whole way; and by what a folder is known again."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

import obverse
from obverse.core.errors import CatalogError
from tests.servers import spark_session

TOML = """
[project]
name = "clinic"
[engine]
kind = "spark"
[budget]
epsilon = 10
[tables.visits]
source = "visits/"
unit = "person"
limits = { rows = 3 }
[tables.visits.columns]
ward = { type = "text", values = ["a", "b"] }
"""
COUNTED = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward"


def written(folder: Path) -> None:
    for year in (2023, 2024):
        (folder / "visits" / f"year={year}").mkdir(parents=True)
    (folder / "visits" / "_SUCCESS").touch()
    for n, path in enumerate(("visits/year=2023/p0.parquet", "visits/year=2024/p1.parquet")):
        rows = (
            f"SELECT range + 1000 * {n} AS person, CASE WHEN range % 2 = 0 THEN 'a' ELSE 'b' END AS ward FROM "
            "range(1000)"
        )
        duckdb.connect().execute(f"COPY ({rows}) TO '{folder / path}' (FORMAT parquet)")
    (folder / "obverse.toml").write_text(TOML)


def test_a_folder_is_asked_and_its_files_are_known_wherever_they_are_put(tmp_path: Path) -> None:
    spark_session()
    written(tmp_path)
    with obverse.open(tmp_path) as session:
        rows = session.ask(COUNTED, epsilon=6).rows
    assert [row[0] for row in rows] == ["a", "b"]
    assert all(abs(row[1] - 1000) < 30 for row in rows)
    with obverse.open(tmp_path) as session:
        assert session.ask(COUNTED, epsilon=6).price.stored
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(tmp_path / "visits" / "year=2023" / "p0.parquet", elsewhere / "one.parquet")
    (elsewhere / "obverse.toml").write_text(TOML.replace('"visits/"', '"one.parquet"').replace('kind = "spark"', ""))
    with obverse.open(elsewhere) as session:
        assert session.ledger.spent().amount == 6
    public = TOML[: TOML.index("[tables.visits]")] + '[tables.visits]\nsource = "visits/"\npublic = true\n'
    (tmp_path / "obverse.toml").write_text(public)
    with pytest.raises(CatalogError) as error, obverse.open(tmp_path):
        pass
    assert error.value.code == "public_is_private"
