"""Connection: an opened project behind DB-API 2.0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from obverse.answers.answer import Answer
from obverse.dbapi import errors
from obverse.dbapi.cursor import Cursor
from obverse.dbapi.errors import InterfaceError, translated
from obverse.session.planning import Number
from obverse.session.session import Session
from obverse.session.session import open as open_project


class Connection:
    """Cursors over one session. As a context manager it closes itself."""

    Warning, Error = errors.Warning, errors.Error
    InterfaceError, DatabaseError, DataError = errors.InterfaceError, errors.DatabaseError, errors.DataError
    OperationalError, IntegrityError = errors.OperationalError, errors.IntegrityError
    InternalError, ProgrammingError = errors.InternalError, errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, session: Session, *, epsilon: Number | None = None, delta: Number | None = None) -> None:
        self.session = session
        self._epsilon, self._delta = epsilon, delta
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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def answer(self) -> Answer:
        """The last answer given on this connection, for tools that keep their cursor to themselves."""
        if self._answer is None:
            raise InterfaceError("[no_answer] no question was answered yet.\nFix: execute one.", code="no_answer")
        return self._answer

    def ask(self, sql: str, *, epsilon: Number | None, delta: Number | None, within: Number | None, **rest: Any) -> Answer:
        """Ask at the price given, else at the connection's, else at the project's."""
        if epsilon is None and within is None:
            epsilon = self._epsilon
        delta = self._delta if delta is None else delta
        self._answer = self.session.ask(sql, epsilon=epsilon, delta=delta, within=within, **rest)
        return self._answer

    def check_open(self) -> None:
        if self._closed:
            raise InterfaceError("[closed] this connection is closed.\nFix: connect again.", code="closed")


def connect(
    project: str | Path = ".",
    *,
    analyst: str = "",
    purpose: str = "",
    epsilon: Number | None = None,
    delta: Number | None = None,
    tables: Mapping[str, Any] | None = None,
) -> Connection:
    """Open a project as a DB-API 2.0 connection. `epsilon` and `delta` are the price of each question; else the project's."""
    with translated():
        session = open_project(project, analyst=analyst, purpose=purpose, tables=tables)
    return Connection(session, epsilon=epsilon, delta=delta)
