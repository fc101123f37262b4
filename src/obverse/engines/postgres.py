"""PostgreSQL: tables on a server, read by a role that may do nothing else. Nothing is ever written there."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Catalog, Table
from obverse.core.engine import Batches, Columns, EngineLimits, PublicRows, Schema
from obverse.core.errors import CatalogError, invariant
from obverse.core.relation import Relation, source_changed
from obverse.core.secret import Exact
from obverse.engines.collations import of_postgres
from obverse.engines.failing import failure, public_failure
from obverse.engines.postgres_address import address, refused, settled
from obverse.engines.postgres_introspection import LOCKABLE, counted_by, described, in_place, locked
from obverse.engines.postgres_rows import batches_of, columns_of
from obverse.plan.dialects import DIALECTS

if TYPE_CHECKING:
    import psycopg

PROBE_S = 3600.0
CHECK_S = 30.0  # longer, and somebody is changing a definition
PLAIN_KINDS = "rpm"  # tables, partitioned tables, materialized views: reading their rows runs nobody's code
NAMED = {
    "CHARACTER VARYING": "VARCHAR",
    "CHARACTER": "CHAR",
    "DOUBLE PRECISION": "DOUBLE",
    "TIMESTAMP WITHOUT TIME ZONE": "TIMESTAMP",
}
COLUMNS = """
SELECT a.attname, CASE WHEN y.typtype = 'e' THEN 'ENUM' ELSE format_type(a.atttypid, NULL) END, c.oid, c.relkind
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
JOIN pg_type y ON y.oid = a.atttypid
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
PLACE = "SELECT system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()) FROM pg_control_system()"
COUNTERS = """
SELECT pg_relation_filenode(%(t)s::oid::regclass), pg_stat_get_tuples_inserted(%(t)s), pg_stat_get_tuples_updated(%(t)s),
pg_stat_get_tuples_deleted(%(t)s)
"""
AMONG = """
WITH RECURSIVE below(oid) AS (
SELECT %(t)s::oid UNION SELECT step.oid FROM below JOIN (
SELECT r.ev_class AS one, d.refobjid AS oid FROM pg_rewrite r JOIN pg_depend d ON d.objid = r.oid
WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
UNION ALL SELECT inhparent, inhrelid FROM pg_inherits) AS step ON step.one = below.oid
), above(oid) AS (
SELECT oid FROM below UNION SELECT i.inhparent FROM above JOIN pg_inherits i ON i.inhrelid = above.oid
) SELECT oid::bigint FROM above ORDER BY oid
"""


