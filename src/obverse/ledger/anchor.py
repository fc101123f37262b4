"""Anchors: how far a ledger had come, remembered outside its own folder, so that an older file is noticed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from obverse.core.errors import LedgerError
from obverse.core.ledger import Budget, Spent
from obverse.ledger.state import Book


@dataclass(frozen=True, slots=True)
class Anchored:
    """The state of a ledger when it was last seen. A count of zero: registered, and not yet made."""

    ledger_id: str
    count: int
    head: str
    spent: Spent
    budget: Budget
    closed: bool


class Anchor(Protocol):
    def read(self) -> Anchored | None:
        """What is remembered; None when this anchor remembers nothing at all."""
        ...

    def write(self, state: Anchored, heads: Sequence[tuple[int, str]]) -> None:
        """Remember a state, unless a later one is remembered already, and all heads that were seen on the way to it."""
        ...


class NoAnchor:
    """Remembers nothing: for files that are looked at before anybody vouches for them."""

    def read(self) -> None:
        return None

    def write(self, state: Anchored, heads: Sequence[tuple[int, str]]) -> None:
        pass


def state_of(book: Book) -> Anchored:
    return Anchored(book.ledger_id, book.count, book.head.hex(), book.spent(), book.budget, book.closed)


def newest(book: Book, anchored: Anchored) -> None:
    """Refuse a Book that does not hold all that was seen here of its ledger."""
    if anchored.count == 0 and book.count == 0:
        return
    if anchored.ledger_id != book.ledger_id:
        raise rolled_back(book.place, "it is another ledger than the one last seen here")
    if anchored.count > book.count or (anchored.count and book.hashes[anchored.count - 1] != anchored.head):
        raise rolled_back(book.place, f"record {anchored.count} was seen here, and is missing or another one")


def rolled_back(place: str, why: str) -> LedgerError:
    return LedgerError(
        "ledger_rolled_back",
        "the ledger is older than, or other than, the one last seen here, so nothing is answered",
        place=place,
        why=why,
        fix="Bring back the newest file; or acknowledge, which charges the worst that this one may have forgotten.",
    )
