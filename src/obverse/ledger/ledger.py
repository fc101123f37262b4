"""ChainLedger: every act of a ledger, over two things that a store must bring: an atomic append and stored answers.

Rows: what a ledger's store must be able to do within one transaction.

Checking a ledger whole: the chain, the totals, every stored answer and note, and the store's own structure.

StoredLedger: a ledger whose records lie in a database, whichever one; the chain is the only truth.

What differs between databases is how rows are read and written in one transaction, and what may befall one; all else is
here, so that every store keeps the same promises.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

from obverse.core.accounts import Account
from obverse.core.errors import LedgerError, Refused, invariant
from obverse.core.ledger import (
    Budget,
    Cap,
    Caps,
    Entry,
    Fingerprint,
    Former,
    Head,
    Partitions,
    Receipt,
    Scope,
    Spent,
    Stored,
    Terms,
)
from obverse.core.loss import Loss
from obverse.ledger import accounts, transitions
from obverse.ledger.anchor import Anchor, Anchored, newest, rolled_back, state_of
from obverse.ledger.chain import START, Draft, Record, damaged, decode, entry_of, opened, sealed_all
from obverse.ledger.rights import Act, Rights, drafts
from obverse.ledger.state import Book, Debit


class Rows(Protocol):
    """One ledger's rows within one transaction."""

    def after(self, count: int) -> Iterable[tuple[Any, Any, Any]]:
        """Number, body and hash of the records after this many, in order."""
        ...

    def hash_at(self, number: int) -> bytes | None: ...

    def content(self, table: str, number: int) -> bytes | None:
        """The stored `answer` or `note` of a record."""
        ...

    def contents(self, table: str) -> Iterable[tuple[Any, Any]]:
        """All stored answers or notes, with the numbers of their records."""
        ...

    def insert(self, record: Record, draft: Draft) -> None: ...

    def check_structure(self, place: str) -> None:
        """The database's own check of what holds the rows."""
        ...


def verify_store(rows: Rows, place: str) -> Book:
    """The Book of a store in which everything agrees with everything; else LedgerError `ledger_damaged`."""
    rows.check_structure(place)
    book = Book(place)
    notes: dict[int, str] = {}
    for entry in opened(rows.after(0), 0, START, place):
        book.apply(entry)
        if entry.kind == "charge":
            decode(entry.fields["loss"].encode())
        if entry.fields.get("note"):
            notes[entry.number] = entry.fields["note"]
    if book.count == 0:
        raise damaged(place, "it has no opening record")
    answers = {debit.number: debit.answer for debit in book.debits.values() if debit.answer is not None}
    _match(rows, "answer", answers, place)
    _match(rows, "note", notes, place)
    return book


def _match(rows: Rows, table: str, sealed: dict[int, str], place: str) -> None:
    """Every content that a record was sealed with is there, unchanged, and nothing else is."""
    left = dict(sealed)
    for number, content in rows.contents(table):
        if not isinstance(content, bytes) or left.pop(number, "") != hashlib.sha256(content).hexdigest():
            raise damaged(place, f"the stored {table} of record {number} is not the one that was sealed")
    if left:
        raise damaged(place, f"the stored {table} of record {min(left)} is missing")


Decide = Callable[[Book], "Draft | tuple[Draft, ...] | Debit | None"]


class Recorded(TypedDict, total=False):
    """What more a version of growing data is recorded with."""

    lifts_wait: bool  # its rows were not compared, so nobody who was left out comes back with it
    compared: tuple[str, Collection[str]]  # the version and the acts on rights that stood when rows were compared
    retire: Callable[[Book], Draft]


