"""Checking a ledger whole: the chain, the totals, every stored answer and note, and the store's own structure."""

from __future__ import annotations

import hashlib

from obverse.ledger.book import Book
from obverse.ledger.chain import START, damaged, opened
from obverse.ledger.codec import decode
from obverse.ledger.rows import Rows


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
