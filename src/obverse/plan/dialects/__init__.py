"""How plans are spelled for each engine."""

from __future__ import annotations

from obverse.plan.dialects.base import Dialect
from obverse.plan.dialects.duckdb import DuckDB
from obverse.plan.dialects.postgres import Postgres
from obverse.plan.dialects.spark import Spark

DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (DuckDB(), Postgres(), Spark())}
