"""One table in an engine's own types, and what questions give on it: DuckDB's result is the one that others must
have.
"""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.catalog.model import Catalog, Source
from obverse.core.engine import Engine
from obverse.engines.duckdb import DuckDBEngine
from obverse.plan.dialects.spark import quoted as spark_text
from obverse.plan.emit.emit import emit
from obverse.plan.query import Question
from obverse.session.planning import annotated, read
from tests.servers import postgres_address, spark_session
from tests.soundness.conftest import HASH_KEY, NOW

NUMBERS = itertools.count()
HEAD = """
[project]
name = "edges"
[budget]
epsilon = 100
[tables.t]
source = "python"
unit = "u"
limits = { rows = 3 }
[tables.t.columns]
"""
READER = "edge_reader"
ZONE = "America/St_Johns"  # half an hour off, and with summer time
BEFORE = ("CREATE TYPE edges.kind AS ENUM ('zz', 'a', 'B')",)  # in an order of its own
ROLE = {"timezone": ZONE, "datestyle": "German", "extra_float_digits": "0", "intervalstyle": "sql_standard"}


@dataclass(frozen=True)
class Held:
    """A column: its declaration, its values as texts, and the type and the texts of those engines where they differ."""

    declared: str
    kind: str
    values: Sequence[str | None]
    types: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, Sequence[str | None]] = field(default_factory=dict)

    def kind_in(self, engine: str) -> str:
        return self.types.get(engine, self.kind)

    def values_in(self, engine: str) -> Sequence[str | None]:
        return self.texts.get(engine, self.values)


Table = Mapping[str, Held]
Result = list[tuple[Any, ...]]


def rows_of(table: Table, engine: str) -> list[list[str | None]]:
    """Row by row; a column that has no more values is NULL."""
    return [list(row) for row in itertools.zip_longest(*(held.values_in(engine) for held in table.values()))]


def declared(table: Table) -> Catalog:
    lines = "\n".join(f"{name} = {held.declared}" for name, held in table.items())
    return loads(HEAD + lines, Path("/"))


class Site:
    """An engine with settings and rights of production over the table; `run` gives exact results."""

    engine: Engine
    catalog: Catalog

    def sql(self, text: str) -> str:
        question = read(text, self.catalog, NOW)
        assert isinstance(question, Question)
        return emit(annotated(question, self.catalog).root, self.catalog, self.engine.dialect, HASH_KEY)

    def run(self, text: str) -> Result:
        return told(self.engine.run(self.sql(text), timeout_s=120).reveal())

    def opened(self, catalog: Catalog, engine: Engine) -> None:
        self.engine = engine
        self.catalog = complete(catalog, {"t": engine.schema("t")}, {})

    def close(self) -> None:
        self.engine.close()


def told(columns: Any) -> Result:
    """Rows of exact numbers, in one order, with the names of their columns first."""
    names = sorted(columns)
    return [tuple(names), *sorted(zip(*(columns[name].tolist() for name in names)), key=repr)]


class OverMemory(DuckDBEngine):
    def __init__(self, catalog: Catalog, statements: Sequence[str]) -> None:
        self.statements = statements
        super().__init__(catalog)

    def _declare(self, table: Any) -> None:
        for statement in self.statements:
            self._connection.execute(statement)
        described = self._connection.execute(f'DESCRIBE "{table.name}"').fetchall()
        self._schemas[table.name] = {row[0]: row[1] for row in described}


def plain_text(value: str | None, kind: str) -> str:
    return f"CAST(NULL AS {kind})" if value is None else f"CAST('{value.replace(chr(39), chr(39) * 2)}' AS {kind})"


def made(table: Table, engine: str, name: str) -> list[str]:
    kinds = [held.kind_in(engine) for held in table.values()]
    columns = ", ".join(f'"{column}" {kind}' for column, kind in zip(table, kinds))
    rows = ", ".join(f"({', '.join(map(plain_text, row, map(bare, kinds)))})" for row in rows_of(table, engine))
    return [f"CREATE TABLE {name} ({columns})", *([f"INSERT INTO {name} VALUES {rows}"] if rows else [])]


