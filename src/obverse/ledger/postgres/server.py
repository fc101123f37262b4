"""A PostgreSQL server as a store: transactions that are durable or undone, and the truth about those that were lost.

Every transaction sets what it stands on for itself (SET LOCAL), so a pool between us and the server changes nothing.

The tables of a ledger in PostgreSQL, in a schema of their own, made by numbered migrations that only ever grow.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from obverse.catalog.model import Server
from obverse.core.errors import LedgerError, Refused
from obverse.ledger.datasets import Datasets
from obverse.ledger.postgres.errors import InDoubt, Undone, failed, is_lost, told
from obverse.ledger.sources import Seal, fresh_secret, portable, seal_of

if TYPE_CHECKING:
    import psycopg

    from obverse.ledger.datasets import Dataset
    from obverse.ledger.sources import Identified


SCHEMA = "obverse"
LOCK = 0x4F425652  # "OBVR": whoever migrates holds this advisory lock
_APPEND_ONLY = (
    "CREATE TRIGGER {0}_stays BEFORE UPDATE OR DELETE ON obverse.{0} FOR EACH ROW EXECUTE FUNCTION "
    "obverse.append_only()",
    "CREATE TRIGGER {0}_lasts BEFORE TRUNCATE ON obverse.{0} FOR EACH STATEMENT EXECUTE FUNCTION obverse.append_only()",
)
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE obverse.ledger (id text PRIMARY KEY, path text NOT NULL, count bigint NOT NULL, head text NOT "
        "NULL)",
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
    (
        "CREATE TABLE obverse.partitions (dataset text PRIMARY KEY REFERENCES obverse.dataset (id), content text NOT "
        "NULL)",
    ),
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
            connection.execute(
                f"CREATE TABLE {SCHEMA}.migration (number integer PRIMARY KEY, done timestamptz NOT NULL)"
            )
        for number, migration in enumerate(MIGRATIONS[max(version, 0) :], start=max(version, 0) + 1):
            for statement in migration:
                connection.execute(statement)
            connection.execute(f"INSERT INTO {SCHEMA}.migration VALUES (%s, now())", (number,))
        connection.execute(f"INSERT INTO {SCHEMA}.secret VALUES (%s) ON CONFLICT DO NOTHING", (fresh_secret(),))


def _format_of(connection: psycopg.Connection[Any], place: str) -> int:
    """The number of migrations done; -1 for an empty database."""
    found = connection.execute(
        "SELECT to_regclass(%s) IS NOT NULL, (SELECT count(*) FROM pg_class WHERE relnamespace = "
        "to_regnamespace(%s)::oid)",
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
        "SELECT count(*) FROM pg_class WHERE relnamespace = ?::regnamespace AND relkind = 'r' AND relpersistence <> "
        "'p'",
        (SCHEMA,),
    ).fetchone()
    if row is None or row[0]:
        raise failed("ledger_damaged", place, "some of its tables are UNLOGGED, and so do not survive a crash")


T = TypeVar("T")
BUSY_S = 10.0
IDLE_S = 60  # a connection that was lost holds its locks no longer than this
PAUSES_S = (0.0, 0.05, 0.5, 1.5)  # before each attempt
_WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_STRONGEST = "CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END"


class Spelled:
    """A psycopg connection that reads `?` as a parameter."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: tuple[Any, ...] = (), /) -> psycopg.Cursor[Any]:
        return self._connection.execute(sql.replace("?", "%s"), parameters)

    def executemany(self, sql: str, rows: Iterable[tuple[Any, ...]], /) -> None:
        for row in rows:
            self.execute(sql, row)


class SharedDatasets(Datasets):
    """Datasets that several machines agree on: known only by what means the same on each of them."""

    def dataset_of(self, identified: Iterable[Identified]) -> Dataset | None:
        return super().dataset_of([portable(source) for source in identified])

    def remember(self, dataset_id: str, identified: Iterable[Identified]) -> None:
        super().remember(dataset_id, [portable(source) for source in identified])


