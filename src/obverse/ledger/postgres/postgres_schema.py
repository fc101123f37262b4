"""The tables of a ledger in PostgreSQL, in a schema of their own, made by numbered migrations that only ever grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from obverse.ledger.fingerprints import fresh_secret
from obverse.ledger.postgres.errors import failed

if TYPE_CHECKING:
    import psycopg

SCHEMA = "obverse"
LOCK = 0x4F425652  # "OBVR": whoever migrates holds this advisory lock
_APPEND_ONLY = (
    "CREATE TRIGGER {0}_stays BEFORE UPDATE OR DELETE ON obverse.{0} FOR EACH ROW EXECUTE FUNCTION obverse.append_only()",
    "CREATE TRIGGER {0}_lasts BEFORE TRUNCATE ON obverse.{0} FOR EACH STATEMENT EXECUTE FUNCTION obverse.append_only()",
)
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE obverse.ledger (id text PRIMARY KEY, path text NOT NULL, count bigint NOT NULL, head text NOT NULL)",
        "CREATE TABLE obverse.dataset (id text PRIMARY KEY, ledger text NOT NULL REFERENCES obverse.ledger (id),"
        " version text NOT NULL, accounting text NOT NULL, neighbours text NOT NULL, unit text NOT NULL)",
        "CREATE TABLE obverse.identity (kind text NOT NULL, value text NOT NULL, path text NOT NULL,"
        " dataset text NOT NULL REFERENCES obverse.dataset (id), PRIMARY KEY (kind, value))",
        "CREATE TABLE obverse.published (dataset text NOT NULL REFERENCES obverse.dataset (id), place text NOT NULL,"
        " digest text NOT NULL, PRIMARY KEY (dataset, place))",
        "CREATE TABLE obverse.unit_path (place text PRIMARY KEY, path text NOT NULL)",
        "CREATE TABLE obverse.entry (ledger text NOT NULL REFERENCES obverse.ledger (id), number bigint NOT NULL,"
        " body bytea NOT NULL, hash bytea NOT NULL, PRIMARY KEY (ledger, number))",
        "CREATE TABLE obverse.answer (ledger text NOT NULL, number bigint NOT NULL, content bytea NOT NULL,"
        " PRIMARY KEY (ledger, number))",
        "CREATE TABLE obverse.note (ledger text NOT NULL, number bigint NOT NULL, content bytea NOT NULL,"
        " PRIMARY KEY (ledger, number))",
        "CREATE FUNCTION obverse.append_only() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'append only'; END $$",
        *(statement.format(table) for table in ("entry", "answer", "note") for statement in _APPEND_ONLY),
        "CREATE TABLE obverse.secret (value text NOT NULL)",
        "CREATE UNIQUE INDEX ON obverse.secret ((true))",
    ),
    (
        "CREATE TABLE obverse.rights (dataset text NOT NULL REFERENCES obverse.dataset (id), id text NOT NULL,"
        " content text NOT NULL, PRIMARY KEY (dataset, id))",
    ),
    ("CREATE TABLE obverse.partitions (dataset text PRIMARY KEY REFERENCES obverse.dataset (id), content text NOT NULL)",),
)


def bring_up_to_date(connection: psycopg.Connection[Any], place: str) -> None:
    """Bring the schema, or an empty database, to the present format; outside a transaction. Many may try at once."""
    if _format_of(connection, place) == len(MIGRATIONS):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        version = _format_of(connection, place)
        if version < 0:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            connection.execute(f"CREATE TABLE {SCHEMA}.migration (number integer PRIMARY KEY, done timestamptz NOT NULL)")
        for number, migration in enumerate(MIGRATIONS[max(version, 0) :], start=max(version, 0) + 1):
            for statement in migration:
                connection.execute(statement)
            connection.execute(f"INSERT INTO {SCHEMA}.migration VALUES (%s, now())", (number,))
        connection.execute(f"INSERT INTO {SCHEMA}.secret VALUES (%s) ON CONFLICT DO NOTHING", (fresh_secret(),))


def _format_of(connection: psycopg.Connection[Any], place: str) -> int:
    """The number of migrations done; -1 for an empty database."""
    found = connection.execute(
        "SELECT to_regclass(%s) IS NOT NULL, (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace(%s)::oid)",
        (f"{SCHEMA}.migration", SCHEMA),
    ).fetchone()
    if found is None or not found[0]:
        if found is not None and found[1]:
            raise failed("ledger_damaged", place, f"its schema {SCHEMA} holds tables of somebody else")
        return -1
    row = connection.execute(f"SELECT coalesce(max(number), 0) FROM {SCHEMA}.migration").fetchone()
    version = 0 if row is None else int(row[0])
    if version > len(MIGRATIONS):
        raise failed("ledger_newer", place, f"its schema has format {version}")
    return version


def check_tables(connection: Any, place: str) -> None:
    """Every table survives a crash: none was made UNLOGGED since."""
    row = connection.execute(
        "SELECT count(*) FROM pg_class WHERE relnamespace = ?::regnamespace AND relkind = 'r' AND relpersistence <> 'p'",
        (SCHEMA,),
    ).fetchone()
    if row is None or row[0]:
        raise failed("ledger_damaged", place, "some of its tables are UNLOGGED, and so do not survive a crash")
