"""The embedded ledger: one SQLite file of sealed records. The chain is the only truth; all else is folded from it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from obverse.catalog.model import Budget
from obverse.core.errors import LedgerError
from obverse.core.ledger import Entry, Head, Spent, Terms
from obverse.ledger import acts
from obverse.ledger.anchor import Anchor, Anchored, rolled_back, state_of
from obverse.ledger.base import ChainLedger, Decide, now
from obverse.ledger.book import Book, Debit
from obverse.ledger.chain import START, Draft, Record, damaged, entry_of, opened, seal
from obverse.ledger.storage import APPLICATION_ID, BUSY_S, Database, Shape
from obverse.ledger.verify import verify_store

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
_AFTER_CLOSING = ("close", "moved", "acknowledge")
_RECORDS_AFTER = "SELECT number, body, hash FROM entry WHERE number > ? ORDER BY number"


def _onward(step: str) -> None:
    """Steps are named so that tests can stop at each of them."""


class SqliteLedger(ChainLedger):
    def __init__(
        self,
        path: Path,
        anchor: Anchor,
        *,
        clock: Callable[[], str] = now,
        step: Callable[[str], None] = _onward,
        busy_s: float = BUSY_S,
    ) -> None:
        self.path = path
        self.database = Database(path, SHAPE, busy_s=busy_s)
        self._anchor = anchor
        self._clock = clock
        self._step = step
        self._held: Book | None = None

    def create(self, ledger_id: str, dataset: str, terms: Terms, budget: Budget) -> None:
        """Write the opening record, unless there is one; several processes may try at once."""
        self.database.create()
        opening = acts.open_ledger(ledger_id, dataset, terms, budget)
        self._append("open", lambda book: opening if book.count == 0 else None)

    def entries(self) -> Iterator[Entry]:
        with self.database.reading() as connection:
            return iter(list(opened(connection.execute(_RECORDS_AFTER, (0,)), 0, START, str(self.path))))

    def note(self, number: int) -> str:
        with self.database.reading() as connection:
            row = connection.execute("SELECT content FROM note WHERE number = ?", (number,)).fetchone()
        return "" if row is None else row[0][acts.SALT_BYTES :].decode()

    def verify(self) -> Head:
        """Check every record, total, stored answer and note, the file's own structure, and the anchor."""
        anchored = self._anchor.read()
        with self.database.reading() as connection:
            book = verify_store(connection, str(self.path))
            self._check_anchor(book, anchored)
            return book.chain_head()

    def book(self) -> Book:
        """All that the file says, from its first record on, whether or not an anchor vouches for it."""
        with self.database.reading() as connection:
            return self._folded(connection, Book(str(self.path)))

    def acknowledge(self, worst: Spent, why: str, reason: str, anchored: str) -> None:
        """Charge the worst case, on the curator's word; at most once for one anchored head."""

        def decide(book: Book) -> Draft | None:
            if anchored and anchored in book.acknowledged:
                return None
            return acts.acknowledge(book, worst, why, reason, anchored)

        self._append("acknowledge", decide)

    def adopt(self) -> None:
        """A file that was moved here goes on here: from now on a copy of it is a stranger elsewhere."""
        if self._book().last != "moved":
            return
        self._append("adopt", lambda book: Draft("adopt", {}) if book.last == "moved" else None)

    def close_for_move(self) -> None:
        """The last record of a ledger that goes on elsewhere."""
        self._append("close", lambda book: None if book.closed else Draft("close", {}))

    def reopen_moved(self) -> None:
        self._append("moved", lambda book: Draft("moved", {}))

    def close(self) -> None:
        self.database.close()
        self._held = None

    def _append(self, step: str, decide: Decide) -> tuple[Entry | None, Debit | None]:
        with self.database.held():
            self._step(f"{step}: begin")
            with self.database.transaction() as connection:
                book = self._current(connection)
                if book.count == 0 and step != "open":
                    raise damaged(str(self.path), "it has no opening record")
                if step not in _AFTER_CLOSING:
                    acts.still_open(book)
                drafted = decide(book)
                if drafted is None or isinstance(drafted, Debit):
                    return None, drafted
                record = seal(book.head, book.count + 1, drafted, self._clock())
                self._step(f"{step}: decided")
                _insert(connection, record, drafted)
                self._step(f"{step}: written")
            self._step(f"{step}: committed")
            entry = entry_of(record.number, record.body, record.hash, str(self.path))
            book.apply(entry)
            self._write_anchor(book)
            self._step(f"{step}: anchored")
            return entry, None

    def _write_anchor(self, book: Book) -> None:
        try:
            self._anchor.write(state_of(book))
        except LedgerError as error:
            error.charged = True
            raise

    def _book(self) -> Book:
        with self.database.reading() as connection:
            book = self._current(connection)
        if book.count == 0:
            raise damaged(str(self.path), "it has no opening record")
        return book

    def _answer(self, number: int) -> bytes | None:
        with self.database.reading() as connection:
            row = connection.execute("SELECT content FROM answer WHERE number = ?", (number,)).fetchone()
        return None if row is None else bytes(row[0])

    def _current(self, connection: sqlite3.Connection) -> Book:
        """The Book with all records taken in, each checked once, and vouched for by the anchor.

        The anchor is read first: it never runs ahead of the file, and a record added meanwhile cannot look missing.
        """
        anchored = self._anchor.read()
        book, self._held = self._held, None  # a fold that fails half way is thrown away
        again = book is not None and book.count > 0 and _hash_at(connection, book.count) != book.head
        if book is None or again:
            book = Book(str(self.path))
        self._folded(connection, book)
        self._check_anchor(book, anchored)
        if again and anchored is None:
            raise rolled_back(str(self.path), "records that this process has seen are gone")
        self._held = book
        return book

    def _folded(self, connection: sqlite3.Connection, book: Book) -> Book:
        rows = connection.execute(_RECORDS_AFTER, (book.count,))
        for entry in opened(rows, book.count, book.head, str(self.path)):
            book.apply(entry)
        return book

    def _check_anchor(self, book: Book, anchored: Anchored | None) -> None:
        if anchored is None or (anchored.count == 0 and book.count == 0):
            return
        if anchored.ledger_id != book.ledger_id:
            raise rolled_back(str(self.path), "it is another ledger than the one last seen here")
        if anchored.count > book.count or (anchored.count and book.hashes[anchored.count - 1] != anchored.head):
            raise rolled_back(str(self.path), f"record {anchored.count} was seen here, and is missing or another one")


def _insert(connection: sqlite3.Connection, record: Record, draft: Draft) -> None:
    connection.execute("INSERT INTO entry VALUES (?, ?, ?)", (record.number, record.body, record.hash))
    if draft.answer is not None:
        connection.execute("INSERT INTO answer VALUES (?, ?)", draft.answer)
    if draft.note is not None:
        connection.execute("INSERT INTO note VALUES (?, ?)", (record.number, draft.note))


def _hash_at(connection: sqlite3.Connection, number: int) -> bytes | None:
    row = connection.execute("SELECT hash FROM entry WHERE number = ?", (number,)).fetchone()
    return None if row is None else row[0]
