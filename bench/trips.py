"""The table that speed is measured on, the questions put to it, and how a question is measured.

Rows of a taxi company: users drawn with a heavy head, 200 cities (most trips in a user's own), 20 products, fares in
cents. Peers import this file in their own environments, so only the standard library is imported at its head.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
WORK = BENCH.parent / ".bench"
DATA = WORK / "data"
SEED = 20260
CHUNK = 1_000_000
CITIES = [f"city_{i:03d}" for i in range(200)]
PRODUCTS = [f"prod_{i:02d}" for i in range(20)]
ROWS_PER_USER = 10
GROUPS_PER_USER = 5
EPSILON = 1.0
DELTA = 1e-7
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))  # calls of one process, after the first
ENOUGH_S = 60.0

Values = dict[str, list[float]]  # per group key the numbers of the answer

QUESTIONS = {
    "count": "SELECT COUNT(*) FROM trips",
    "count by city": "SELECT city, COUNT(*) FROM trips GROUP BY city",
    "sum+avg by city x product": "SELECT city, product, SUM(fare), AVG(fare) FROM trips GROUP BY city, product",
    "median by product": "SELECT product, MEDIAN(fare) FROM trips GROUP BY product",
    "users by city": "SELECT city, COUNT(DISTINCT user_id) FROM trips GROUP BY city",
}
KEYS = {"count": 0, "count by city": 1, "sum+avg by city x product": 2, "median by product": 1, "users by city": 1}
PARTS = {name: ["sum", "avg"] if name.startswith("sum") else ["value"] for name in QUESTIONS}


def wanted_rows() -> list[int]:
    """The sizes to measure: BENCH_ROWS=1000000,10000000 unless told; BENCH_QUICK=1 for the smaller alone."""
    usual = "1000000" if os.environ.get("BENCH_QUICK") else "1000000,10000000"
    return [int(part) for part in os.environ.get("BENCH_ROWS", usual).split(",")]


def size_name(rows: int) -> str:
    return f"{rows // 1_000_000}M" if rows % 1_000_000 == 0 else f"{rows:,}"


def table(rows: int) -> Path:
    """The Parquet file of so many trips, written once."""
    path = DATA / f"trips_{rows}.parquet"
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        print(f"writing {path.relative_to(BENCH.parent)}", flush=True)
        beside = path.with_suffix(".part")
        write(rows, beside)
        beside.replace(path)
    return path


def write(rows: int, path: Path) -> None:
    """Rank i of the users is drawn in proportion to i^-0.6, of the cities 1/i, of the products i^-0.7."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as parquet

    def ranks(count: int, power: float) -> Any:
        weights = np.arange(1, count + 1, dtype=np.float64) ** -power
        return np.cumsum(weights) / weights.sum()

    def drawn(cumulated: Any, uniform: Any) -> Any:
        return np.searchsorted(cumulated[:-1], uniform, side="right")

    users = max(rows // 10, 1000)
    by_user = ranks(users, 0.6)
    by_city = ranks(len(CITIES), 1.0)
    by_product = ranks(len(PRODUCTS), 0.7)
    first = np.random.default_rng(SEED)
    names = first.permutation(users).astype(np.int64)
    homes = drawn(by_city, first.random(users))
    writer = None
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        rng = np.random.default_rng((SEED, start))
        user = drawn(by_user, rng.random(count))
        at_home = rng.random(count) < 0.7
        city = np.where(at_home, homes[user], drawn(by_city, rng.random(count)))
        product = drawn(by_product, rng.random(count))
        fare = np.clip(np.rint(100 * rng.gamma(2.0, 9.0 + 0.3 * product)), 0, 10_000) / 100
        chunk = pa.table(
            {
                "user_id": names[user],
                "city": pa.array(CITIES).take(pa.array(city)),
                "product": pa.array(PRODUCTS).take(pa.array(product)),
                "fare": fare,
            }
        )
        if writer is None:
            writer = parquet.ParquetWriter(path, chunk.schema, compression="zstd")
        writer.write_table(chunk)
    assert writer is not None
    writer.close()


def by_key(name: str, rows: Any) -> Values:
    """Rows of keys and numbers, by the keys joined."""
    n = KEYS[name]
    return {"/".join(str(key) for key in row[:n]): [0.0 if v is None else float(v) for v in row[n:]] for row in rows}


def truth(rows: int, name: str) -> Values:
    """The exact answer over every row, kept beside the table."""
    path = DATA / f"truth_{rows}.json"
    if not path.exists():
        import duckdb

        source = table(rows)
        connection = duckdb.connect()
        connection.execute(f"CREATE VIEW trips AS SELECT * FROM read_parquet('{source}')")
        found = {q: by_key(q, connection.execute(sql).fetchall()) for q, sql in QUESTIONS.items()}
        path.write_text(json.dumps(found))
    values: Values = json.loads(path.read_text())[name]
    return values


def relative_error(name: str, got: Values, exact: Values) -> dict[str, float]:
    """Mean of |answer - truth| / |truth| over all true groups; a group that is missing counts as 1."""
    found = {}
    for place, part in enumerate(PARTS[name]):
        errors = [
            abs(got[k][place] - v[place]) / abs(v[place]) if k in got else 1.0 for k, v in exact.items() if v[place]
        ]
        found[part] = statistics.fmean(errors)
    return found


def cpu_s() -> float:
    """User and system seconds of this process and of its children that have ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def peak_mb() -> float:
    """The most memory that this process ever held at once; Linux's own mark, since rusage inherits that of the
    parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / (1024 if sys.platform == "darwin" else 1)


def measure(
    name: str,
    exact: Values,
    call: Callable[[], Any],
    read: Callable[[Any], Values],
    clock: Callable[[], float] = cpu_s,
    most: Callable[[], float] = peak_mb,
) -> dict[str, Any]:
    """One question of one system, in a process of its own: `call` asks, `read` (not counted) gives the answer by key.

    Peak memory is that of the first call alone. CPU is the least of several calls after it (of the first, where one
    call takes so long that there is no time for another), the error their mean.
    """
    started = time.monotonic()
    costs = []
    errors = []
    peak = 0.0
    for _ in range(ROUNDS + 1):
        before = clock()
        got = call()
        costs.append(clock() - before)
        peak = peak or most()
        errors.append(relative_error(name, read(got), exact))
        if time.monotonic() - started > ENOUGH_S:
            break
    mean = {part: statistics.fmean(e[part] for e in errors) for part in errors[0]}
    first, *later = costs
    return {"cpu_s": min(later or [first]), "first_s": first, "calls": len(costs), "peak_mb": peak, "error": mean}


def in_child(command: list[str], environment: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    """The last line of JSON that a fresh process prints; {"why": ...} where there is none."""
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with whatever it started
        process.communicate()
        return {"why": f"stopped after {timeout_s:.0f} s"}
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if lines:
        found: dict[str, Any] = json.loads(lines[-1])
        return found
    said = (err or out).strip().splitlines()
    return {"why": said[-1][:160] if said else f"ended with {process.returncode} and said nothing"}


def shown_error(error: Mapping[str, float]) -> str:
    if list(error) == ["value"]:
        return f"{error['value']:.3g}"
    return ", ".join(f"{part} {value:.3g}" for part, value in error.items())


def one(
    system: str,
    rows: int,
    name: str,
    prepare: Callable[[], tuple[Callable[[], Any], Callable[[Any], Values]]],
    clock: Callable[[], float] = cpu_s,
    most: Callable[[], float] = peak_mb,
) -> None:
    """The whole of a child: prepare (not counted), measure, print one line of JSON.

    `clock` and `most` are CPU and peak memory of all that works for the system, where that is more than this process.
    """
    record: dict[str, Any] = {"system": system, "rows": rows, "question": name}
    try:
        record |= measure(name, truth(rows, name), *prepare(), clock, most)
    # a question that a system cannot answer is a result; a panic of Rust is no Exception
    except BaseException as error:
        record["why"] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    print(json.dumps(record), flush=True)
