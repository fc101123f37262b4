"""DB-API 2.0 (PEP 249): `connect` gives a connection that pandas.read_sql, JupySQL and the like can use.

Parameters are `?` with a list (`$1` too), or `:name` and `$name` with a mapping. There are no transactions: each
query is charged durably before a row is read, so `commit` has nothing to do and `rollback` gives nothing back.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from obverse.answers.answer import Answer
from obverse.core.errors import BudgetExceeded, CatalogError, Failed, InvariantBroken, LedgerError, ObverseError
from obverse.core.types import Type, Value
from obverse.session.planning import Number
from obverse.session.session import Session
from obverse.session.session import open as open_project
from obverse.sql.parameters import Parameters, bind


class Warning(Exception):
    """Part of the interface; never raised."""


class Error(Exception):
    """The root. `code` is stable, `charged` tells whether budget was spent; our own error is its `__cause__`."""

    def __init__(self, message: str = "", *, code: str = "", charged: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.charged = charged


class InterfaceError(Error):
    """The connection or cursor was used as it cannot be: closed, or before a question was asked."""


class DatabaseError(Error):
    """Something about the question or what answers it."""


class DataError(DatabaseError):
    """Part of the interface; never raised."""


class OperationalError(DatabaseError):
    """The project, its budget or its ledger does not allow an answer, or the engine failed after the debit."""


class IntegrityError(DatabaseError):
    """Part of the interface; never raised."""


class InternalError(DatabaseError):
    """A defect of Obverse."""


class ProgrammingError(DatabaseError):
    """The question was refused: nothing was spent and no row was read."""


class NotSupportedError(DatabaseError):
    """A method of the interface that has no meaning here."""


@contextmanager
def translated() -> Iterator[None]:
    """Errors of ours as those of the interface, with the same text and code."""
    try:
        yield
    except ObverseError as error:
        raise kind_of(error)(str(error), code=error.code, charged=error.charged) from error


def kind_of(error: ObverseError) -> type[DatabaseError]:
    match error:
        case CatalogError() | BudgetExceeded() | LedgerError() | Failed():
            return OperationalError
        case InvariantBroken():
            return InternalError
        case _:
            return ProgrammingError


class TypeObject:
    """Equal to every type code of its kind: `description[0][1] == NUMBER`."""

    def __init__(self, name: str, *types: Type) -> None:
        self.name = name
        self.codes = frozenset(type_code(kind) for kind in types)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, str) and other in self.codes)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


def type_code(kind: Type) -> str:
    """The name of the type as obverse.toml writes it."""
    return kind.value


STRING = TypeObject("STRING", Type.TEXT)
BINARY = TypeObject("BINARY")
NUMBER = TypeObject("NUMBER", Type.INTEGER, Type.DOUBLE)
DATETIME = TypeObject("DATETIME", Type.DATE, Type.TIMESTAMP)
BOOLEAN = TypeObject("BOOLEAN", Type.BOOLEAN)
ROWID = TypeObject("ROWID")

Date = dt.date
Time = dt.time
Timestamp = dt.datetime
Binary = bytes
DateFromTicks = dt.date.fromtimestamp
TimestampFromTicks = dt.datetime.fromtimestamp


def TimeFromTicks(ticks: float) -> dt.time:
    return dt.datetime.fromtimestamp(ticks).time()


Row = tuple[Value, ...]
Described = tuple[str, str, None, None, None, None, None]  # name and type code; the rest is not told


class Cursor:
    """Ask with `execute`, fetch the rows; `.answer` has the noise intervals, the claim and the price."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._answer: Answer | None = None
        self._next = 0
        self._closed = False

    def execute(
        self,
        operation: str,
        parameters: Parameters | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        within: Number | None = None,
        confidence: float = 0.95,
        key: str = "",
    ) -> Cursor:
        """Ask the question; the ledger is debited. Price and key are as in `Session.ask`."""
        self._check_open()
        self._answer = None
        self._next = 0
        with translated():
            text = bind(operation, () if parameters is None else parameters)
            self._answer = self.connection.ask(
                text, epsilon=epsilon, delta=delta, within=within, confidence=confidence, key=key
            )
        return self

    def executemany(self, operation: str, seq_of_parameters: Iterable[Parameters]) -> NoReturn:
        """Always refused: many questions under one call would hide what each of them costs."""
        raise NotSupportedError(
            "[not_supported] executemany would ask many questions, each with its own price and rows that nobody "
            "fetches.\n"
            "Fix: call execute for each, or ask them together with connection.session.ask_all([...]).",
            code="not_supported",
        )

    @property
    def answer(self) -> Answer:
        """The answer as obverse.open gives it; it outlives the cursor."""
        if self._answer is None:
            raise InterfaceError(
                "[no_answer] no question was answered on this cursor.\nFix: execute one.", code="no_answer"
            )
        return self._answer

    @property
    def description(self) -> tuple[Described, ...] | None:
        if self._answer is None:
            return None
        return tuple((c.name, type_code(c.type), None, None, None, None, None) for c in self._answer.columns)

    @property
    def rowcount(self) -> int:
        return -1 if self._answer is None else len(self._answer.rows)

    def fetchone(self) -> Row | None:
        rows = self._fetch(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[Row]:
        return self._fetch(self.arraysize if size is None else size)

    def fetchall(self) -> list[Row]:
        return self._fetch(None)

    def __iter__(self) -> Cursor:
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def setinputsizes(self, sizes: object) -> None:
        """Nothing to prepare."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing to prepare."""

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Cursor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fetch(self, size: int | None) -> list[Row]:
        self._check_open()
        rows = self.answer.rows
        end = len(rows) if size is None else min(len(rows), self._next + max(0, size))
        taken = list(rows[self._next : end])
        self._next = end
        return taken

    def _check_open(self) -> None:
        self.connection.check_open()
        if self._closed:
            raise InterfaceError(
                "[closed] this cursor is closed.\nFix: make another with connection.cursor().", code="closed"
            )


class Connection:
    """Cursors over one session. As a context manager it closes itself."""

    def __init__(self, session: Session, *, epsilon: Number | None = None, delta: Number | None = None) -> None:
        self.session = session
        self._epsilon = epsilon
        self._delta = delta
        self._answer: Answer | None = None
        self._closed = False

    def cursor(self) -> Cursor:
        self.check_open()
        return Cursor(self)

    def commit(self) -> None:
        """Nothing to do: a question is charged durably when it is asked."""
        self.check_open()

    def rollback(self) -> None:
        """Nothing is given back: what was answered is known, so its price stays spent."""
        self.check_open()

    def close(self) -> None:
        """Let go of engine and ledger; a second time does nothing."""
        if not self._closed:
            self._closed = True
            self.session.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def answer(self) -> Answer:
        """The last answer given on this connection, for tools that keep their cursor to themselves."""
        if self._answer is None:
            raise InterfaceError("[no_answer] no question was answered yet.\nFix: execute one.", code="no_answer")
        return self._answer

    def ask(
        self, sql: str, *, epsilon: Number | None, delta: Number | None, within: Number | None, **rest: Any
    ) -> Answer:
        """Ask at the price given, else at the connection's, else at the project's."""
        if epsilon is None and within is None:
            epsilon = self._epsilon
        delta = self._delta if delta is None else delta
        self._answer = self.session.ask(sql, epsilon=epsilon, delta=delta, within=within, **rest)
        return self._answer

    def check_open(self) -> None:
        if self._closed:
            raise InterfaceError("[closed] this connection is closed.\nFix: connect again.", code="closed")


for _exception in (
    Warning,
    Error,
    InterfaceError,
    DatabaseError,
    DataError,
    OperationalError,
    IntegrityError,
    InternalError,
    ProgrammingError,
    NotSupportedError,
):
    setattr(Connection, _exception.__name__, _exception)  # an optional extension of PEP 249


def connect(
    project: str | Path = ".",
    *,
    analyst: str = "",
    purpose: str = "",
    epsilon: Number | None = None,
    delta: Number | None = None,
    tables: Mapping[str, Any] | None = None,
) -> Connection:
    """Open a project as a DB-API 2.0 connection.

    `epsilon` and `delta` are the price of each question; else the project's.
    """
    with translated():
        session = open_project(project, analyst=analyst, purpose=purpose, tables=tables)
    return Connection(session, epsilon=epsilon, delta=delta)


apilevel = "2.0"
threadsafety = 1  # threads may share the module, not a connection
paramstyle = "qmark"

__all__ = [
    "BINARY",
    "BOOLEAN",
    "Binary",
    "Connection",
    "Cursor",
    "DATETIME",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "ROWID",
    "STRING",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
