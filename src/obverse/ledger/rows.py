"""Rows: what a ledger's store must be able to do within one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from obverse.ledger.chain import Draft, Record


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
