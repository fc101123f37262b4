"""The ledger for several servers: sealed records in a PostgreSQL database, one budget for all machines that share
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from obverse.core.errors import LedgerError
from obverse.core.ledger import Entry, Head
from obverse.ledger.anchor import Anchor, Anchored
from obverse.ledger.chain import Draft, Record, damaged, entry_of
from obverse.ledger.datasets import Statements
from obverse.ledger.ledger import Decide, Rows, StoredLedger, now, onward
from obverse.ledger.postgres.errors import InDoubt, Undone, failed
from obverse.ledger.postgres.server import PAUSES_S, PostgresServer, check_tables, wait
from obverse.ledger.state import Book, Debit

T = TypeVar("T")


class PostgresRows:
    """One ledger's rows within one transaction; `stated` is the count and head that the ledger's own row carries."""

    def __init__(self, statements: Statements, ledger_id: str, stated: tuple[int, str]) -> None:
        self._statements = statements
        self._ledger_id = ledger_id
        self.stated = stated
        self.sent: Record | None = None  # the last one, whose seal holds those before it
        self._read: list[tuple[Any, Any, Any]] = []
        self._read_from = 0

    def after(self, count: int) -> Iterable[tuple[Any, Any, Any]]:
        if self._read_from == count + 1:
            return self._read[1:]
        return self._from(count + 1)

    def hash_at(self, number: int) -> bytes | None:
        """One record's hash; what comes after it is read on the way, since it is asked for next."""
        self._read = self._from(number)
        self._read_from = number + 1
        if self._read and self._read[0][0] == number:
            found: bytes = self._read[0][2]
            return found
        return None

    def _from(self, number: int) -> list[tuple[Any, Any, Any]]:
        return self._statements.execute(
            "SELECT number, body, hash FROM entry WHERE ledger = ? AND number >= ? ORDER BY number",
            (self._ledger_id, number),
        ).fetchall()

    def content(self, table: str, number: int) -> bytes | None:
        row = self._statements.execute(
            f"SELECT content FROM {table} WHERE ledger = ? AND number = ?", (self._ledger_id, number)
        ).fetchone()
        return None if row is None else bytes(row[0])

    def contents(self, table: str) -> Iterable[tuple[Any, Any]]:
        return self._statements.execute(
            f"SELECT number, content FROM {table} WHERE ledger = ?", (self._ledger_id,)
        ).fetchall()

    def insert(self, record: Record, draft: Draft) -> None:
        """The record with the ledger's own row brought forward, and what belongs to it."""
        own = self._ledger_id
        insert = "INSERT INTO {} VALUES (?, ?, ?)"
        self._statements.execute(
            "WITH added AS (INSERT INTO entry VALUES (?, ?, ?, ?)) UPDATE ledger SET count = ?, head = ? WHERE id = ?",
            (own, record.number, record.body, record.hash, record.number, record.hash.hex(), own),
        )
        if draft.answer is not None:
            self._statements.execute(insert.format("answer"), (own, *draft.answer))
        if draft.note is not None:
            self._statements.execute(insert.format("note"), (own, record.number, draft.note))
        self.sent = record

    def check_structure(self, place: str) -> None:
        check_tables(self._statements, place)


