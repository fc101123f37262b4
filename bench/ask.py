"""What asking costs beyond the engine's own work: planning, noising a million groups, and the clamp inside a sum.

Ratios are taken within one run, in CPU seconds of this process, best of several. Run by `make bench`.
"""

from __future__ import annotations

import datetime as dt
import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np

from obverse.catalog.load import loads
from obverse.core.rng import Rng
from obverse.core.secret import Exact
from obverse.plan.release.noise import randomize
from obverse.plan.release.postprocess import finish
from obverse.session.planning import Planned, Wish, plan, read
from obverse.session.project import load_project

ROWS = int(os.environ.get("BENCH_ROWS", "10000000"))
GROUPS = 1_000_000
TOML = """
[project]
name = "trips"
[privacy]
epsilon = 0.1
[budget]
epsilon = 100
[tables.trips]
source = "trips.parquet"
unit = "row"
[tables.trips.columns]
fare = { type = "double", bounds = [0, 500], grid = 0.01 }
city = { type = "integer", bounds = [0, 999], nullable = false }
hour = { type = "integer", bounds = [0, 999], nullable = false }
"""


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def best(work: Callable[[], object], times: int) -> float:
    """The least CPU seconds of several runs."""
    found = []
    for _ in range(times):
        start = cpu_s()
        work()
        found.append(cpu_s() - start)
    return min(found)


def planned(sql: str, catalog: object) -> Planned:
    question = read(sql, catalog, dt.datetime(2026, 1, 1))  # type: ignore[arg-type]
    return plan(sql, question, catalog, Wish())  # type: ignore[arg-type]


def report(what: str, value: str, bar: str, holds: bool) -> bool:
    print(f"{what:<46} {value:>22}   bar {bar:<26} {'holds' if holds else 'MISSED'}")
    return holds


def planning() -> bool:
    catalog = loads(TOML, Path("."))
    sql = "SELECT city, COUNT(*), AVG(fare) FROM trips WHERE hour < 12 GROUP BY city ORDER BY 2 DESC LIMIT 10"
    small = "SELECT COUNT(*), AVG(fare) FROM trips WHERE hour < 12"
    planned(sql, catalog)
    cost = best(lambda: [planned(small, catalog) for _ in range(20)], 5) / 20
    return report("planning a small question", f"{1000 * cost:.1f} ms", "10 ms", cost < 0.010)


def million_groups() -> bool:
    catalog = loads(TOML, Path("."))
    one = planned("SELECT city, hour, COUNT(*) FROM trips GROUP BY city, hour", catalog)
    sums = np.random.default_rng(0).integers(0, 100, GROUPS)
    exact = Exact({"k": np.arange(GROUPS), "m0": sums})
    cost = best(lambda: finish(randomize(exact, one.costed, Rng()), one.costed), 3)
    return report("a million groups noised and finished", f"{cost:.2f} s", "2 s", cost < 2.0)


def clamped_sum(folder: Path) -> bool:
    source = folder / "trips.parquet"
    duckdb.connect().execute(
        "COPY (SELECT round(random() * 500, 2) AS fare, (i % 1000)::INTEGER AS city, (i % 997)::INTEGER AS hour "
        f"FROM range({ROWS}) t(i)) TO '{source}'"
    )
    (folder / "obverse.toml").write_text(TOML)
    project = load_project(folder)
    sql = "SELECT SUM(fare) FROM trips"
    ours = planned(sql, project.catalog).sql
    plain = duckdb.connect()
    plain.execute(f"CREATE VIEW trips AS SELECT * FROM read_parquet('{source}')")
    theirs = mine = float("inf")
    for _ in range(9):  # in turn, so that whatever else the machine does meets both alike
        theirs = min(theirs, best(lambda: plain.execute(sql).fetchall(), 1))
        mine = min(mine, best(lambda: project.engine.run(ours, timeout_s=600), 1))
    project.engine.close()
    allowed = 1.25 * theirs + 0.020
    value = f"{mine:.3f} s, plain {theirs:.3f} s"
    return report(f"SUM on the grid, {ROWS:,} row units", value, f"{allowed:.3f} s = 1.25 x + 20 ms", mine <= allowed)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        results = [planning(), million_groups(), clamped_sum(Path(folder))]
    raise SystemExit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
