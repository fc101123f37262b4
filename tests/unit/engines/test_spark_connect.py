"""A project on Spark Connect, the whole way, with a server that is a process of its own."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

import obverse
from obverse.core.errors import CatalogError, Failed
from obverse.engines.spark_session import SETTINGS, session_for
from tests.connect_server import TABLE, connect_address
from tests.servers import needed, spark_session

grpc = needed("grpc")
needed("pyspark.sql.connect.proto")
ANSI = "spark.sql.ansi.enabled"
TOML = """
[project]
name = "clinic"
[engine]
kind = "spark"
url = "{url}"
[budget]
epsilon = 10
delta = 1e-6
[tables.visits]
source = "{source}"
unit = "person"
[tables.visits.columns]
ward = {{ type = "text", values = ["a", "b"] }}
town = {{ type = "text" }}
"""
COUNTED = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward"


@pytest.fixture(scope="module")
def url() -> str:
    spark_session()  # what it needs, this needs
    return connect_address()


def project(folder: Path, url: str, source: str = TABLE) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "obverse.toml").write_text(TOML.format(url=url, source=source))
    return folder


def assert_thousands(rows: Any) -> None:
    assert [row[0] for row in rows] == ["a", "b"]
    assert all(abs(row[1] - 1000) < 30 for row in rows)


def test_a_folder_is_asked_through_the_server_and_remembered(url: str, tmp_path: Path) -> None:
    (tmp_path / "visits").mkdir()
    for n in range(2):
        rows = "SELECT range + 1000 * {} AS person, CASE WHEN range % 2 = 0 THEN 'a' ELSE 'b' END AS ward, 'x' AS town"
        path = tmp_path / "visits" / f"{n}.parquet"
        duckdb.connect().execute(f"COPY ({rows.format(n)} FROM range(1000)) TO '{path}' (FORMAT parquet)")
    with obverse.open(project(tmp_path, url, "visits/")) as session:
        assert_thousands(session.ask(COUNTED, epsilon=6).rows)
    with obverse.open(tmp_path) as session:
        assert session.ask(COUNTED, epsilon=6).price.stored
        assert session.ledger.spent().amount == 6


def test_a_table_of_its_catalog_has_one_budget_wherever_a_project_lies(url: str, tmp_path: Path) -> None:
    with obverse.open(project(tmp_path / "one", url)) as session:
        assert_thousands(session.ask(COUNTED, epsilon=6).rows)
    with obverse.open(project(tmp_path / "other", url)) as session:
        assert session.ledger.spent().amount == 6


def test_keys_that_are_discovered_come_in_batches(url: str, tmp_path: Path) -> None:
    with obverse.open(project(tmp_path, url)) as session:
        rows = session.ask(
            "SELECT town, COUNT(*) AS n FROM visits GROUP BY town ORDER BY town", epsilon=6, delta=1e-8
        ).rows
    assert [row[0] for row in rows] == ["town 0", "town 1", "town 2"]
    assert all(abs(row[1] - 667) < 30 for row in rows)


def test_what_answers_depend_on_is_set_and_holds(url: str, tmp_path: Path) -> None:
    with obverse.open(project(tmp_path, url)) as session:
        found = {key: session.engine._session.conf.get(key) for key in SETTINGS}
        assert found == SETTINGS
        with pytest.raises(Failed, match="engine_failure"):  # which would wrap otherwise
            session.engine.run("SELECT 9223372036854775807 + id AS k FROM range(1, 2)", timeout_s=60)


@pytest.fixture
def stubborn(url: str) -> Iterator[str]:
    """The address of a server that lets nobody set ANSI, and is the other one in all else."""
    from pyspark.sql.connect.proto import base_pb2_grpc as service

    channel = grpc.insecure_channel(url.removeprefix("sc://"))
    behind = service.SparkConnectServiceStub(channel)

    class Stubborn(service.SparkConnectServiceServicer):  # type: ignore[misc, name-defined]
        def Config(self, request: Any, context: Any) -> Any:
            if any(pair.key == ANSI for pair in request.operation.set.pairs):
                context.abort(grpc.StatusCode.PERMISSION_DENIED, "not for you")
            return behind.Config(request)

        def AnalyzePlan(self, request: Any, context: Any) -> Any:
            return behind.AnalyzePlan(request)

        def ReleaseSession(self, request: Any, context: Any) -> Any:
            return behind.ReleaseSession(request)

    server = grpc.server(ThreadPoolExecutor(4))
    service.add_SparkConnectServiceServicer_to_server(Stubborn(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"sc://127.0.0.1:{port}"
    server.stop(None).wait()
    channel.close()


def test_a_server_that_lets_nobody_set_ansi_is_refused(stubborn: str, tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=f"{ANSI} = true") as refused, obverse.open(project(tmp_path, stubborn)):
        pass
    assert refused.value.code == "engine_unfit"


def test_a_server_that_does_not_answer_is_told_soon(tmp_path: Path) -> None:
    with socket.socket() as bound:  # and nobody listens
        bound.bind(("127.0.0.1", 0))
        started = time.monotonic()
        with pytest.raises(CatalogError) as refused:
            obverse.open(project(tmp_path, f"sc://127.0.0.1:{bound.getsockname()[1]}"))
    assert refused.value.code == "engine_unreachable"
    assert time.monotonic() - started < 60


def test_a_local_spark_goes_on_beside_it(url: str) -> None:
    session = session_for(url, ())
    try:
        assert spark_session().sql("SELECT 7").collect()[0][0] == 7
        assert session_for(None, ()).sql("SELECT 8").collect()[0][0] == 8
    finally:
        session.stop()
