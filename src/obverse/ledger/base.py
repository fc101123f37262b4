"""ChainLedger: every act of a ledger, over two things that a store must bring: an atomic append and stored answers."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TypedDict, Unpack

from obverse.catalog.model import Budget
from obverse.core.accounts import Account
from obverse.core.errors import LedgerError, Refused, invariant
from obverse.core.ledger import Cap, Caps, Entry, Fingerprint, Former, Head, Partitions, Receipt, Scope, Spent, Stored, Terms
from obverse.core.loss import Loss
from obverse.ledger import accounts, acts
from obverse.ledger.book import Book, Debit
from obverse.ledger.chain import Draft, damaged
from obverse.ledger.rights import Act, Rights, drafts

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
    return Refused("published_meanwhile", "somebody else published data or acted on rights meanwhile.", fix="Try again.")


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
        request = acts.Request(scope, loss, plan, key, caps, question, note, about or {}, partitions, former)
        entry, earlier = self._append("reserve", lambda book: acts.reserve(book, request))
        if earlier is not None:
            return self._stored(earlier)
        if entry is None:
            raise LedgerError("ledger_unwritable", "the debit was not written, so nothing is answered")
        return Receipt(entry.fields["id"], entry.number, entry.hash)

    def settle(self, receipt: Receipt, answer: bytes) -> None:
        try:
            self._append("settle", lambda book: acts.settle(book, receipt, answer))
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
        """The loss about somebody who is in every partition that was asked of; for units that are one's own part of one."""
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
        """What would count as spent on each later partition, were those up to that one retired; Refused where they cannot."""
        acts.retire(self._seen(), through, "", gone=gone)
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
        self._append("grant", lambda book: acts.grant(book, epsilon, delta, reason, key))

    def lower(self, budget: Budget, reason: str) -> None:
        """Lower the cap; binding for every debit after it, in whichever process."""
        self._append("lower", lambda book: acts.lower(book, budget, reason))

    def record_catalog(self, fingerprint: str) -> None:
        """Note the declared facts that answers now depend on, where they changed."""
        if self._book().catalog == fingerprint:
            return
        self._append(
            "catalog", lambda book: None if book.catalog == fingerprint else Draft("catalog", {"fingerprint": fingerprint})
        )

    def record_version(
        self,
        version: str,
        through: int | None = None,
        rights: Sequence[Act] = (),
        **more: Unpack[Recorded],
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
            return (*drafts(book, rights), *retired, acts.version(book, version, through, lifts_wait=waits))

        self._append("version", decide)

    def record_custody(self, table: str, columns: Sequence[str], what: str, reason: str) -> None:
        """Note, durably, that the curator is about to read rows themselves."""
        self._append("custody", lambda book: acts.custody(table, columns, what, reason))

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
