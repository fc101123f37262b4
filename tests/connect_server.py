"""A Spark Connect server as a process of its own, on a free port of this machine; it ends when its standard input
does.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import pytest

START_S = 300
TABLE = "clinic.visits"  # of its catalog
SETTINGS = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.ansi.enabled": "false",  # what a session must set for itself
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
ROWS = "SELECT id AS person, IF(id % 2 = 0, 'a', 'b') AS ward, concat('town ', id % 3) AS town FROM range(2000)"


@functools.cache
def connect_address() -> str:
    """The address of the server of this process, which is started when it is first asked for."""
    folder = Path(tempfile.mkdtemp(prefix="obverse-connect-"))
    atexit.register(shutil.rmtree, folder, True)
    own = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    with (folder / "said").open("w") as said:
        server = subprocess.Popen(
            [sys.executable, __file__, str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, env=own, text=True,
        )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    atexit.register(server.wait)
    atexit.register(server.stdin.close)
    late = threading.Timer(START_S, server.kill)
    late.start()
    port = server.stdout.readline().strip()
    late.cancel()
    if not port:
        pytest.fail(f"the Spark Connect server did not start: {(folder / 'said').read_text()[-2000:]}")
    return f"sc://127.0.0.1:{port}"


def serve(folder: str) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("obverse-connect")
    for key, value in (
        SETTINGS | {"spark.local.dir": folder, "spark.sql.warehouse.dir": f"{folder}/warehouse"}
    ).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sql(f"CREATE DATABASE {TABLE.split('.')[0]}")
    spark.sql(f"CREATE TABLE {TABLE} USING parquet AS {ROWS}")
    service = getattr(spark._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    print(getattr(service, "MODULE$").localPort(), flush=True)
    sys.stdin.read()
    with suppress(Exception):  # at once, whoever is still connected; nobody is left to be told
        spark._jvm.java.lang.Runtime.getRuntime().halt(0)
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
