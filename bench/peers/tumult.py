"""Tumult Analytics on the Spark that it pins: `tumult.py ROWS QUESTION` in its own environment (see setup.py).

A user keeps at most 10 rows, as with us. It answers one aggregate at a time, so sums and averages are two questions for
half of the budget each: sums and counts, whose quotients, put back into the declared bounds, err less than its own
averages.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import cpu
import trips
from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, ApproxDPBudget, KeySet, MaxRowsPerID, QueryBuilder, Session

os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers run by another Python

SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def prepare(rows: int, name: str) -> tuple[Callable[[], Any], Callable[[Any], trips.Values]]:
    builder = SparkSession.builder.master("local[2]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    scratch = tempfile.mkdtemp(prefix="obverse-bench-tumult-")
    atexit.register(shutil.rmtree, scratch, True)
    builder = builder.config("spark.local.dir", scratch).config("spark.sql.warehouse.dir", f"{scratch}/warehouse")
    frame = builder.getOrCreate().read.parquet(str(trips.table(rows)))

    def session() -> Any:
        budget = ApproxDPBudget(trips.EPSILON, trips.DELTA)
        return Session.from_dataframe(budget, "trips", frame, protected_change=AddRowsWithID("user_id"))

    def bounded() -> Any:
        return QueryBuilder("trips").enforce(MaxRowsPerID(trips.ROWS_PER_USER))

    def by_city() -> Any:
        query = bounded().groupby(KeySet.from_dict({"city": trips.CITIES})).count(name="n")
        return session().evaluate(query, ApproxDPBudget(trips.EPSILON, trips.DELTA)).collect()

    def sums() -> Any:
        keys = KeySet.from_dict({"city": trips.CITIES, "product": trips.PRODUCTS})
        asked = session()
        half = ApproxDPBudget(trips.EPSILON / 2, trips.DELTA / 2)
        added = asked.evaluate(bounded().groupby(keys).sum("fare", 0.0, 100.0, name="s"), half).collect()
        counted = asked.evaluate(bounded().groupby(keys).count(name="n"), half).collect()
        counts = {(r["city"], r["product"]): r["n"] for r in counted}
        return [(r["city"], r["product"], r["s"], counts[r["city"], r["product"]]) for r in added]

    def read(found: Any) -> trips.Values:
        if name == "count by city":
            return trips.by_key(name, [(r["city"], r["n"]) for r in found])
        return trips.by_key(name, [(c, p, s, min(max(s / max(n, 1), 0.0), 100.0)) for c, p, s, n in found])

    return {"count by city": by_city, "sum+avg by city x product": sums}[name], read


if __name__ == "__main__":
    given = int(sys.argv[1]), sys.argv[2]
    me = os.getpid()
    trips.one("tumult", *given, lambda: prepare(*given), lambda: cpu.tree_cpu_s(me), lambda: cpu.tree_peak_mb(me))