def bare(kind: str) -> str:
    return kind.split(" COLLATE ")[0]


class DuckDBSite(Site):
    def __init__(self, table: Table) -> None:
        catalog = declared(table)
        self.opened(catalog, OverMemory(catalog, made(table, "duckdb", "t")))


class PostgresSite(Site):
    """A database of its own, of a given address, whose role is set to anything but what we need."""

    def __init__(self, table: Table, address: str = "", before: Sequence[str] = ()) -> None:
        import psycopg

        from obverse.engines.postgres import PostgresEngine

        address = address or postgres_address()
        variable = f"OBVERSE_TESTS_EDGES_{next(NUMBERS)}"
        with psycopg.connect(address, autocommit=True) as owner:
            os.environ[variable] = address.replace("postgres:@", f"{READER}@")
            if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (READER,)).fetchone():
                owner.execute(f"CREATE ROLE {READER} LOGIN")
            for setting, value in ROLE.items():
                owner.execute(f"ALTER ROLE {READER} IN DATABASE {owner.info.dbname} SET {setting} = '{value}'")
            for statement in ("CREATE SCHEMA edges", *before, *made(table, "postgres", "edges.t")):
                owner.execute(statement)
            owner.execute(f"GRANT USAGE ON SCHEMA edges TO {READER}; GRANT SELECT ON edges.t TO {READER}")
        catalog = declared(table)
        served = {"t": replace(catalog.tables["t"], source=Source("table", table="edges.t"))}
        catalog = replace(catalog, tables=served, engine={"kind": "postgres", "dsn_env": variable})
        self.opened(catalog, PostgresEngine(catalog))


def listed(rows: Sequence[Sequence[str | None]]) -> str:
    return ", ".join("(" + ", ".join("NULL" if v is None else spark_text(v) for v in row) + ")" for row in rows)


class SparkSite(Site):
    """A frame of another session, which lives in another zone than ours."""

    def __init__(self, table: Table) -> None:
        from obverse.engines.spark import SparkEngine

        spark = spark_session()
        spark.conf.set("spark.sql.session.timeZone", ZONE)
        catalog = replace(declared(table), engine={"kind": "spark"})
        self.opened(catalog, SparkEngine(catalog, {"t": self.frame(spark, table)}))

    def frame(self, spark: Any, table: Table) -> Any:
        kinds = [held.kind_in("spark") for held in table.values()]
        names = ", ".join(f"`{name}`" for name in table)
        rows = rows_of(table, "spark")
        if not rows:
            return spark.sql(
                f"SELECT {', '.join(f'CAST(NULL AS {k}) AS `{n}`' for n, k in zip(table, kinds))} WHERE FALSE"
            )
        texts = listed(rows)
        read = ", ".join(f"CAST(`{name}` AS {kind}) AS `{name}`" for name, kind in zip(table, kinds))
        return spark.sql(f"SELECT {read} FROM (VALUES {texts}) AS v({names})")


class SparkTableSite(SparkSite):
    """A table of Spark's own catalog, for types that only such tables have."""

    def frame(self, spark: Any, table: Table) -> Any:
        self.name = f"edges_{uuid.uuid4().hex}"
        self.spark = spark
        columns = ", ".join(f"`{name}` {held.kind_in('spark')}" for name, held in table.items())
        spark.sql(f"CREATE TABLE {self.name} ({columns}) USING parquet")
        spark.sql(f"INSERT INTO {self.name} VALUES {listed(rows_of(table, 'spark'))}")
        return spark.table(self.name)

    def close(self) -> None:
        super().close()
        self.spark.sql(f"DROP TABLE {self.name}")


SITES: Mapping[str, Callable[[Table], Site]] = {
    "duckdb": DuckDBSite,
    "postgres": lambda table: PostgresSite(table, before=BEFORE),
    "spark": SparkSite,
}
