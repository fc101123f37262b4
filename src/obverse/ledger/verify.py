"""Checking a ledger's file whole: the chain, the totals, every stored answer and note, and SQLite's own structure."""

from __future__ import annotations

import hashlib
import sqlite3

from obverse.ledger.book import Book
from obverse.ledger.chain import START, damaged, opened
from obverse.ledger.codec import decode


def verify_store(connection: sqlite3.Connection, place: str) -> Book:
    """The Book of a file in which everything agrees with everything; else LedgerError `ledger_damaged`."""
    found = connection.execute("PRAGMA integrity_check").fetchall()
    if found != [("ok",)]:
        raise damaged(place, "SQLite's own check of the file fails")
    book = Book(place)
    notes: dict[int, str] = {}
    rows = connection.execute("SELECT number, body, hash FROM entry ORDER BY number")
    for entry in opened(rows, 0, START, place):
        book.apply(entry)
        if entry.kind == "charge":
            decode(entry.fields["loss"].encode())
            if entry.fields["note"]:
                notes[entry.number] = entry.fields["note"]
    if book.count == 0:
        raise damaged(place, "it has no opening record")
    answers = {debit.number: debit.answer for debit in book.debits.values() if debit.answer is not None}
    _match(connection, "answer", answers, place)
    _match(connection, "note", notes, place)
    return book


def _match(connection: sqlite3.Connection, table: str, sealed: dict[int, str], place: str) -> None:
    """Every content that a record was sealed with is there, unchanged, and nothing else is."""
    left = dict(sealed)
    for number, content in connection.execute(f"SELECT number, content FROM {table}"):
        if not isinstance(content, bytes) or left.pop(number, "") != hashlib.sha256(content).hexdigest():
            raise damaged(place, f"the stored {table} of record {number} is not the one that was sealed")
    if left:
        raise damaged(place, f"the stored {table} of record {min(left)} is missing")
