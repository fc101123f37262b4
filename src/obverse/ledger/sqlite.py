"""The embedded ledger: one SQLite file of sealed records."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from obverse.core.database import APPLICATION_ID, BUSY_S, Database, Shape
from obverse.core.ledger import Budget, Terms
from obverse.ledger.anchor import Anchor
from obverse.ledger.chain import Draft, Record, damaged
from obverse.ledger.ledger import Rows, StoredLedger, now, onward

T = TypeVar("T")
SHAPE = Shape(
    application_id=APPLICATION_ID,
    base=(
        "CREATE TABLE entry (number INTEGER PRIMARY KEY, body BLOB NOT NULL, hash BLOB NOT NULL)",
        "CREATE TABLE answer (number INTEGER PRIMARY KEY, content BLOB NOT NULL)",
    ),
    migrations=(
        (
            "CREATE TABLE note (number INTEGER PRIMARY KEY, content BLOB NOT NULL)",
            "CREATE TRIGGER entries_stay BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'append only'); END",
            "CREATE TRIGGER entries_last BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'append only'); END",
            "CREATE TRIGGER answers_stay BEFORE UPDATE ON answer BEGIN SELECT RAISE(ABORT, 'append only'); END",
            "CREATE TRIGGER answers_last BEFORE DELETE ON answer BEGIN SELECT RAISE(ABORT, 'append only'); END",
        ),
    ),
    code_missing="ledger_missing",
    code_unwritable="ledger_unwritable",
    code_damaged="ledger_damaged",
)


class SqliteRows:
    """The rows of a ledger's file, within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def after(self, count: int) -> Iterable[tuple[Any, Any, Any]]:
        return self._connection.execute(
            "SELECT number, body, hash FROM entry WHERE number > ? ORDER BY number", (count,)
        )

    def hash_at(self, number: int) -> bytes | None:
        row = self._connection.execute("SELECT hash FROM entry WHERE number = ?", (number,)).fetchone()
        return None if row is None else row[0]

    def content(self, table: str, number: int) -> bytes | None:
        row = self._connection.execute(f"SELECT content FROM {table} WHERE number = ?", (number,)).fetchone()
        return None if row is None else bytes(row[0])

    def contents(self, table: str) -> Iterable[tuple[Any, Any]]:
        return self._connection.execute(f"SELECT number, content FROM {table}")

    def insert(self, record: Record, draft: Draft) -> None:
        self._connection.execute("INSERT INTO entry VALUES (?, ?, ?)", (record.number, record.body, record.hash))
        if draft.answer is not None:
            self._connection.execute("INSERT INTO answer VALUES (?, ?)", draft.answer)
        if draft.note is not None:
            self._connection.execute("INSERT INTO note VALUES (?, ?)", (record.number, draft.note))

    def check_structure(self, place: str) -> None:
        if self._connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise damaged(place, "SQLite's own check of the file fails")


class SqliteLedger(StoredLedger):
    def __init__(
        self,
        path: Path,
        anchor: Anchor,
        *,
        clock: Callable[[], str] = now,
        step: Callable[[str], None] = onward,
        busy_s: float = BUSY_S,
    ) -> None:
        super().__init__(str(path), anchor, clock=clock, step=step)
        self.path = path
        self.database = Database(path, SHAPE, busy_s=busy_s)

    def create(self, ledger_id: str, dataset: str, terms: Terms, budget: Budget) -> None:
        self.database.create()
        super().create(ledger_id, dataset, terms, budget)

    def close_for_move(self) -> None:
        """The last record of a ledger that goes on elsewhere."""
        self._append("close", lambda book: None if book.closed else Draft("close", {}))

    def reopen_moved(self) -> None:
        self._append("moved", lambda book: Draft("moved", {}))

    def close(self) -> None:
        self.database.close()
        self._held = None

    def _alone(self) -> AbstractContextManager[None]:
        return self.database.held()

    @contextmanager
    def _writing(self) -> Iterator[Rows]:
        with self.database.transaction() as connection:
            yield SqliteRows(connection)

    def _read(self, action: Callable[[Rows], T]) -> T:
        with self.database.reading() as connection:
            return action(SqliteRows(connection))
