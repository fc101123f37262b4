"""How plans are spelled for each engine."""

from __future__ import annotations

from obverse.plan.dialects.base import Dialect
from obverse.plan.dialects.duckdb import DuckDB

DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (DuckDB(),)}