def now() -> str:
    """For people to read; no rule looks at it."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def published_meanwhile() -> Refused:
    return Refused(
        "published_meanwhile", "somebody else published data or acted on rights meanwhile.", fix="Try again."
    )


class ChainLedger(ABC):
    """Implements core's Ledger protocol and the curator's acts. See core/ledger.py for the promises."""

    _moment: Book | None = None

    @abstractmethod
    def _append(self, step: str, decide: Decide) -> tuple[Entry | None, Debit | None]:
        """In one atomic, durable step: bring the Book up to date, decide, seal and append what was drafted.

        Several drafts are all written, or none; the last one's entry is given.
        """

    @abstractmethod
    def _answer(self, number: int) -> bytes | None:
        """The stored answer of a debit, as it lies in the store."""

    @abstractmethod
    def _book(self) -> Book:
        """The Book, up to date."""

    @abstractmethod
    def entries(self) -> Iterator[Entry]: ...

    @abstractmethod
    def note(self, number: int) -> str:
        """The owner's note on a debit, such as the question's text; empty when there is none."""

    def reserve(
        self,
        scope: Scope,
        loss: Loss,
        plan: Fingerprint,
        *,
        key: str,
        caps: Caps,
        question: str = "",
        note: str = "",
        about: Mapping[str, str] | None = None,
        partitions: Partitions | None = None,
        former: Former | None = None,
    ) -> Receipt | Stored:
        request = transitions.Request(scope, loss, plan, key, caps, question, note, about or {}, partitions, former)
        entry, earlier = self._append("reserve", lambda book: transitions.reserve(book, request))
        if earlier is not None:
            return self._stored(earlier)
        if entry is None:
            raise LedgerError("ledger_unwritable", "the debit was not written, so nothing is answered")
        return Receipt(entry.fields["id"], entry.number, entry.hash)

    def settle(self, receipt: Receipt, answer: bytes) -> None:
        try:
            self._append("settle", lambda book: transitions.settle(book, receipt, answer))
        except LedgerError as error:
            error.charged = True
            raise

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Several reads of one moment: the Book is brought up to date once for all of them."""
        if self._moment is not None:
            yield
            return
        self._moment = self._book()
        try:
            yield
        finally:
            self._moment = None

    def _seen(self) -> Book:
        return self._book() if self._moment is None else self._moment

    def spent(
        self, *, analyst: str | None = None, purpose: str | None = None, partitions: Partitions | None = None
    ) -> Spent:
        return self._seen().spent(analyst, purpose, partitions)

    def person(self) -> Spent:
        """The loss about somebody who is in every partition that was asked of; for units that are one's own part of
        one.
        """
        return self._seen().person

    def through(self) -> int | None:
        """The last partition that was published; None where none was."""
        return self._seen().through

    def retired(self) -> int | None:
        """The last partition that was retired; None where none was."""
        return self._seen().retired

    def comparing(self) -> tuple[str, Collection[str]]:
        """What rows are compared under: the data's version and the acts on rights that stand."""
        book = self._seen()
        return book.version, frozenset(book.rights.standing)

    def base(self, through: int, *, gone: bool = False) -> Spent:
        """What would count as spent on each later partition, were those up to that one retired; Refused where they
        cannot.
        """
        transitions.retire(self._seen(), through, "", gone=gone)
        return self._seen().base(through, gone=gone)

    def cap(self) -> Cap:
        return self._seen().cap

    def budget(self) -> Budget:
        """The allowed loss as it was declared and granted."""
        return self._seen().budget

    def terms(self) -> Terms:
        return self._book().terms

    def dataset(self) -> str:
        return self._book().dataset

    def head(self) -> Head:
        return self._book().chain_head()

    def grant(self, epsilon: Fraction, delta: Fraction, reason: str, *, key: str = "") -> None:
        """Raise the cap; with a key, at most once."""
        self._append("grant", lambda book: transitions.grant(book, epsilon, delta, reason, key))

    def lower(self, budget: Budget, reason: str) -> None:
        """Lower the cap; binding for every debit after it, in whichever process."""
        self._append("lower", lambda book: transitions.lower(book, budget, reason))

    def record_catalog(self, fingerprint: str) -> None:
        """Note the declared facts that answers now depend on, where they changed."""
        if self._book().catalog == fingerprint:
            return
        self._append(
            "catalog",
            lambda book: None if book.catalog == fingerprint else Draft("catalog", {"fingerprint": fingerprint}),
        )

    def record_version(
        self, version: str, through: int | None = None, rights: Sequence[Act] = (), **more: Unpack[Recorded]
    ) -> None:
        """Note that the curator published a new version of the data, and through which partition where it has any.

        Acts on rights that it begins with are written with it, in one step, and so is `retire`. Refused where rows were
        compared under another version, or other acts.
        """

        def decide(book: Book) -> tuple[Draft, ...]:
            under = more.get("compared")
            if under is not None and (under[0], {*under[1]}) != (book.version, {*book.rights.standing}):
                raise published_meanwhile()
            retired = (more["retire"](book),) if "retire" in more else ()
            waits = more.get("lifts_wait", False)
            return (*drafts(book, rights), *retired, transitions.version(book, version, through, lifts_wait=waits))

        self._append("version", decide)

    def record_custody(self, table: str, columns: Sequence[str], what: str, reason: str) -> None:
        """Note, durably, that the curator is about to read rows themselves."""
        self._append("custody", lambda book: transitions.custody(table, columns, what, reason))

    def record_right(self, act: Act) -> int:
        """Append an act on somebody's rights; gives its record's number."""
        entry, _ = self._append("rights", lambda book: drafts(book, (act,)))
        invariant(entry is not None, "an act is always written")
        return 0 if entry is None else entry.number

    def rights(self) -> Rights:
        """What the chain says of rights at this moment; to be read only."""
        return self._seen().rights

    def accounts(self) -> Mapping[str, Account]:
        """Who may reach a service over this data, at this moment."""
        return dict(self._seen().accounts)

    def change_account(self, decide: Callable[[Book], Draft | tuple[Draft, ...] | None]) -> None:
        """Append an act of obverse.ledger.accounts, or several at once."""
        self._append("account", decide)

    def service_secret(self) -> bytes:
        """A secret that all servers over this ledger share; made when it is first needed."""
        if self._book().secret is None:
            self._append("account", lambda book: accounts.secret_made(book, secrets.token_hex(32)))
        number = self._book().secret
        invariant(number is not None, "the secret was just made")
        return bytes.fromhex(self.note(number or 0))

    def answered(self, receipt_id: str) -> tuple[Stored, Scope] | None:
        """A stored answer by the id of its debit, and whose it is; None where there is none."""
        number = self._seen().receipts.get(receipt_id)
        debit = None if number is None else self._seen().debits[number]
        return None if debit is None or debit.answer is None else (self._stored(debit), debit.scope)

    def _stored(self, debit: Debit) -> Stored:
        answer = self._answer(debit.number)
        if answer is None or debit.answer != hashlib.sha256(answer).hexdigest():
            raise damaged("", f"the stored answer of record {debit.number} is not the one that was sealed")
        return Stored(answer, Receipt(debit.id, debit.number, debit.hash))


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
        opening = transitions.open_ledger(ledger_id, dataset, terms, budget)
        self._append("open", lambda book: opening if book.count == 0 else None)

    def entries(self) -> Iterator[Entry]:
        return iter(self._read(lambda rows: list(opened(rows.after(0), 0, START, self.place))))

    def note(self, number: int) -> str:
        content = self._read(lambda rows: rows.content("note", number))
        return "" if content is None else content[transitions.SALT_BYTES :].decode()

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
            return transitions.acknowledge(book, worst, why, reason, anchored)

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
                    transitions.still_open(book)
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
            self._anchor.write(
                state_of(book), list(enumerate(book.hashes[self._anchored_at :], start=self._anchored_at + 1))
            )
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

        The anchor is read before the rows: it never runs ahead of the store, and a record added meanwhile cannot look
        missing.
        """
        self._anchored_at = 0 if anchored is None else anchored.count
        # a fold that fails half way is thrown away
        book = self._held
        self._held = None
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
