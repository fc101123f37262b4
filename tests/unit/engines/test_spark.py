"""Spark over files, tables and frames: what it reads, what it refuses, and what it keeps to itself."""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from obverse.catalog.load import loads
from obverse.catalog.model import Catalog, Source
from obverse.core.errors import CatalogError, Failed, InvariantBroken, Refused
from obverse.engines.spark import SparkEngine, arrow_table, key_values
from obverse.engines.spark_session import SETTINGS, settle
from tests.servers import spark_session

TOML = """
[project]
name = "p"
[budget]
epsilon = 4
[tables.people]
source = "python"
unit = "id"
[tables.people.columns]
id = { type = "integer" }
town = { type = "text" }
"""
ROWS = pa.table({"id": [1, 2, 3], "town": ["a", "b", None]})
COUNT = "SELECT COUNT(*) AS k, COUNT(town) AS m0 FROM `people`"


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def declared(source: Source, **engine: str) -> Catalog:
    catalog = loads(TOML, Path("/"))
    tables = {"people": replace(catalog.tables["people"], source=source)}
    return replace(catalog, tables=tables, engine={"kind": "spark", **engine})


def counted(engine: SparkEngine) -> list[tuple[object, ...]]:
    try:
        return list(engine.run_public(COUNT, timeout_s=60).rows)
    finally:
        engine.close()


def test_a_file_a_folder_a_table_and_frames_hold_the_same(spark: Any, tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "people.parquet")
    folder = tmp_path / "folder.parquet"
    folder.mkdir()
    pq.write_table(ROWS.slice(0, 1), folder / "a.parquet")
    pq.write_table(ROWS.slice(1), folder / "b.parquet")
    frame = spark.createDataFrame(ROWS)
    frame.createOrReplaceGlobalTempView("kept_people")
    for source in (
        Source("parquet", tmp_path / "people.parquet"),
        Source("parquet", folder),
        Source("table", table="global_temp.kept_people"),
    ):
        assert counted(SparkEngine(declared(source))) == [(3, 2)]
    for handed in (ROWS, ROWS.to_pandas(), frame):
        assert counted(SparkEngine(declared(Source("object")), {"people": handed})) == [(3, 2)]
    assert not spark.catalog.tableExists("people")


