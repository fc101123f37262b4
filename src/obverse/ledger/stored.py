"""StoredLedger: a ledger whose records lie in a database, whichever one; the chain is the only truth.

What differs between databases is how rows are read and written in one transaction, and what may befall one; all else is
here, so that every store keeps the same promises.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from obverse.catalog.model import Budget
from obverse.core.errors import LedgerError
from obverse.core.ledger import Entry, Head, Spent, Terms
from obverse.ledger import acts
from obverse.ledger.anchor import Anchor, Anchored, newest, rolled_back, state_of
from obverse.ledger.base import ChainLedger, Decide
from obverse.ledger.book import Book, Debit
from obverse.ledger.chain import START, Draft, Record, damaged, entry_of, opened, sealed_all
from obverse.ledger.rows import Rows
from obverse.ledger.verify import verify_store

T = TypeVar("T")
_AFTER_CLOSING = ("close", "moved", "acknowledge")


def onward(step: str) -> None:
    """Steps are named so that tests can stop at each of them."""


class StoredLedger(ChainLedger):
    def __init__(self, place: str, anchor: Anchor, *, clock: Callable[[], str], step: Callable[[str], None]) -> None:
        self.place = place
        self._anchor = anchor
        self._clock = clock
        self._step = step
        self._held: Book | None = None
        self._anchored_at = 0  # how far the anchor had come when the Book was last brought up to date

    @abstractmethod
    def _alone(self) -> AbstractContextManager[None]:
        """Keep the other threads of this process out."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Rows]:
        """All or nothing, alone among all writers; durable once the block has ended."""

    @abstractmethod
    def _read(self, action: Callable[[Rows], T]) -> T:
        """Run an action on one consistent view."""

    @abstractmethod
    def close(self) -> None: ...

    def create(self, ledger_id: str, dataset: str, terms: Terms, budget: Budget) -> None:
        """Write the opening record, unless there is one; several processes may try at once."""
        opening = acts.open_ledger(ledger_id, dataset, terms, budget)
        self._append("open", lambda book: opening if book.count == 0 else None)

    def entries(self) -> Iterator[Entry]:
        return iter(self._read(lambda rows: list(opened(rows.after(0), 0, START, self.place))))

    def note(self, number: int) -> str:
        content = self._read(lambda rows: rows.content("note", number))
        return "" if content is None else content[acts.SALT_BYTES :].decode()

    def verify(self) -> Head:
        """Check every record, total, stored answer and note, the store's own structure, and the anchor."""
        anchored = self._anchor.read()
        book = self._read(lambda rows: verify_store(rows, self.place))
        self._check_anchor(book, anchored)
        return book.chain_head()

    def book(self) -> Book:
        """All that the store says, from its first record on, whether or not an anchor vouches for it."""
        return self._read(lambda rows: self._folded(rows, Book(self.place)))

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of one moment, by its table: for a copy."""
        return self._read(
            lambda rows: {
                "entry": list(rows.after(0)),
                "answer": list(rows.contents("answer")),
                "note": list(rows.contents("note")),
            }
        )

    def acknowledge(self, worst: Spent, why: str, reason: str, anchored: str) -> None:
        """Charge the worst case, on the curator's word; at most once for one anchored head."""

        def decide(book: Book) -> Draft | None:
            if anchored and anchored in book.acknowledged:
                return None
            return acts.acknowledge(book, worst, why, reason, anchored)

        self._append("acknowledge", decide)

    def adopt(self) -> None:
        """A ledger that was moved here goes on here: from now on a copy of it is a stranger elsewhere."""
        if self._book().last != "moved":
            return
        self._append("adopt", lambda book: Draft("adopt", {}) if book.last == "moved" else None)

    def _append(self, step: str, decide: Decide) -> tuple[Entry | None, Debit | None]:
        with self._alone():
            self._step(f"{step}: begin")
            anchored = self._anchor.read()
            with self._writing() as rows:
                book = self._current(rows, anchored)
                if book.count == 0 and step != "open":
                    raise damaged(self.place, "it has no opening record")
                if step not in _AFTER_CLOSING:
                    acts.still_open(book)
                drafted = decide(book)
                if drafted is None or isinstance(drafted, Debit):
                    return None, drafted
                drafts = drafted if isinstance(drafted, tuple) else (drafted,)
                records = sealed_all(book.head, book.count, drafts, self._clock())
                self._step(f"{step}: decided")
                for record, draft in zip(records, drafts, strict=True):
                    rows.insert(record, draft)
                self._step(f"{step}: written")
            self._step(f"{step}: committed")
            return self._taken(book, records, step), None

    def _taken(self, book: Book, records: Sequence[Record], step: str) -> Entry:
        """Records that are durable now: into the Book, and their heads into the anchor, before anybody is told."""
        entries = [entry_of(record.number, record.body, record.hash, self.place) for record in records]
        for entry in entries:
            book.apply(entry)
        self._write_anchor(book)
        self._step(f"{step}: anchored")
        return entries[-1]

    def _write_anchor(self, book: Book) -> None:
        """Anchor where the Book stands, with every head since the last anchor: others may have written in between."""
        try:
            self._anchor.write(state_of(book), list(enumerate(book.hashes[self._anchored_at :], start=self._anchored_at + 1)))
        except LedgerError as error:
            error.charged = True
            raise

    def _book(self) -> Book:
        anchored = self._anchor.read()
        book = self._read(lambda rows: self._current(rows, anchored))
        if book.count == 0:
            raise damaged(self.place, "it has no opening record")
        return book

    def _answer(self, number: int) -> bytes | None:
        return self._read(lambda rows: rows.content("answer", number))

    def _current(self, rows: Rows, anchored: Anchored | None) -> Book:
        """The Book with all records taken in, each checked once, and vouched for by the anchor.

        The anchor is read before the rows: it never runs ahead of the store, and a record added meanwhile cannot look missing.
        """
        self._anchored_at = 0 if anchored is None else anchored.count
        book, self._held = self._held, None  # a fold that fails half way is thrown away
        again = book is not None and book.count > 0 and rows.hash_at(book.count) != book.head
        if book is None or again:
            book = Book(self.place)
        self._folded(rows, book)
        self._check_anchor(book, anchored)
        if again and anchored is None:
            raise rolled_back(self.place, "records that this process has seen are gone")
        self._held = book
        return book

    def _folded(self, rows: Rows, book: Book) -> Book:
        for entry in opened(rows.after(book.count), book.count, book.head, self.place):
            book.apply(entry)
        return book

    def _check_anchor(self, book: Book, anchored: Anchored | None) -> None:
        if anchored is not None:
            newest(book, anchored)
