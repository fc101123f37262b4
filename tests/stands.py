"""Each engine over tables that a test fills: the product's own engine, with the settings and rights of production."""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from obverse.catalog.model import Catalog, Source, Table
from obverse.core.engine import Engine
from obverse.core.types import Value
from obverse.engines.duckdb import DuckDBEngine
from obverse.testing.neighbours import Tables
from tests import distribution
from tests.batched import DB, batched
from tests.servers import postgres_address, spark_session

Schemas = Mapping[str, Mapping[str, str]]  # tables and columns to types, by DuckDB's names
NUMBERS = itertools.count()
READER = "reader"
POSTGRES_TYPES = {"DOUBLE": "DOUBLE PRECISION", "VARCHAR": "TEXT"}
FOLDED = "CREATE COLLATION clinic.folded (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
COLLATED = {  # types of text for which 'a' and 'A' are equal
    "duckdb": "VARCHAR COLLATE NOCASE", "postgres": "TEXT COLLATE clinic.folded", "spark": "STRING COLLATE UTF8_LCASE",
}  # fmt: skip


class Stand(Protocol):
    """An engine, the catalog that it serves, and a way to give it other rows."""

    catalog: Catalog

    @property
    def engine(self) -> Engine: ...

    def fill(self, tables: Tables) -> None: ...

    def close(self) -> None: ...


class MemoryEngine(DuckDBEngine):
    """The product's engine, locked as in production, over tables in memory that a test fills."""

    def __init__(self, catalog: Catalog, schemas: Schemas, parallel: int = 0, texts: str = "") -> None:
        self.physical = schemas
        self.parallel = parallel
        self.texts = texts
        self.read = functools.lru_cache(maxsize=1024)(self._read)
        super().__init__(catalog)

    def _lock(self, catalog: Catalog) -> None:
        if self.parallel:
            self.execute(f"SET threads = {self.parallel}")
        super()._lock(catalog)

    def _declare(self, table: Table) -> None:
        columns = ", ".join(
            f'"{name}" {kind}' for name, kind in kinds_of(self.physical[table.name], self.texts).items()
        )
        self._connection.execute(f'CREATE TABLE "{table.name}" ({columns})')
        self._schemas[table.name] = self.physical[table.name]

    def execute(self, sql: str) -> Any:
        return self._connection.execute(sql)

    def _fetch(self, sql: str, timeout_s: float) -> dict[str, Any]:
        """As in production; a text that is asked of many databases is read by DuckDB once, and planned for each."""
        return super()._fetch(self.read(sql), timeout_s)

    def _read(self, sql: str) -> Any:
        try:
            (statement,) = self._connection.extract_statements(sql)
        except (self._duckdb.Error, ValueError):
            return sql  # the engine says what is wrong with it
        return statement

    def fill(self, tables: Tables) -> None:
        for name, rows in tables.items():
            self.execute(f'TRUNCATE "{name}"')
            if rows:
                self.execute(f'INSERT INTO "{name}" VALUES {written(rows, self.physical[name])}')


class DuckDBStand:
    def __init__(self, catalog: Catalog, schemas: Schemas, parallel: int = 0, texts: str = "") -> None:
        self.catalog = catalog
        self.engine = MemoryEngine(catalog, schemas, parallel, texts)

    def fill(self, tables: Tables) -> None:
        self.engine.fill(tables)

    def close(self) -> None:
        self.engine.close()


class PostgresStand:
    """A database of its own on the tests' server; the engine comes as a role that may only read."""

    def __init__(self, catalog: Catalog, schemas: Schemas, parallel: int = 0, texts: str = "") -> None:
        import psycopg

        from obverse.engines.postgres import PostgresEngine

        self.schemas = schemas
        address = distribution.database() if texts else postgres_address()  # only that one has collations of its own
        self.owner = psycopg.connect(address, autocommit=True)
        variable = f"OBVERSE_TESTS_POSTGRES_{next(NUMBERS)}"
        os.environ[variable] = address.replace("postgres:@", f"{READER}@")
        execute = self.owner.execute
        if not execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (READER,)).fetchone():
            execute(f"CREATE ROLE {READER} LOGIN")
        execute(f"CREATE SCHEMA clinic; GRANT USAGE ON SCHEMA clinic TO {READER}")
        execute(f"REVOKE TEMPORARY ON DATABASE {self.owner.info.dbname} FROM PUBLIC")
        for statement in (FOLDED, "CREATE EXTENSION citext SCHEMA public") if texts else ():
            execute(statement)
        for name, columns in schemas.items():
            kinds = kinds_of(columns, texts or "TEXT")
            listed = ", ".join(f'"{column}" {POSTGRES_TYPES.get(kind, kind)}' for column, kind in kinds.items())
            execute(f'CREATE TABLE clinic."{name}" ({listed}); GRANT SELECT ON clinic."{name}" TO {READER}')
        if parallel:  # every plan that can be is split, however few the rows
            forced = {
                "max_parallel_workers_per_gather": parallel,
                "debug_parallel_query": "on" if parallel > 1 else "off",
            }
            forced |= {"parallel_setup_cost": 0, "parallel_tuple_cost": 0, "min_parallel_table_scan_size": 0}
            for setting, value in forced.items():
                execute(f"ALTER ROLE {READER} IN DATABASE {self.owner.info.dbname} SET {setting} = '{value}'")
        served = {
            name: replace(t, source=Source("table", table=f"clinic.{name}")) for name, t in catalog.tables.items()
        }
        self.catalog = replace(catalog, tables=served, engine={"kind": "postgres", "dsn_env": variable})
        self.engine = PostgresEngine(self.catalog)

    def fill(self, tables: Tables) -> None:
        texts = []
        for name, rows in tables.items():
            texts.append(f'TRUNCATE clinic."{name}"')
            if rows:
                kinds = {column: POSTGRES_TYPES.get(kind, kind) for column, kind in self.schemas[name].items()}
                texts.append(f'INSERT INTO clinic."{name}" VALUES {written(rows, kinds)}')
        self.owner.execute("; ".join(texts))

    def close(self) -> None:
        self.engine.close()
        self.owner.close()


