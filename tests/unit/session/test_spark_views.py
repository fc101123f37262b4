"""Views of Spark's catalog and frames that are computed: nothing is proved of them, so they are refused."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.core.errors import CatalogError
from tests.servers import spark_session

TOML = """
[project]
name = "views"
[engine]
kind = "spark"
[budget]
epsilon = 100
[tables.v]
source = "{source}"
unit = "id"
{more}
[tables.v.columns]
y = {{ type = "integer", bounds = [-100, 100] }}
"""


def project(folder: Path, source: str, more: str = "") -> Path:
    (folder / "obverse.toml").write_text(TOML.format(source=source, more=more))
    return folder


def refused(project: Path, tables: Any = None) -> CatalogError:
    with pytest.raises(CatalogError) as error, obverse.open(project, tables=tables):
        pass
    return error.value


def test_views_on_spark_are_refused_until_the_curator_answers_for_them(tmp_path: Path) -> None:
    spark = spark_session()
    name = f"views_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE DATABASE {name} LOCATION '{tmp_path}/warehouse'")
    try:
        spark.sql(f"CREATE TABLE {name}.t USING parquet AS SELECT id, CAST(id % 7 AS INT) AS y FROM range(20)")
        moved = f"CASE WHEN y < (SELECT AVG(y) FROM {name}.t) THEN 1 END"
        spark.sql(f"CREATE VIEW {name}.v AS SELECT id, {moved} AS y FROM {name}.t")
        assert refused(project(tmp_path, f"{name}.v")).code == "not_rowwise"
        with obverse.open(project(tmp_path, f"{name}.v", "rowwise = true")) as session:
            assert session.ask("SELECT COUNT(*) FROM v", epsilon=1).claim.assumes
            spark.sql(f"CREATE OR REPLACE VIEW {name}.v AS SELECT id, y FROM {name}.t")
            with pytest.raises(CatalogError) as error:
                session.ask("SELECT SUM(y) FROM v", epsilon=1)
            assert error.value.code == "source_changed"
            assert session.ledger.spent().amount == 1
    finally:
        spark.sql(f"DROP DATABASE {name} CASCADE")


def test_frames_on_spark_that_are_computed_from_other_rows_are_refused(tmp_path: Path) -> None:
    spark = spark_session()
    frame = spark.createDataFrame([(n, n % 7) for n in range(20)], "id bigint, y int")
    with obverse.open(project(tmp_path, "python"), tables={"v": frame.select("id", "y").where("y > 2")}):
        pass
    computed = frame.selectExpr("id", "CAST(SUM(y) OVER () AS INT) AS y")
    assert refused(tmp_path, {"v": computed}).code == "not_rowwise"


def test_frames_on_spark_whose_source_computes_its_rows_are_refused(tmp_path: Path) -> None:
    from pyspark.sql.datasource import DataSource, DataSourceReader

    class Rows(DataSourceReader):
        def read(self, partition: Any) -> Any:
            yield from ((n, 1) for n in range(20))

    class Computed(DataSource):
        @classmethod
        def name(cls) -> str:
            return "computed"

        def schema(self) -> str:
            return "id bigint, y int"

        def reader(self, schema: Any) -> Any:
            return Rows()

    spark = spark_session()
    spark.dataSource.register(Computed)
    frame = spark.read.format("computed").load()
    assert refused(project(tmp_path, "python"), {"v": frame}).code == "not_rowwise"
    spark.range(20).selectExpr("id", "CAST(id % 7 AS INT) AS y").write.parquet(str(tmp_path / "rows"))
    with obverse.open(tmp_path, tables={"v": spark.read.parquet(str(tmp_path / "rows"))}) as session:
        session.ask("SELECT COUNT(*) FROM v", epsilon=1)


CHANGES = {
    "column": "ALTER TABLE {} ADD COLUMN more INT",
    "collation": "ALTER TABLE {} ALTER COLUMN s TYPE STRING COLLATE UTF8_LCASE",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_of_spark_that_is_altered_refuses_the_question(tmp_path: Path, change: str) -> None:
    spark = spark_session()
    name = f"views_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE DATABASE {name} LOCATION '{tmp_path}/warehouse'")
    try:
        spark.sql(
            f"CREATE TABLE {name}.t USING parquet AS SELECT id, CAST(id % 7 AS INT) AS y, 'a' AS s FROM range(20)"
        )
        with obverse.open(project(tmp_path, f"{name}.t")) as session:
            spark.sql(CHANGES[change].format(f"{name}.t"))
            with pytest.raises(CatalogError) as error:
                session.ask("SELECT SUM(y) FROM v", epsilon=1)
            assert error.value.code == "source_changed"
            assert session.ledger.spent().amount == 0
    finally:
        spark.sql(f"DROP DATABASE {name} CASCADE")
