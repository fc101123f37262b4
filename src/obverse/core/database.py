"""One SQLite file, written durably or not at all: WAL, synchronous FULL, BEGIN IMMEDIATE, bounded waits, formats."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from obverse.core.errors import LedgerError

APPLICATION_ID = 0x4F425652  # "OBVR"
ATTEMPTS = 3
BUSY_S = 10.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_SCHEMA,
    sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_INTERNAL,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shape:
    """What a file of ours looks like: format n is the base and the first n migrations. Formats only ever grow."""

    application_id: int
    base: tuple[str, ...]
    migrations: tuple[tuple[str, ...], ...]
    code_missing: str
    code_unwritable: str
    code_damaged: str
    lost: str = ""  # what to do where the file is gone or damaged, if it is no ledger of a budget

    @property
    def format(self) -> int:
        return len(self.migrations)


class Database:
    """Opened late, safe among threads, reopened after a fork or when the file on disk was exchanged."""

    def __init__(
        self,
        path: Path,
        shape: Shape,
        *,
        busy_s: float = BUSY_S,
        functions: Mapping[str, Callable[[str, str], str]] | None = None,
    ) -> None:
        self.path = path
        self._shape = shape
        self._busy_s = busy_s
        self._functions = functions or {}  # that migrations call
        self._lock = threading.RLock()
        self._connected: sqlite3.Connection | None = None
        self._opened_as: tuple[int, int, int] | None = None  # process, device, inode
        self._broken = False

    def create(self) -> None:
        """Make an empty file, readable by its owner alone, unless there is one."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path.touch(mode=0o600, exist_ok=True)
        except OSError as error:
            raise self._error(self._shape.code_unwritable, error.strerror or "the system refused") from None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the other threads of this process out."""
        if self._opened_as is not None and self._opened_as[0] != os.getpid():
            self._lock = threading.RLock()  # the parent's lock may have been held by a thread that does not exist here
        with self._lock:
            yield

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, alone among all processes; durable once the block has ended."""
        with self.held(), translated(self._shape, self.path):
            connection = self._connection()
            self._begin(connection)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                if isinstance(error, sqlite3.Error) and _primary(error) == sqlite3.SQLITE_IOERR:
                    self._broken = True  # after a failed fsync nobody knows what is on disk
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view."""
        with self.held(), translated(self._shape, self.path):
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """The bare connection, outside any transaction: for whole-file work such as a backup."""
        with self.held(), translated(self._shape, self.path):
            yield self._connection()

    def close(self) -> None:
        with self.held():
            if self._connected is not None and self._opened_as is not None and self._opened_as[0] == os.getpid():
                with suppress(sqlite3.Error):
                    self._connected.close()
            self._connected = self._opened_as = None

    def _connection(self) -> sqlite3.Connection:
        if self._broken:
            raise self._error(self._shape.code_unwritable, "an earlier write failed; reopen once the disk is well")
        try:
            there = self.path.stat()
        except OSError:
            self.close()
            raise self._error(self._shape.code_missing, "there is no such file") from None
        present = (os.getpid(), there.st_dev, there.st_ino)
        if self._connected is not None and self._opened_as == present:
            return self._connected
        self.close()
        self._connected = self._connect()
        self._opened_as = present
        return self._connected

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.resolve().as_uri()}?mode=rw",
            uri=True,
            timeout=self._busy_s,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        mode = self._patiently(connection, "PRAGMA journal_mode = WAL").fetchone()[0]
        connection.execute(f"PRAGMA synchronous = {'FULL' if mode == 'wal' else 'EXTRA'}")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA checkpoint_fullfsync = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA secure_delete = ON")  # who is forgotten does not lie on in free pages
        connection.execute("BEGIN")  # one view of the file: another process may be making it right now
        version = _format_of(connection, self._shape, self.path)
        connection.execute("ROLLBACK")
        if version != self._shape.format:
            for name, function in self._functions.items():
                connection.create_function(name, 2, function, deterministic=True)
            self._begin(connection)
            upgrade(connection, self._shape, self.path)
            connection.execute("COMMIT")

    def _begin(self, connection: sqlite3.Connection) -> None:
        self._patiently(connection, "BEGIN IMMEDIATE")

    def _patiently(self, connection: sqlite3.Connection, statement: str) -> sqlite3.Cursor:
        """Run a statement that may find the file locked; a bounded number of times."""
        for _ in range(ATTEMPTS - 1):
            try:
                return connection.execute(statement)
            except sqlite3.OperationalError as error:
                if _primary(error) not in _BUSY:
                    raise
        return connection.execute(statement)

    def _error(self, code: str, why: str) -> LedgerError:
        return _error(code, self.path, why, self._shape)


@contextmanager
def translated(shape: Shape, path: Path) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except sqlite3.Error as error:
        primary = _primary(error)
        if primary in _BUSY:
            raise _error("ledger_busy", path, "another process held the file for too long") from None
        code = shape.code_damaged if primary in _DAMAGED else shape.code_unwritable
        raise _error(code, path, f"SQLite says: {error}", shape) from None
    except UnicodeError:
        raise _error(shape.code_damaged, path, "the file's own text cannot be read", shape) from None


def upgrade(connection: sqlite3.Connection, shape: Shape, path: Path) -> None:
    """Bring a file, or an empty one, to the present format; within the caller's transaction."""
    version = _format_of(connection, shape, path)
    if version < 0:
        for statement in shape.base:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {shape.application_id}")
    for migration in shape.migrations[max(version, 0) :]:
        for statement in migration:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {shape.format}")


def _format_of(connection: sqlite3.Connection, shape: Shape, path: Path) -> int:
    """The file's format; -1 for an empty file."""
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] and application_id == 0:
        return -1
    if application_id != shape.application_id or version < 0:
        raise _error(shape.code_damaged, path, "the file is not one of Obverse's", shape)
    if version > shape.format:
        raise LedgerError(
            "ledger_newer",
            "this file was written by a newer Obverse, and going back is refused",
            place=str(path),
            fix="Update Obverse.",
        )
    return version


def _error(code: str, path: Path, why: str, shape: Shape | None = None) -> LedgerError:
    message, fix = _TEXTS[code]
    lost = shape is not None and code in (shape.code_missing, shape.code_damaged) and shape.lost
    return LedgerError(code, message, place=str(path), why=why, fix=lost or fix)


def _primary(error: sqlite3.Error) -> int:
    """SQLite's primary code; errors that Python itself raises count as plain ones."""
    return (getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_ERROR) & 0xFF


_TEXTS = {
    "ledger_unwritable": (
        "the ledger cannot be written, so nothing is answered",
        "Make the file and its folder writable and see that the disk is well and has room.",
    ),
    "ledger_missing": (
        "the ledger's file is gone, so nothing is answered",
        "Bring it back or restore a backup; or acknowledge, which charges all that was ever spent.",
    ),
    "ledger_damaged": (
        "the ledger does not hold together, so nothing is answered",
        "Restore a backup (obverse ledger restore FILE), then acknowledge what it does not know of.",
    ),
    "ledger_busy": ("the ledger stayed locked, so nothing is answered", "Try again; end processes that hang."),
    "no_home": (
        "Obverse has no place of its own to remember datasets in, so nothing is answered",
        "Set OBVERSE_HOME to a folder that can be written to, outside the project.",
    ),
    "home_damaged": (
        "Obverse's own registry of datasets does not hold together, so nothing is answered",
        "Bring back a copy of it, or set OBVERSE_HOME to a fresh folder and acknowledge each ledger.",
    ),
}