class PostgresServer:
    """Connected late, safe among threads, connected anew after a fork or when the connection was lost."""

    def __init__(self, address: str, place: str, *, busy_s: float = BUSY_S) -> None:
        self.place = place
        self._address = address
        self._lock = threading.RLock()
        self._connected: psycopg.Connection[Any] | None = None
        self._process = os.getpid()
        self._seal: Seal | None = None
        self._settings = (
            f"SELECT set_config('synchronous_commit', {_STRONGEST}, true),"
            f" set_config('lock_timeout', '{busy_s * 1000:.0f}', true),"
            f" set_config('idle_in_transaction_session_timeout', '{IDLE_S}s', true),"
            f" set_config('row_security', 'off', true),"
            f" set_config('search_path', '{SCHEMA}, pg_temp', true)"
        )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the other threads of this process out."""
        if self._process != os.getpid():  # the parent's lock may be held for ever, and its connection is not ours
            self._lock = threading.RLock()
            self._connected = None
            self._process = os.getpid()
        with self._lock:
            yield

    @contextmanager
    def writing(self) -> Iterator[Spelled]:
        """All or nothing, and durable once the block has ended. Undone or InDoubt tell what is known of a lost one."""
        with self.held():
            connection = self._begun(_WRITING)
            try:
                yield Spelled(connection)
            except BaseException as error:
                raise self._abandoned(connection, error) from None
            self._commit(connection)

    @contextmanager
    def reading(self) -> Iterator[Spelled]:
        """One consistent view."""
        with self.held():
            connection = self._begun(_READING)
            try:
                yield Spelled(connection)
            except BaseException as error:
                raise self._abandoned(connection, error) from None
            self._roll_back(connection)

    @contextmanager
    def exclusive(self) -> Iterator[SharedDatasets]:
        """The datasets, to be read and changed by one process at a time, on whichever machine."""
        try:
            with self.writing() as statements:
                statements.execute("LOCK TABLE dataset IN EXCLUSIVE MODE")
                yield SharedDatasets(statements)
        except InDoubt as error:  # nothing is charged in here, and all of it can be done again
            raise failed("ledger_unreachable", self.place, error.why, Undone) from None

    @contextmanager
    def shared(self) -> Iterator[SharedDatasets]:
        """The datasets, to be read."""
        with self.reading() as statements:
            yield SharedDatasets(statements)

    @property
    def seal(self) -> Seal:
        """What all machines that share this database make fingerprints with."""
        if self._seal is None:
            with self.reading() as statements:
                row = statements.execute("SELECT value FROM secret").fetchone()
            self._seal = seal_of("" if row is None else row[0])
            if self._seal is None:
                raise failed("ledger_damaged", self.place, "the secret that fingerprints are made with is missing")
        return self._seal

    def repeated(self, action: Callable[[], T]) -> T:
        """Do again what surely left no trace; a bounded number of times."""
        for pause_s in PAUSES_S[1:]:
            try:
                return action()
            except Undone:
                wait(pause_s)
        return action()

    def close(self) -> None:
        with self.held():
            if self._connected is not None:
                self._drop(self._connected)

    def _begun(self, begin: str) -> psycopg.Connection[Any]:
        """A connection in a fresh transaction; one that died while it was idle is replaced."""
        psycopg = driver()
        while True:
            kept = self._connected
            connection = kept or self._connect()
            try:
                found = connection.execute(f"{begin}; {self._settings}")
                found.nextset()
                row = found.fetchone()
                if row is not None and row[0] in ("on", "remote_apply"):
                    return connection
                raise _unsafe(self.place, "synchronous_commit cannot be set")
            except psycopg.Error as error:
                befell = self._abandoned(connection, error, drop=True)
                if kept is None or not isinstance(befell, Undone):
                    raise befell from None
            except BaseException:
                self._drop(connection)
                raise

    def _connect(self) -> psycopg.Connection[Any]:
        psycopg = driver()
        try:
            connection = connect_to(self._address)
        except psycopg.ProgrammingError:
            why = "what was given as its address is not one"  # the text is not shown: it may hold a password
            raise failed("ledger_unreachable", self.place, why) from None
        except psycopg.Error as error:
            why = f"no connection, or no entry for this user ({error.sqlstate or 'no answer'})"
            raise failed("ledger_unreachable", self.place, why, Undone) from None
        self._connected = connection
        try:
            fsync = connection.execute("SELECT current_setting('fsync')").fetchone()
            if fsync != ("on",):
                raise _unsafe(self.place, "the server does not write through to disk (fsync is off)")
            bring_up_to_date(connection, self.place)
        except BaseException as error:
            raise self._abandoned(connection, error, drop=True) from None
        return connection

    def _commit(self, connection: psycopg.Connection[Any]) -> None:
        """COMMIT; a server that rolled back instead says so in its answer, and not by an error."""
        psycopg = driver()
        try:
            done = connection.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            doubted = is_lost(connection, error) or error.sqlstate == "40003"
            befell = self._abandoned(connection, error, drop=doubted)
            if doubted:
                befell = failed("ledger_in_doubt", self.place, befell.why, InDoubt)
            raise befell from None
        except BaseException:
            self._drop(connection)
            raise
        if done != "COMMIT":
            raise failed("ledger_busy", self.place, "the server rolled the transaction back", Undone)

    def _abandoned(self, connection: psycopg.Connection[Any], error: BaseException, *, drop: bool = False) -> Any:
        """Leave nothing behind of a transaction; what befell it, in our words."""
        psycopg = driver()
        befell = told(connection, error, self.place) if isinstance(error, psycopg.Error) else error
        if drop or (isinstance(error, psycopg.Error) and is_lost(connection, error)):
            self._drop(connection)
        else:
            self._roll_back(connection)
        return befell

    def _roll_back(self, connection: psycopg.Connection[Any]) -> None:
        psycopg = driver()
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            self._drop(connection)
        except BaseException:
            self._drop(connection)
            raise

    def _drop(self, connection: psycopg.Connection[Any]) -> None:
        self._connected = None
        with suppress(Exception):
            connection.close()


def server_of(server: Server) -> PostgresServer:
    """The server that obverse.toml points to."""
    if server.service:
        return PostgresServer(f"service={server.service}", f"PostgreSQL (service {server.service})")
    address = os.environ.get(server.dsn_env, "")
    if not address:
        raise Refused(
            "no_address",
            f"the environment variable {server.dsn_env}, which holds the ledger's address, is not set.",
            fix=f"Set it, such as {server.dsn_env}=postgresql://user@host/database; passwords belong into ~/.pgpass.",
        )
    return PostgresServer(address, f"PostgreSQL (address in {server.dsn_env})")


def connect_to(address: str) -> psycopg.Connection[Any]:
    """A connection on which each statement is its own transaction unless BEGIN says otherwise; dead peers are
    noticed.
    """
    loaded = driver()
    usual: dict[str, Any] = {
        "connect_timeout": 10,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "tcp_user_timeout": 30_000,
    }
    given = loaded.conninfo.conninfo_to_dict(address)
    usual = {name: value for name, value in usual.items() if name not in given}
    made: psycopg.Connection[Any] = loaded.connect(
        address, autocommit=True, prepare_threshold=None, client_encoding="utf8", application_name="obverse", **usual
    )
    return made


def wait(pause_s: float) -> None:
    if pause_s:
        time.sleep(pause_s)


def driver() -> Any:
    """psycopg, loaded when it is first needed: it is an extra."""
    try:
        import psycopg
    except ImportError:
        raise Refused(
            "missing_extra",
            "a ledger in PostgreSQL needs psycopg, which is not installed.",
            fix="pip install 'obverse[postgres]'",
        ) from None
    return psycopg


def _unsafe(place: str, why: str) -> LedgerError:
    return failed("ledger_unwritable", place, why)