class PostgresEngine:
    """Declared tables by their schema and name. A connection that is lost is made anew for the next question."""

    name = "postgres"
    dialect = "postgres"
    limits = EngineLimits(sum_bits=127)

    def __init__(self, catalog: Catalog, objects: Mapping[str, Any] | None = None) -> None:
        try:
            import psycopg
        except ModuleNotFoundError:
            raise CatalogError(
                "extra_missing", "the engine postgres needs psycopg.", fix="pip install 'obverse[postgres]'"
            ) from None
        self._psycopg = psycopg
        self._address = address(catalog.engine)
        self._lock = threading.RLock()
        self._open: psycopg.Connection[Any] | None = None
        self._schemas: dict[str, Schema] = {}
        self._tables: dict[str, tuple[int, str]] = {}  # oid and kind
        self._names: dict[str, str] = {}  # schema and name, quoted
        self._held: dict[str, Relation] = {}
        for table in catalog.tables.values():
            self._declare(table)

    def schema(self, table: str) -> Schema:
        return self._schemas[table]

    def run(self, sql: str, *, timeout_s: float) -> Exact[Columns]:
        try:
            with self._lock, self._reading(timeout_s) as cursor:
                self._as_held(cursor)
                return Exact(columns_of(cursor, sql))
        except (self._psycopg.Error, CatalogError, MemoryError, OSError) as error:
            raise failure(error) from None

    def batches(self, sql: str, *, timeout_s: float) -> Batches:
        """As `run`, in one statement whose rows are read as the server sends them."""
        try:
            with self._lock, self._reading(timeout_s) as cursor:
                self._as_held(cursor)
                for columns in batches_of(cursor, sql):
                    yield Exact(columns)
        except (self._psycopg.Error, CatalogError, MemoryError, OSError) as error:
            raise failure(error) from None

    def run_public(self, sql: str, *, timeout_s: float) -> PublicRows:
        try:
            with self._lock, self._reading(timeout_s) as cursor:
                self._as_held(cursor)
                rows = cursor.execute(sql).fetchall()
                return PublicRows(tuple(column.name for column in cursor.description or ()), tuple(rows))
        except (self._psycopg.Error, CatalogError, MemoryError, OSError):
            raise public_failure() from None

    def readable(self, table: str, sql: str) -> bool:
        """Rows of a table cannot be malformed; a view or foreign table runs code of its own on each, so it is read whole."""
        plain = self._tables[table][1] in PLAIN_KINDS
        try:
            with self._lock, self._reading(PROBE_S) as cursor:
                cursor.execute(f"{sql} LIMIT 0" if plain else sql)
                return True
        except (self._psycopg.Error, MemoryError, OSError):
            return False

    def known_by(self, table: str) -> tuple[str, ...]:
        """What tells the table from every other, on whatever server; what changes when its rows do, or may have; and the
        tables that a view reads, or that a partition belongs to or has."""
        with self._lock, self._reading(PROBE_S) as cursor:
            oid = self._tables[table][0]
            server, database = cursor.execute(PLACE).fetchone() or ("", "")
            counted = cursor.execute(COUNTERS, {"t": counted_by(cursor, oid)}).fetchone()
            among = [other for (other,) in cursor.execute(AMONG, {"t": oid}).fetchall() if other != oid]
            place, *others = (f"postgres:{server}/{database}/{one}" for one in (oid, *among))
            return place, repr(counted), *others

    def collations(self, table: str) -> Mapping[str, str]:
        with self._lock, self._reading(PROBE_S) as cursor:
            return of_postgres(cursor, self._tables[table][0])

    def relation(self, table: str) -> Relation:
        with self._lock, self._reading(PROBE_S) as cursor:
            found = described(cursor, {table: self._tables[table][0]})
        if table not in found:
            raise source_changed(table)
        return found[table]

    def hold(self, relations: Mapping[str, Relation]) -> None:
        self._held = dict(relations)
        self.check_sources()

    def check_sources(self) -> None:
        try:
            with self._lock, self._reading(CHECK_S) as cursor:
                self._as_held(cursor)
        except (self._psycopg.errors.UndefinedTable, self._psycopg.errors.InvalidSchemaName):
            raise source_changed(next(iter(self._held))) from None
        except (self._psycopg.Error, OSError):
            raise refused() from None

    def _as_held(self, cursor: psycopg.Cursor[Any]) -> None:
        """Refuse where a relation is described otherwise than it is held to; from here on this transaction keeps it so."""
        if not self._held:
            return
        kinds = {name: self._tables[name][1] for name in self._held}
        plain = [self._names[name] for name, kind in kinds.items() if kind in LOCKABLE]
        locked(cursor, plain, [self._names[name] for name, kind in kinds.items() if kind not in LOCKABLE])
        oids = {name: self._tables[name][0] for name in self._held}
        found = described(cursor, oids)
        for name, relation in self._held.items():
            if found.get(name) != relation:
                raise source_changed(name)
        if not in_place(cursor, oids, self._names):
            raise source_changed(next(iter(self._held)))

    def powers(self) -> tuple[str, ...]:
        """What the role may do beyond reading the declared tables, in words for the curator."""
        from obverse.engines.postgres_role import powers

        with self._lock, self._reading(PROBE_S) as cursor:
            return powers(cursor, tuple(oid for oid, _ in self._tables.values()))

    def close(self) -> None:
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    def _declare(self, table: Table) -> None:
        if table.source.kind != "table":
            raise CatalogError(
                "bad_source",
                f"table {table.name} is not on the server.",
                why="the engine postgres reads tables of one database.",
                fix='Write source = "schema.table".',
            )
        schema, _, name = (table.source.table or "").rpartition(".")
        with self._lock, self._reading(PROBE_S) as cursor:
            found = cursor.execute(COLUMNS, (schema, name)).fetchall()
            if not found:
                raise CatalogError(
                    "source_missing",
                    f"the source of table {table.name} is not there: {schema}.{name}",
                    fix="check `source`, and that the role may use the schema.",
                )
            self._tables[table.name] = (found[0][2], found[0][3])
            self._names[table.name] = DIALECTS["postgres"].relation(table)
            self._schemas[table.name] = {column: named(kind) for column, kind, _, _ in found}
            try:
                cursor.execute(f"SELECT 1 FROM {DIALECTS['postgres'].relation(table)} LIMIT 0")
            except self._psycopg.errors.InsufficientPrivilege:
                raise CatalogError(
                    "source_unreadable",
                    f"the role may not read the source of table {table.name}.",
                    fix=f"GRANT SELECT ON {schema}.{name} TO the role, and USAGE on its schema.",
                ) from None

    def _reading(self, timeout_s: float) -> Reading:
        return Reading(self, timeout_s)

    def _connection(self) -> psycopg.Connection[Any]:
        if self._open is None or self._open.closed:
            try:
                self._open = self._psycopg.connect(self._address, connect_timeout=10)
            except self._psycopg.Error:
                raise refused() from None
            settled(self._open)
        return self._open


class Reading:
    """A transaction that reads one snapshot and is always undone; a broken connection is thrown away."""

    def __init__(self, engine: PostgresEngine, timeout_s: float) -> None:
        self._engine, self._timeout_s = engine, timeout_s

    def __enter__(self) -> psycopg.Cursor[Any]:
        try:
            cursor = self._begun()
        except self._engine._psycopg.OperationalError:  # the server went away since the last question: once more
            self._engine.close()
            cursor = self._begun()
        cursor.execute(f"SET LOCAL statement_timeout = {max(1, int(self._timeout_s * 1000))}")
        return cursor

    def _begun(self) -> psycopg.Cursor[Any]:
        connection = self._engine._connection()
        invariant(connection.info.transaction_status == 0, "questions are asked one after the other")
        return connection.cursor().execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def __exit__(self, *error: object) -> None:
        connection = self._engine._open
        if connection is not None:
            try:
                connection.rollback()
            except self._engine._psycopg.Error:
                self._engine.close()


def named(kind: str) -> str:
    """The server's name of a type as declarations know it."""
    upper = kind.upper()
    return NAMED.get(upper, upper)
