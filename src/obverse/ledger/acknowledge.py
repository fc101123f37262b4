"""The curator's word on a ledger that is in doubt: it goes on, and the worst it may have forgotten is charged."""

from __future__ import annotations

import secrets
from fractions import Fraction

from obverse.accounting.budget import remaining
from obverse.catalog.model import Budget
from obverse.core.errors import LedgerError, Refused
from obverse.core.ledger import Spent
from obverse.ledger.anchor import Anchored, NoAnchor, rolled_back, state_of
from obverse.ledger.book import Book, counted, partitions_of
from obverse.ledger.datasets import Dataset
from obverse.ledger.home import Home
from obverse.ledger.opened import Claimed, Opened, conflict
from obverse.ledger.postgres.shared import found_or_made
from obverse.ledger.register import enrol_book, open_dataset
from obverse.ledger.sqlite import SqliteLedger
from obverse.ledger.stored import StoredLedger


def acknowledge(home: Home, claimed: Claimed, reason: str) -> Opened:
    """Go on with a ledger that `open_dataset` refuses; doing it twice, or half way, charges nothing twice."""
    try:
        opened = open_dataset(home, claimed)
    except LedgerError as error:
        match error.code:
            case "ledger_unknown":
                _take_unknown(home, claimed, reason)
            case "ledger_missing" | "ledger_rolled_back":
                _take_rolled_back(home, claimed, reason, error.code)
            case _:
                raise
        return open_dataset(home, claimed)
    book = opened.ledger.book()
    if not book.closed:
        raise Refused("nothing_to_acknowledge", "this ledger is the one last seen here; nothing is in doubt")
    opened.ledger.acknowledge(remaining(book.cap, book.spent()), "ledger_closed", reason, "")
    return opened


def _take_unknown(home: Home, claimed: Claimed, reason: str) -> None:
    """A ledger from elsewhere: it may be of any age, so all that is left of its budget is charged."""
    ledger = SqliteLedger(claimed.path, NoAnchor())
    try:
        book = ledger.book()
        ledger.acknowledge(remaining(book.cap, book.spent()), "ledger_unknown", reason, "")
        identified = home.identified(claimed.sources)
        with home.exclusive() as registry:
            enrol_book(registry, ledger.book(), claimed, identified)
    finally:
        ledger.close()


def _take_rolled_back(home: Home, claimed: Claimed, reason: str, why: str) -> None:
    """An older, diverging or missing ledger: what was anchored beyond their common past is charged."""
    dataset, anchored, heads = _remembered(home, claimed)
    ledger = _unanchored(home, claimed, dataset, anchored)
    try:
        book = ledger.book()
        if (book.dataset, book.terms) != (dataset.id, dataset.terms):
            raise conflict(dataset.ledger, "the ledger found is that of another dataset")
        ledger.acknowledge(_forgotten(ledger, book, anchored, heads), why, reason, anchored.head)
        lowest = Budget(min(book.budget.epsilon, anchored.budget.epsilon), min(book.budget.delta, anchored.budget.delta))
        if lowest != book.budget:
            ledger.lower(lowest, "the cap that was last seen")
        book = ledger.book()
        with home.exclusive() as registry:
            registry.forget_heads(dataset.ledger_id)
            registry.put_ledger(dataset.ledger, state_of(book))
            registry.serve(dataset.id, book.ledger_id)
            registry.add_heads(book.ledger_id, enumerate(book.hashes, start=1))
    finally:
        ledger.close()


def _unanchored(home: Home, claimed: Claimed, dataset: Dataset, anchored: Anchored) -> StoredLedger:
    """The ledger that is there, whatever it has forgotten; an empty one where there is none."""
    if claimed.server is not None:
        return found_or_made(home, claimed, claimed.server, dataset, anchored.budget)
    ledger = SqliteLedger(dataset.ledger, NoAnchor())
    try:
        if not dataset.ledger.exists() or ledger.book().count == 0:
            ledger.create(secrets.token_hex(16), dataset.id, dataset.terms, anchored.budget)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _remembered(home: Home, claimed: Claimed) -> tuple[Dataset, Anchored, dict[int, str]]:
    """What the home knows of the ledger. A missing one is made anew where the project wants it."""
    identified = home.identified(claimed.sources)
    with home.exclusive() as registry:
        dataset = registry.dataset_of(identified)
        anchored = None if dataset is None else registry.anchored(dataset.ledger_id)
        if dataset is None or anchored is None:
            raise rolled_back(str(claimed.path), "the registry changed meanwhile")
        if claimed.server is None and not dataset.ledger.exists() and dataset.ledger != claimed.path:
            registry.set_path(dataset.ledger_id, claimed.path)
            dataset = Dataset(dataset.id, dataset.version, dataset.terms, dataset.ledger_id, claimed.path)
        return dataset, anchored, registry.heads(dataset.ledger_id)


def _forgotten(ledger: StoredLedger, book: Book, anchored: Anchored, heads: dict[int, str]) -> Spent:
    """The anchored total less that of the common past; all that is left where a moved ledger may have gone on.

    The total is that of the partition with the largest, and what was lost may be about another one: of the common past only
    debits that every partition has are taken off.
    """
    zero = Fraction(0)
    shared = Spent(book.terms.accounting)
    past = shared
    for entry in ledger.entries():
        if entry.kind in ("charge", "acknowledge") and partitions_of(entry) is None:
            past = past.plus(counted(entry, book.terms))
        if book.ledger_id == anchored.ledger_id and heads.get(entry.number) == entry.hash:
            shared = past
    lost = Spent(
        book.terms.accounting,
        max(zero, anchored.spent.amount - shared.amount),
        max(zero, anchored.spent.delta - shared.delta),
    )
    if not (anchored.closed or book.closed):
        return lost
    left = remaining(book.cap, book.spent())
    return Spent(lost.accounting, max(lost.amount, left.amount), max(lost.delta, left.delta))
