"""PostgreSQL: tables on a server, read by a role that may do nothing else. Nothing is ever written there.

Where a PostgreSQL server is, told without a secret; and the settings that a connection must have.

How PostgreSQL describes tables and views: columns, collations, definitions, row security, and what they read.

What a PostgreSQL role may do beyond reading the declared tables: told to the curator, who can take it away.

Rows of a PostgreSQL answer as columns.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.catalog.model import Catalog, Table
from obverse.core.engine import BATCH_ROWS, Batches, Columns, PublicRows, Schema
from obverse.core.errors import CatalogError, invariant
from obverse.core.relation import FOREIGN, MATERIALIZED, OTHER, TEMPORARY, VIEW, Relation, StoredColumn, source_changed
from obverse.core.secret import Exact
from obverse.engines import base
from obverse.engines.base import failure, public_failure
from obverse.engines.compatibility import of_postgres
from obverse.plan.dialects import DIALECTS

if TYPE_CHECKING:
    import psycopg


OLDEST = 140_000
PATHS = ("sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir", "passfile")
SETTINGS = {
    "default_transaction_read_only": "on",
    "search_path": "pg_catalog",  # so that no function or operator of the curator's takes the place of the server's
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
    "client_encoding": "UTF8",
    "row_security": "on",
    "jit": "off",  # a question is compiled anew each time, which costs more than it gains
}


def address(engine: Mapping[str, str]) -> str:
    """The connection string: a service of the user's own file, or what an environment variable holds."""
    from psycopg.conninfo import make_conninfo

    if "service" in engine:
        return make_conninfo(service=engine["service"])
    name = engine["dsn_env"]
    if not os.environ.get(name):
        raise CatalogError(
            "engine_unreachable",
            f"the environment variable {name} is not set.",
            why="it holds the connection string of the PostgreSQL server, which does not belong into obverse.toml.",
            fix=f"export {name}='postgresql://reader@host/database'",
        )
    return os.environ[name]


