"""Trips on a local Spark of two threads, read from Parquet: the session that both sides share, and the hand-written
SQL.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import Any

import asking
import cpu
import trips

SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "4",  # two for each thread; the default of 200 is for clusters
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "OFF",
}
FEW = 1000  # rows of the table on which only what Spark does once per question is left
QUIET_S = 0.3  # after a question Spark tidies up in the background, which is to count for it and not for the next
ONE = "1073741824L"  # a whole row's weight, as in asking.HAND
CENTS = "CAST(rint(least(greatest(fare, 0D), 100D) * 100D) AS BIGINT)"
ROWS = trips.ROWS_PER_USER
GROUPS = trips.GROUPS_PER_USER
WEIGHT = f"least({ONE}, ({ONE} * {ROWS}) div count(*))"
WEIGHTS = f"JOIN (SELECT user_id, {WEIGHT} AS w FROM trips GROUP BY user_id) USING (user_id)"
HAND = {
    "count": f"SELECT sum(least(n, {ROWS})) FROM (SELECT count(*) AS n FROM trips GROUP BY user_id)",
    "count by city": f"SELECT city, sum(w) FROM trips {WEIGHTS} GROUP BY city",
    "sum+avg by city x product": f"""
        SELECT city, product, sum(cents * w_sum), sum(cents * w) - 5000 * sum(w), sum(w)
        FROM (SELECT user_id, city, product, {CENTS} AS cents FROM trips) JOIN (
            SELECT user_id, {WEIGHT} AS w, least({ONE}, ({ONE} * {asking.SUM_CAP}) div greatest(1L, sum({CENTS}))) AS \
w_sum
            FROM trips GROUP BY user_id) USING (user_id) GROUP BY city, product""",
    "median by product": f"SELECT product, {CENTS} AS cents, sum(w) FROM trips {WEIGHTS} GROUP BY product, cents",
    "users by city": f"""
        SELECT city, sum(least({ONE}, ({ONE} * {GROUPS}) div n)) FROM (
            SELECT city, count(*) OVER (PARTITION BY user_id) AS n FROM (SELECT DISTINCT user_id, city FROM trips))
        GROUP BY city""",
}


def load(rows: int) -> None:
    for size in (rows, FEW):
        trips.table(size)


def session() -> Any:
    """The Spark of this process; obverse takes a session of its own in it, with these settings."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("obverse-bench")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    scratch = tempfile.mkdtemp(prefix="obverse-bench-spark-")
    atexit.register(shutil.rmtree, scratch, True)
    builder = builder.config("spark.local.dir", scratch).config("spark.sql.warehouse.dir", f"{scratch}/warehouse")
    return builder.getOrCreate()


def rows_of(found: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in found.columns)))


def opened(rows: int, name: str) -> tuple[Callable[[], Any], Callable[[], float]]:
    """The hand-written question, and the clock: this process, the JVM that it started, and whatever that started."""
    here = session().newSession()
    here.read.parquet(str(trips.table(rows))).createOrReplaceTempView("trips")

    def hand() -> Any:
        return here.sql(HAND[name]).toArrow()

    def clock() -> float:
        time.sleep(QUIET_S)
        return cpu.tree_cpu_s(os.getpid())

    return hand, clock
