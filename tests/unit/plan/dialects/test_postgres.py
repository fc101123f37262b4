"""How plans are printed for PostgreSQL where it differs from the others."""

from __future__ import annotations

from obverse.plan.dialects import DIALECTS
from tests.servers import postgres_address

FORCED = {
    "max_parallel_workers_per_gather": "2", "parallel_setup_cost": "0", "parallel_tuple_cost": "0", "jit": "off",
    "min_parallel_table_scan_size": "0", "enable_mergejoin": "off",
}  # fmt: skip


def test_no_worker_computes_anew_what_is_computed_once() -> None:
    address = postgres_address()
    import psycopg

    units = "(SELECT u, COUNT(*) AS n FROM trips AS r GROUP BY u)"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE trips AS SELECT i % 1000 AS u, i % 7 AS k FROM generate_series(1, 100000) AS s(i)"
        )
        connection.execute("ANALYZE trips")
        for name, value in FORCED.items():
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        source = DIALECTS["postgres"].once(units)
        text = f"EXPLAIN (ANALYZE) SELECT k, SUM(n) FROM trips AS t JOIN {source} AS g USING (u) GROUP BY k ORDER BY k"
        plan = [line for (line,) in connection.execute(text).fetchall()]
    assert any(line.strip() == "CTE once" for line in plan)
    scans = [line for line in plan if "Seq Scan on trips r" in line]
    assert scans
    assert all("Parallel" in line or "loops=1" in line for line in scans)