class SparkStand:
    """A session of its own in the tests' Spark, over frames of so many partitions."""

    def __init__(self, catalog: Catalog, schemas: Schemas, parallel: int = 0, texts: str = "") -> None:
        from obverse.engines.spark import SparkEngine

        self.schemas = schemas
        self.texts = texts
        self.spark = spark_session()  # the engine finds the small one of the tests
        self.catalog = replace(catalog, engine={"kind": "spark"})
        handed = {name: self.frame(name, ()) for name in catalog.tables}
        if texts:
            handed = {name: self.typed(name, self.spark.createDataFrame(frame)) for name, frame in handed.items()}
        self.engine = SparkEngine(self.catalog, handed)
        for setting in ("spark.sql.shuffle.partitions", "spark.sql.leafNodeDefaultParallelism") if parallel else ():
            self.engine._session.conf.set(setting, str(parallel))

    def frame(self, name: str, rows: Any) -> Any:
        import pyarrow as pa

        kinds = self.schemas[name]
        return pa.table({c: pa.array([row.get(c) for row in rows], type=arrow_type(kind)) for c, kind in kinds.items()})

    def fill(self, tables: Tables) -> None:
        for name, rows in tables.items():
            self.typed(name, self.engine._session.createDataFrame(self.frame(name, rows))).createOrReplaceTempView(name)

    def typed(self, name: str, frame: Any) -> Any:
        """The frame with its texts in the type that they are to have."""
        texts = [column for column, kind in self.schemas[name].items() if kind == "VARCHAR" and self.texts]
        return frame.selectExpr(
            *(f"CAST(`{c}` AS {self.texts}) AS `{c}`" if c in texts else f"`{c}`" for c in frame.columns)
        )

    def answers(self, texts: Sequence[str], databases: Sequence[Tables]) -> list[list[dict[str, Any]]]:
        """Of each text what it gives on each database, all databases in one job; rows of each lie in every
        partition.
        """
        import pyarrow as pa

        private = set(databases[0])
        for name in private:
            turns = itertools.zip_longest(*([(n, row) for row in each[name]] for n, each in enumerate(databases)))
            told = [one for turn in turns for one in turn if one is not None]
            numbers = pa.array([n for n, _ in told], type=pa.int64())
            whole = self.frame(name, [row for _, row in told]).append_column(DB, numbers)
            self.typed(name, self.engine._session.createDataFrame(whole)).createOrReplaceTempView(name)
        found = []
        for text in texts:
            columns = dict(self.engine.run(batched(text, private, "spark"), timeout_s=300).reveal())
            number = columns.pop(DB)
            found.append([{c: values[number == n] for c, values in columns.items()} for n in range(len(databases))])
        return found

    def close(self) -> None:
        self.engine.close()


STANDS: dict[str, type[DuckDBStand] | type[PostgresStand] | type[SparkStand]] = {
    "duckdb": DuckDBStand,
    "postgres": PostgresStand,
    "spark": SparkStand,
}


def kinds_of(columns: Mapping[str, str], texts: str) -> dict[str, str]:
    """Columns with their types, those of text with that one."""
    return {name: texts if kind == "VARCHAR" and texts else kind for name, kind in columns.items()}


def arrow_type(kind: str) -> Any:
    import pyarrow as pa

    return {
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "VARCHAR": pa.string(),
        "BOOLEAN": pa.bool_(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us"),
    }[kind]


def written(rows: Any, kinds: Mapping[str, str]) -> str:
    return ", ".join(f"({', '.join(spelled(row.get(c), kind) for c, kind in kinds.items())})" for row in rows)


def spelled(value: Value, kind: str) -> str:
    """A value as a literal of the physical type."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"'{'nan' if math.isnan(value) else repr(value)}'::{kind if kind.startswith('DOUBLE') else 'DOUBLE'}"
    text = str(value).replace("'", "''")
    return text if isinstance(value, int) and kind not in ("VARCHAR", "TEXT") else f"'{text}'::{kind}"
