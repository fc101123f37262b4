"""Cursor: one question at a time, its rows by DB-API 2.0, and the whole answer with its claim beside them."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from obverse.core.types import Value
from obverse.dbapi.errors import InterfaceError, NotSupportedError, translated
from obverse.dbapi.type_codes import type_code
from obverse.session.planning import Number
from obverse.sql.parameters import Parameters, bind

if TYPE_CHECKING:
    from obverse.answers.answer import Answer
    from obverse.dbapi.connection import Connection

Row = tuple[Value, ...]
Described = tuple[str, str, None, None, None, None, None]  # name and type code; the rest is not told


class Cursor:
    """Ask with `execute`, fetch the rows; `.answer` has the noise intervals, the claim and the price."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._answer: Answer | None = None
        self._next, self._closed = 0, False

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
        self._answer, self._next = None, 0
        with translated():
            text = bind(operation, () if parameters is None else parameters)
            self._answer = self.connection.ask(
                text, epsilon=epsilon, delta=delta, within=within, confidence=confidence, key=key
            )
        return self

    def executemany(self, operation: str, seq_of_parameters: Iterable[Parameters]) -> NoReturn:
        """Always refused: many questions under one call would hide what each of them costs."""
        raise NotSupportedError(
            "[not_supported] executemany would ask many questions, each with its own price and rows that nobody fetches.\n"
            "Fix: call execute for each, or ask them together with connection.session.ask_all([...]).",
            code="not_supported",
        )

    @property
    def answer(self) -> Answer:
        """The answer as obverse.open gives it; it outlives the cursor."""
        if self._answer is None:
            raise InterfaceError("[no_answer] no question was answered on this cursor.\nFix: execute one.", code="no_answer")
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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
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
            raise InterfaceError("[closed] this cursor is closed.\nFix: make another with connection.cursor().", code="closed")