def files(engine: Mapping[str, str]) -> Iterator[Path]:
    """What the client library may read to connect: services, passwords, certificates and keys."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    home = Path(os.environ.get("HOME") or "/nonexistent")
    variables = os.environ
    services = [home / ".pg_service.conf"]
    services += [Path(variables["PGSERVICEFILE"])] if variables.get("PGSERVICEFILE") else []
    services += [Path(variables["PGSYSCONFDIR"]) / "pg_service.conf"] if variables.get("PGSYSCONFDIR") else []
    yield from (*services, home / ".pgpass", home / ".postgresql")
    yield from (Path(variables[name]) for name in ("PGPASSFILE", "PGSSLROOTCERT") if variables.get(name))
    with suppress(CatalogError, ProgrammingError):
        told = conninfo_to_dict(address(engine))
        yield from (Path(str(told[name])).expanduser() for name in PATHS if told.get(name))
    for service in services:
        with suppress(OSError, UnicodeDecodeError):
            lines = (line.partition("=") for line in service.read_text().splitlines())
            yield from (Path(value.strip()) for name, _, value in lines if name.strip() in PATHS)


def refused() -> CatalogError:
    return CatalogError(
        "engine_unreachable",
        "the PostgreSQL server does not let us in.",
        fix="Try the same service or connection string with psql; the server's log tells why.",
    )


def settled(connection: psycopg.Connection[Any]) -> None:
    """Make the settings, and see that they were made."""
    connection.autocommit = True  # transactions are begun and ended by hand
    connection.prepare_threshold = None  # each question is asked once
    cursor = connection.cursor()
    for name, value in SETTINGS.items():
        cursor.execute("SELECT set_config(%s, %s, false)", (name, value))
    for name, value in SETTINGS.items():
        (found,) = cursor.execute("SELECT current_setting(%s)", (name,)).fetchone() or ("",)
        if found != value:
            raise unsettled(f"{name} cannot be set to {value}")
    encoding, version = cursor.execute(
        "SELECT current_setting('server_encoding'), current_setting('server_version_num')::int"
    ).fetchone() or ("", 0)
    if encoding != "UTF8":
        raise unsettled(f"the database's encoding is {encoding}, not UTF8")
    if version < OLDEST:
        raise unsettled("the server is older than PostgreSQL 14")


def unsettled(message: str) -> CatalogError:
    return CatalogError(
        "engine_unfit", f"{message}.", why="Proofs and results rest on it.", fix="Use another database or role."
    )


KINDS = {"r": "table", "p": "table", "v": VIEW, "m": MATERIALIZED, "f": FOREIGN}
LOCKABLE = "rpv"
DEPTH_MAX = 32
DESCRIBED = """
WITH RECURSIVE tree(one, oid) AS (
SELECT 0::oid, unnest(%(t)s::oid[]) UNION SELECT tree.oid, below.oid FROM tree CROSS JOIN LATERAL (
SELECT d.refobjid AS oid FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
AND d.refclassid = 'pg_class'::regclass WHERE r.ev_class = tree.oid AND r.rulename = '_RETURN' AND d.refobjid <> \
tree.oid
UNION ALL SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = tree.oid) AS below
), part(oid) AS (SELECT DISTINCT oid FROM tree), odd(type, function) AS (
SELECT k.castsource, p.oid::regprocedure::text FROM pg_cast k JOIN pg_proc p ON p.oid = k.castfunc
JOIN pg_language l ON l.oid = p.prolang WHERE p.oid >= 16384 AND l.lanname NOT IN ('internal', 'c')
UNION SELECT y.oid, odd.function FROM odd JOIN pg_type y ON y.typtype = 'd' AND y.typbasetype = odd.type)
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relpersistence::text,
CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) ELSE '' END,
ARRAY(SELECT DISTINCT t.oid::bigint FROM tree t WHERE t.one = c.oid ORDER BY 1),
(SELECT json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod),
CASE WHEN l.oid IS NULL THEN '' ELSE
l.collnamespace::regnamespace::text || '.' || l.collname::text || ' ' || l.collisdeterministic::text END,
CASE WHEN a.attgenerated = '' THEN '' ELSE pg_get_expr(g.adbin, g.adrelid) END,
COALESCE((SELECT min(odd.function) FROM odd WHERE odd.type = a.atttypid), '')) ORDER BY a.attnum)
FROM pg_attribute a LEFT JOIN pg_attrdef g ON g.adrelid = a.attrelid AND g.adnum = a.attnum
LEFT JOIN pg_collation l ON l.oid = a.attcollation
WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
CASE WHEN c.relrowsecurity THEN ARRAY(SELECT p.polname::text || ' ' || p.polcmd::text || ' ' || p.polroles::text || ' '
|| COALESCE(pg_get_expr(p.polqual, p.polrelid), '') FROM pg_policy p WHERE p.polrelid = c.oid ORDER BY 1)
|| 'row security'::text ELSE '{}' END,
CASE WHEN c.relkind IN ('v', 'm') THEN ARRAY(SELECT DISTINCT pg_describe_object(d.refclassid, d.refobjid, 0)
FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid WHERE r.ev_class = c.oid
AND d.refclassid NOT IN ('pg_class'::regclass, 'pg_collation'::regclass) ORDER BY 1)
ELSE ARRAY(SELECT DISTINCT pg_describe_object(d.refclassid, d.refobjid, 0)
FROM pg_attrdef g JOIN pg_attribute a ON a.attrelid = g.adrelid AND a.attnum = g.adnum AND a.attgenerated <> ''
JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = g.oid WHERE g.adrelid = c.oid
AND d.refclassid NOT IN ('pg_class'::regclass, 'pg_collation'::regclass) ORDER BY 1) END
FROM part JOIN pg_class c ON c.oid = part.oid JOIN pg_namespace n ON n.oid = c.relnamespace
"""
SAME = """
SELECT bool_and(to_regclass(name)::oid IS NOT DISTINCT FROM oid) FROM unnest(%(n)s::text[], %(t)s::oid[]) AS \
one(name, oid)
"""
Names = Mapping[str, str]  # declared table to its schema and name, quoted


def described(cursor: psycopg.Cursor[Any], tables: Mapping[str, int]) -> dict[str, Relation]:
    """The relations of declared tables, by the numbers that the server has for them; a dropped one is left out."""
    oids = list(dict.fromkeys(tables.values()))
    rows = {row[0]: row for row in cursor.execute(DESCRIBED, {"t": oids}).fetchall()}
    return {name: _relation(oid, rows, 0) for name, oid in tables.items() if oid in rows}


def locked(cursor: psycopg.Cursor[Any], tables: Iterable[str], others: Iterable[str]) -> None:
    """Keep the definitions as they are until the transaction ends. Before its first reading, so that what it then reads
    of the
    catalog is what its questions are planned by: those see changes that a snapshot does not."""
    if names := ", ".join(tables):
        cursor.execute(f"LOCK TABLE {names} IN ACCESS SHARE MODE")
    for name in others:  # what cannot be locked by name is locked by being read
        cursor.execute(f"SELECT 1 FROM {name} LIMIT 0")


def in_place(cursor: psycopg.Cursor[Any], oids: Mapping[str, int], names: Names) -> bool:
    """Whether the names still lead to the same relations."""
    found = cursor.execute(SAME, {"n": [names[one] for one in oids], "t": list(oids.values())}).fetchone()
    return found is not None and found[0] is not False


def counted_by(cursor: psycopg.Cursor[Any], oid: int) -> int:
    """The table whose counters tell that rows changed: of a view over one table, that table."""
    relation = described(cursor, {"": oid}).get("")
    while relation is not None and relation.kind in (VIEW, MATERIALIZED) and len(relation.reads) == 1:
        relation = relation.reads[0]
    return int(relation.place) if relation is not None and relation.place else oid


def _relation(oid: int, rows: Mapping[int, tuple[Any, ...]], depth: int) -> Relation:
    if oid not in rows or depth > DEPTH_MAX:
        return Relation(str(oid), OTHER, ())
    _, schema, name, kind, persistence, definition, reads, columns, policies, custom = rows[oid]
    return Relation(
        name=f"{schema}.{name}",
        kind=TEMPORARY if persistence == "t" else KINDS.get(kind, OTHER),
        columns=tuple(StoredColumn(*(str(part) for part in column)) for column in columns or ()),
        definition=definition,
        reads=tuple(_relation(one, rows, depth + 1) for one in reads),
        custom=tuple(custom),
        policies=tuple(policies),
        place=str(oid),
    )


ATTRIBUTES = {
    "rolsuper": "is a superuser",
    "rolcreaterole": "may create roles",
    "rolcreatedb": "may create databases",
    "rolreplication": "may replicate",
    "rolbypassrls": "bypasses row security",
}
MEMBER = """
SELECT rolname FROM pg_roles WHERE rolname <> current_user AND pg_has_role(current_user, oid, 'USAGE') ORDER BY rolname
"""
WRITES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
AND (has_any_column_privilege(c.oid, 'INSERT') OR has_any_column_privilege(c.oid, 'UPDATE')
OR has_table_privilege(c.oid, 'DELETE') OR has_table_privilege(c.oid, 'TRUNCATE')) ORDER BY 1, 2
"""
READS = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
AND NOT c.oid = ANY(%s) AND has_any_column_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE') ORDER \
BY 1, 2
"""
CREATES = """
SELECT nspname FROM pg_namespace WHERE has_schema_privilege(oid, 'CREATE') AND nspname NOT LIKE 'pg\\_%' ORDER BY 1
"""
DATABASE = """
SELECT has_database_privilege(current_database(), 'CREATE'), has_database_privilege(current_database(), 'TEMPORARY')
"""
SHOWN = 3


def powers(cursor: psycopg.Cursor[Any], declared: Sequence[int]) -> tuple[str, ...]:
    """One sentence each, the worst first."""
    found = []
    told = cursor.execute(f"SELECT {', '.join(ATTRIBUTES)} FROM pg_roles WHERE rolname = current_user").fetchone()
    found += [words for words, has in zip(ATTRIBUTES.values(), told or ()) if has]
    if told is not None and told[0]:
        return tuple(found)  # everything else follows
    found += _listed("is a member of", [row[0] for row in cursor.execute(MEMBER).fetchall()])
    found += _listed("may write to", [".".join(row) for row in cursor.execute(WRITES).fetchall()])
    others = cursor.execute(READS, (list(declared),)).fetchall()
    found += _listed("may read, though undeclared,", [".".join(row) for row in others])
    found += _listed(
        "may create tables and functions in the schema", [row[0] for row in cursor.execute(CREATES).fetchall()]
    )
    create, temporary = cursor.execute(DATABASE).fetchone() or (False, False)
    found += ["may create schemas"] if create else []
    found += ["may make temporary tables"] if temporary else []
    return tuple(found)


def _listed(what: str, names: list[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return [f"{what} {', '.join(names[:SHOWN])}{more}"]


INTEGER_OID = 20
MOMENT_OIDS = (1082, 1114)


def columns_of(cursor: psycopg.Cursor[Any], sql: str) -> Columns:
    """Measures as 64-bit integers without NULL, values of discovered keys as Python's own."""
    kinds = _kinds(cursor, sql)
    invariant(all(name.startswith("f") or kind == INTEGER_OID for name, kind in kinds), "measures are integers")
    if all(kind == INTEGER_OID and not name.startswith("f") for name, kind in kinds):
        return _integers(cursor, sql, [name for name, _ in kinds])
    cursor.execute(sql, binary=True)
    rows = cursor.fetchall()
    columns: dict[str, Any] = {}
    for (name, kind), values in zip(kinds, zip(*rows) if rows else [()] * len(kinds)):
        if kind in MOMENT_OIDS:
            columns[name] = np.array(values, dtype="datetime64[us]").astype(object)  # dates as their midnight
        elif name.startswith("f"):
            columns[name] = np.empty(len(values), dtype=object)
            columns[name][:] = values
        else:
            invariant(None not in values, "measures are without NULL")
            columns[name] = np.array(values, dtype=np.int64)
    return columns


