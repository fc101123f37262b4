"""Where exact numbers come from; the registry ENGINES maps a kind to where its class lives, since imports are heavy."""

from __future__ import annotations

ENGINES = {
    "duckdb": "obverse.engines.duckdb:DuckDBEngine",
    "postgres": "obverse.engines.postgres:PostgresEngine",
    "spark": "obverse.engines.spark:SparkEngine",
}