class PostgresLedger(StoredLedger):
    """Appends one at a time among all machines, and tells the truth about each.

    Claim:   (1) the caps hold exactly however many processes race; (2) an append that is reported as done is there,
             once, and survives a crash of the server; (3) one that is reported as not done, and not as charged, is not
             there.
    Proof:   (1) Each append first locks its ledger's row (SELECT ... FOR UPDATE) and holds it until its transaction has
             ended. Under READ COMMITTED every statement sees what was committed before it began, so the records read
             after the lock are all there are, and stay all until the commit: deciding and appending are one step. A
             writer that kept to no lock would still meet the primary key (ledger, number), which gives each number to
             one record.
             (2) COMMIT answered by "COMMIT" is durable: synchronous_commit is on in this very transaction, and a server
             without fsync is refused. (3) Before COMMIT is sent, a lost connection or a conflict (40001, 40P01) leaves
             nothing, because a server commits only what it is told to; it is done again from its beginning. When the
             connection is lost after COMMIT was sent, the outcome is read under the same lock: PostgreSQL lets go of a
             transaction's row locks only after its outcome is settled and seen by all, so whoever holds the lock knows
             that the lost one has ended. It was written if and only if the record of its number has its hash, which
             seals the random id of the debit. Where the lock is not to be had, it is reported as charged, and is never
             undone.
    Assumes: one primary server at a time. A standby that takes over without having received a commit has rolled back;
             the anchors of the machines that saw that commit notice.
    """

    def __init__(
        self,
        server: PostgresServer,
        ledger_id: str,
        anchor: Anchor,
        *,
        clock: Callable[[], str] = now,
        step: Callable[[str], None] = onward,
    ) -> None:
        super().__init__(server.place, anchor, clock=clock, step=step)
        self.server = server
        self._ledger_id = ledger_id
        self._rows: PostgresRows | None = None

    def verify(self) -> Head:
        head = super().verify()
        self._book()  # the ledger's own row agrees as well
        return head

    def close(self) -> None:
        self.server.close()
        self._held = None

    def _alone(self) -> AbstractContextManager[None]:
        return self.server.held()

    @contextmanager
    def _writing(self) -> Iterator[Rows]:
        self._rows = None
        with self.server.writing() as statements:
            self._rows = self._here(statements, " FOR UPDATE")
            yield self._rows

    def _read(self, action: Callable[[Rows], T]) -> T:
        def once() -> T:
            with self.server.reading() as statements:
                return action(self._here(statements, ""))

        return self.server.repeated(once)

    def _here(self, statements: Statements, lock: str) -> PostgresRows:
        row = statements.execute(f"SELECT count, head FROM ledger WHERE id = ?{lock}", (self._ledger_id,)).fetchone()
        if row is None:
            raise failed("ledger_missing", self.place, "the database has no ledger of this id")
        return PostgresRows(statements, self._ledger_id, (row[0], row[1]))

    def _current(self, rows: Rows, anchored: Anchored | None) -> Book:
        book = super()._current(rows, anchored)
        if isinstance(rows, PostgresRows) and rows.stated != (book.count, book.head.hex()):
            raise damaged(self.place, "its last records are missing")
        return book

    def _append(self, step: str, decide: Decide) -> tuple[Entry | None, Debit | None]:
        with self._alone():
            given_up: LedgerError | None = None
            for pause_s in PAUSES_S:
                wait(pause_s)
                try:
                    return super()._append(step, decide)
                except Undone as error:
                    given_up = error
                except InDoubt as error:
                    sent = None if self._rows is None else self._rows.sent
                    if sent is None:  # nothing was written, so nothing can have been lost
                        given_up = failed("ledger_unreachable", self.place, error.why, Undone)
                        continue
                    entry = self._found(sent, error, step)
                    if entry is not None:
                        return entry, None
                    given_up = failed("ledger_unreachable", self.place, error.why, Undone)
            raise given_up or failed("ledger_unreachable", self.place, "")

    def _found(self, sent: Record, doubt: InDoubt, step: str) -> Entry | None:
        """The record whose COMMIT was lost, if it was written; None when it surely was not, and never will be."""
        for pause_s in PAUSES_S:
            wait(pause_s)
            try:
                anchored = self._anchor.read()
                with self._writing() as rows:  # waits until the lost transaction has ended
                    if rows.hash_at(sent.number) != sent.hash:
                        return None
                    book = self._current(rows, anchored)
            except (Undone, InDoubt):
                continue
            except LedgerError as error:
                if error.code == "ledger_busy":  # the lost transaction still holds the lock, and may yet be committed
                    break
                error.charged = True
                raise
            self._step(f"{step}: committed")
            self._write_anchor(book)
            self._step(f"{step}: anchored")
            return entry_of(sent.number, sent.body, sent.hash, self.place)
        raise doubt