def batches_of(cursor: psycopg.Cursor[Any], sql: str) -> Iterator[Columns]:
    """The same by a copy that is read while the server works: a cursor of the server's would rule out parallel
    plans.
    """
    kinds = _kinds(cursor, sql)
    invariant(all(name.startswith("f") or kind == INTEGER_OID for name, kind in kinds), "measures are integers")
    with cursor.copy(f"COPY ({sql}) TO STDOUT (FORMAT BINARY)") as copy:
        copy.set_types([kind for _, kind in kinds])
        rows = copy.rows()
        while some := list(islice(rows, BATCH_ROWS)):
            yield base.columns_of([name for name, _ in kinds], some)


def _kinds(cursor: psycopg.Cursor[Any], sql: str) -> list[tuple[str, int]]:
    """Names and types of the answer, which the server tells without running the question."""
    import psycopg
    from psycopg.pq import ExecStatus

    server = cursor.connection.pgconn
    if server.prepare(b"", sql.encode()).status != ExecStatus.COMMAND_OK:
        raise psycopg.DatabaseError
    told = server.describe_prepared(b"")
    if told.status != ExecStatus.COMMAND_OK:
        raise psycopg.DatabaseError
    return [((told.fname(i) or b"").decode(), told.ftype(i)) for i in range(told.nfields)]