def test_types_have_the_names_that_catalogs_know(spark: Any) -> None:
    frame = spark.sql(
        "SELECT 1 AS i, 1L AS l, 1.5D AS d, 2.50BD AS n, 'a' AS s, TRUE AS b, DATE '2020-01-01' AS day,"
        " TIMESTAMP_NTZ '2020-01-01' AS ts, TIMESTAMP_LTZ '2020-01-01' AS z, array(1) AS a"
    )
    engine = SparkEngine(declared(Source("object")), {"people": frame})
    names = ["INTEGER", "BIGINT", "DOUBLE", "DECIMAL(3,2)", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP"]
    assert list(engine.schema("people").values()) == [*names, "TIMESTAMP WITH TIME ZONE", "ARRAY<INT>"]
    engine.close()


def test_a_frame_is_taken_whatever_its_columns_hold() -> None:
    odd = pd.DataFrame({"mixed": [1, "a", None], "when": pd.to_datetime(["2020-01-01", None, "2021-01-01"])})
    table = arrow_table(odd)
    assert table["mixed"].to_pylist() == ["1", "a", None]
    assert table["when"].type == pa.timestamp("us")
    arrays = {"u": pa.array([2**64 - 1], pa.uint64()), "e": pa.array(["a"]).dictionary_encode(), "x": pa.array([[1]])}
    assert arrow_table(pa.table(arrays)).schema.types == [pa.decimal128(20, 0), pa.string(), pa.string()]


def test_keys_are_pythons_own_values() -> None:
    column = pa.chunked_array([pa.array([dt.date(2020, 1, 2), None])])
    assert key_values(column).tolist() == [dt.datetime(2020, 1, 2), None]
    assert key_values(pa.chunked_array([pa.array(["a", None])])).tolist() == ["a", None]


def test_only_integers_without_null_leave_spark(spark: Any) -> None:
    engine = SparkEngine(declared(Source("object")), {"people": ROWS})
    for sql in (
        "SELECT CAST(NULL AS BIGINT) AS k",
        "SELECT CAST(1 AS DECIMAL(38, 0)) AS k",
        "SELECT 'a' AS k",
        "SELECT 1 AS k",
    ):
        with pytest.raises(InvariantBroken):
            engine.run(sql, timeout_s=60)
    engine.run("SELECT 1L AS k, 'a' AS f0", timeout_s=60)
    engine.close()


def test_nothing_but_a_question_is_run(spark: Any) -> None:
    engine = SparkEngine(declared(Source("object")), {"people": ROWS})
    with pytest.raises(Failed):
        engine.run("DROP VIEW people", timeout_s=60)
    with pytest.raises(Refused):
        engine.run_public("SET spark.sql.ansi.enabled = false", timeout_s=60)
    assert counted(engine) == [(3, 2)]


def test_no_value_is_written_to_a_log(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    engine = SparkEngine(declared(Source("object")), {"people": ROWS})
    raising = "SELECT CAST('eve' || CAST(id AS STRING) AS BIGINT) AS k FROM people"
    with pytest.raises(Failed, match="engine_failure"):
        engine.run(raising, timeout_s=60)
    with pytest.raises(Refused, match="engine_failure"):
        engine.run_public(raising, timeout_s=60)
    assert not engine.readable("people", raising)
    assert engine.readable("people", COUNT)
    engine.close()
    said = capfd.readouterr()
    assert "eve" not in said.out + said.err


def test_a_file_that_is_written_to_meanwhile_gives_no_answer(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(ROWS, path)
    engine = SparkEngine(declared(Source("parquet", path)))
    fetch = engine._fetch

    def touched(sql: str, timeout_s: float) -> Any:
        found = fetch(sql, timeout_s)
        os.utime(path, ns=(1, 1))
        return found

    monkeypatch.setattr(engine, "_fetch", touched)
    with pytest.raises(Failed):
        engine.run("SELECT COUNT(*) AS k FROM people", timeout_s=60)
    engine.close()


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (Source("object"), "source_missing"),
        (Source("parquet", Path("/nowhere/people.parquet")), "source_missing"),
        (Source("csv", Path("/nowhere/people.csv")), "bad_source"),
        (Source("table", table="nobody.knows"), "source_unreadable"),
    ],
)
def test_a_source_that_is_not_there_is_refused(source: Source, code: str, spark: Any) -> None:
    with pytest.raises(CatalogError) as refused:
        SparkEngine(declared(source))
    assert refused.value.code == code


def test_a_pattern_of_files_is_refused(spark: Any, tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "{a,b}.parquet")
    with pytest.raises(CatalogError) as refused:
        SparkEngine(declared(Source("parquet", tmp_path / "{a,b}.parquet")))
    assert refused.value.code == "bad_source"


def test_an_address_that_is_not_one_of_spark_connect_is_refused() -> None:
    with pytest.raises(CatalogError) as refused:
        SparkEngine(declared(Source("object"), url="spark://host:7077"), {"people": ROWS})
    assert refused.value.code == "engine_unreachable"


def test_a_session_that_cannot_be_set_is_refused(spark: Any) -> None:
    class Stubborn:
        """A session that keeps one setting as it is."""

        def __init__(self, key: str) -> None:
            self.key = key
            self.version = spark.version
            self.conf = self

        def set(self, key: str, value: str) -> None:
            if key == self.key:
                raise RuntimeError("not allowed")

        def get(self, key: str) -> str:
            return "otherwise" if key == self.key else SETTINGS[key]

    for key in SETTINGS:
        with pytest.raises(CatalogError, match=key) as refused:
            settle(Stubborn(key))
        assert refused.value.code == "engine_unfit"
    old = Stubborn("")
    old.version = "3.5.1"
    with pytest.raises(CatalogError, match="version 4"):
        settle(old)
    settle(spark)


def test_a_session_whose_plain_texts_are_collated_is_refused(spark: Any) -> None:
    class Folded:
        """A session in which a text without a collation is compared whatever the case of its letters."""

        def __init__(self, plain: str) -> None:
            self.plain = plain
            self.version = spark.version
            self.conf = spark.conf

        def sql(self, text: str) -> Any:
            assert self.plain in text
            return spark.sql(text.replace(f"{self.plain} = 'A'", f"{self.plain} = 'A' COLLATE UTF8_LCASE"))

    for plain in ("'a'", "CAST(X'61' AS STRING)"):
        with pytest.raises(CatalogError, match="literals"):
            settle(Folded(plain))
    settle(spark)


def test_the_callers_own_session_keeps_its_settings(spark: Any) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    engine = SparkEngine(declared(Source("object")), {"people": spark.createDataFrame(ROWS)})
    assert engine.run_public("SELECT current_timezone()", timeout_s=60).rows == (("UTC",),)
    assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    engine.close()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