def _integers(cursor: psycopg.Cursor[Any], sql: str, names: list[str]) -> Columns:
    """A part of the rows at a time, so that few of them are Python's own at once; a copy would cost a call for each
    row.
    """
    cursor.execute(sql, binary=True)
    parts = [np.empty((0, len(names)), dtype=np.int64)]
    while rows := cursor.fetchmany(BATCH_ROWS):
        try:
            flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows) * len(names))
        except TypeError:
            invariant(False, "measures are without NULL")
        parts.append(flat.reshape(len(rows), len(names)))
    whole = np.concatenate(parts)
    return {name: whole[:, i].copy() for i, name in enumerate(names)}


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
PLACE = (
    "SELECT system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()) FROM "
    "pg_control_system()"
)
COUNTERS = """
SELECT pg_relation_filenode(%(t)s::oid::regclass), pg_stat_get_tuples_inserted(%(t)s), \
pg_stat_get_tuples_updated(%(t)s),
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
        """Rows of a table cannot be malformed; a view or foreign table runs code of its own on each, so it is read
        whole.
        """
        plain = self._tables[table][1] in PLAIN_KINDS
        try:
            with self._lock, self._reading(PROBE_S) as cursor:
                cursor.execute(f"{sql} LIMIT 0" if plain else sql)
                return True
        except (self._psycopg.Error, MemoryError, OSError):
            return False

    def known_by(self, table: str) -> tuple[str, ...]:
        """What tells the table from every other, on whatever server; what changes when its rows do, or may have; and
        the
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
        """Refuse where a relation is described otherwise than it is held to; from here on this transaction keeps it
        so.
        """
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
        self._engine = engine
        self._timeout_s = timeout_s

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
