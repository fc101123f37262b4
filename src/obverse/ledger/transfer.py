"""Ledgers as files: backup, restore, export for anybody to check, and the move to another machine.

From a file to the server: a ledger that was properly moved goes on in PostgreSQL, record for record.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from obverse.catalog.model import Server
from obverse.core.canonical import canonical
from obverse.core.database import BUSY_S, Database, translated, upgrade
from obverse.core.errors import LedgerError, Refused
from obverse.core.ledger import Entry, Head
from obverse.ledger.anchor import NoAnchor, newest, state_of
from obverse.ledger.chain import START, damaged
from obverse.ledger.datasets import IN_POSTGRES, Dataset, Datasets
from obverse.ledger.home import Home
from obverse.ledger.ledger import ChainLedger, StoredLedger, verify_store
from obverse.ledger.opened import Claimed, conflict, same_terms
from obverse.ledger.postgres.server import server_of
from obverse.ledger.sources import Identified
from obverse.ledger.sqlite import SHAPE, SqliteLedger, SqliteRows
from obverse.ledger.state import Book


def take_in(home: Home, claimed: Claimed, server: Server, file: Path) -> Head:
    """Put the records of a moved ledger into the database, and its dataset; cut short, it can be done again."""
    source = SqliteLedger(file, NoAnchor())
    try:
        head = source.verify()
        book = source.book()
        if book.last != "moved":
            raise Refused(
                "not_moved",
                "only a ledger that was closed and moved is taken into PostgreSQL.",
                place=str(file),
                why="a copy of one that goes on elsewhere would be a second budget for the same people.",
                fix="Run `obverse ledger move FILE` where the ledger lies, and take in that file.",
            )
        with home.shared() as registry:
            here = registry.dataset(book.dataset)
            anchored = None if here is None or here.ledger == IN_POSTGRES else registry.anchored(here.ledger_id)
        if anchored is not None:
            newest(book, anchored)
        version = here.version if here is not None else book.version or secrets.token_hex(16)
        dataset = Dataset(book.dataset, version, book.terms, book.ledger_id, IN_POSTGRES)
        same_terms(dataset, claimed.terms)
        shared = server_of(server)
        try:
            identified = home.identified(claimed.sources, shared.seal)
            with shared.exclusive() as datasets:
                _put(datasets, dataset, source, book, identified)
        finally:
            shared.close()
        with home.exclusive() as registry:
            here = registry.dataset(dataset.id)
            if here is not None and here.ledger != IN_POSTGRES:  # once there, its anchor only ever goes forward
                registry.put_ledger(IN_POSTGRES, state_of(book))
                registry.add_heads(book.ledger_id, enumerate(book.hashes, start=1))
        return head
    finally:
        source.close()


def _put(
    datasets: Datasets, dataset: Dataset, source: StoredLedger, book: Book, identified: tuple[Identified, ...]
) -> None:
    known = datasets.dataset_of(identified)
    if known is not None and known.id != dataset.id:
        raise conflict(source.place, "the database knows this project's sources as another dataset")
    known = datasets.dataset(dataset.id)
    if known is not None:
        if known.ledger_id != dataset.ledger_id:
            raise conflict(source.place, "the database counts the losses of this data in another ledger")
        return
    own = dataset.ledger_id
    datasets.statements.execute(
        "INSERT INTO ledger VALUES (?, ?, ?, ?)", (own, str(IN_POSTGRES), book.count, book.head.hex())
    )
    for table, rows in source.rows().items():
        marks = "?, ?, ?, ?" if table == "entry" else "?, ?, ?"
        datasets.statements.executemany(f"INSERT INTO {table} VALUES ({marks})", ((own, *row) for row in rows))
    datasets.add(dataset, identified)


EXPORT_VERSION = 1
_FILES = ("", "-wal", "-shm")  # of one database, by how their names end
TABLES = {"entry": 3, "answer": 2, "note": 2}  # with the number of their columns


def backup(ledger: StoredLedger, target: Path) -> Head:
    """A copy in one file, taken while others may write, and verified."""
    _absent(target)
    if isinstance(ledger, SqliteLedger):
        with ledger.database.connection() as source:
            _copy(source, target)
    else:
        _write_rows(ledger, target)
    return verify_file(target)


def _write_rows(ledger: StoredLedger, target: Path) -> None:
    """The rows of a ledger that lies in no file, as the file of one that does."""
    tables = ledger.rows()
    database = Database(target, SHAPE)
    database.create()
    try:
        with database.transaction() as connection:
            for table, rows in tables.items():
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * TABLES[table])})", rows)
        with database.connection() as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    finally:
        database.close()


def restore(copy: Path, ledger_path: Path) -> Head:
    """Put a verified copy in a ledger's place; what lay there is set aside.

    An older copy opens only by acknowledging.
    """
    head = verify_file(copy)
    fresh = ledger_path.with_name(ledger_path.name + ".restoring")
    fresh.unlink(missing_ok=True)
    with translated(SHAPE, copy), closing(_read_only(copy)) as source:
        _copy(source, fresh)
    aside = _free(ledger_path)
    for suffix in _FILES:
        old = ledger_path.with_name(ledger_path.name + suffix)
        if old.exists():
            os.replace(old, ledger_path.with_name(aside + suffix))
    os.replace(fresh, ledger_path)
    return head


def _free(ledger_path: Path) -> str:
    """A name beside the ledger that nothing has: what an earlier restore set aside may be the newest ledger there
    is.
    """
    names = (f"{ledger_path.name}.set-aside{f'-{number}' if number else ''}" for number in itertools.count())
    return next(name for name in names if not any(ledger_path.with_name(name + suffix).exists() for suffix in _FILES))


def move(ledger: SqliteLedger, target: Path) -> Head:
    """Close this ledger for good, and write a copy that goes on elsewhere with exactly these totals."""
    _absent(target)
    try:
        backup(ledger, target)  # it can be written there: only then is this one closed
        ledger.close_for_move()
    except BaseException:
        with suppress(OSError):
            target.unlink()
        raise
    with ledger.database.connection() as source:
        _copy(source, target)
    onward = SqliteLedger(target, NoAnchor())
    try:
        onward.reopen_moved()
        head = onward.verify()
        with onward.database.connection() as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    finally:
        onward.close()
    return head


def verify_file(path: Path) -> Head:
    """Check a ledger's file whole, in a copy in memory, with nobody vouching for its age; the file is not touched."""
    with translated(SHAPE, path), closing(sqlite3.connect(":memory:")) as copy:
        with closing(_read_only(path)) as source:
            source.backup(copy)
        upgrade(copy, SHAPE, path)
        return verify_store(SqliteRows(copy), str(path)).chain_head()


def export(ledger: StoredLedger, target: Path) -> Head:
    """Every record as one line of JSON, for the owner: notes (the questions' text) are beside the records."""
    _absent(target)
    with open(target, "x", encoding="ascii") as file:
        head = Head(0, START.hex())
        for entry, line in exported(ledger, ledger.note):
            file.write(line)
            head = head if entry is None else Head(entry.number, entry.hash)
        file.flush()
        os.fsync(file.fileno())
    return head


def exported(ledger: ChainLedger, note: Callable[[int], str]) -> Iterator[tuple[Entry | None, str]]:
    """The lines of an export. Notes on accounts, which hold hashes of passwords and keys of the wire, are never in
    it.
    """
    yield None, _line({"obverse_ledger": EXPORT_VERSION})
    count = 0
    head = START.hex()
    for entry in ledger.entries():
        beside = "" if entry.kind == "account" else note(entry.number)
        yield entry, _line({"record": _record(entry), "hash": entry.hash, "note": beside})
        count = entry.number
        head = entry.hash
    yield None, _line({"count": count, "head": head})


def verify_export(lines: Iterable[str]) -> Head:
    """Check an export with nothing but JSON and SHA-256: hash = sha256(hash before + canonical JSON of the record)."""
    head = START
    count = 0
    closing_line = None
    for number, line in enumerate(lines):
        held = json.loads(line)
        if number == 0 or "record" not in held:
            closing_line = held
            continue
        count += 1
        head = hashlib.sha256(head + canonical(held["record"])).digest()
        if held["record"].get("number") != count or held["hash"] != head.hex():
            raise damaged(f"line {number + 1}", f"record {count} does not match its seal")
    if closing_line is None or (closing_line.get("count"), closing_line.get("head")) != (count, head.hex()):
        raise damaged("last line", "the export is cut short")
    return Head(count, head.hex())


def _record(entry: Entry) -> dict[str, Any]:
    return {**entry.fields, "kind": entry.kind, "number": entry.number}


def _line(held: dict[str, Any]) -> str:
    return canonical(held).decode() + "\n"


def _read_only(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise Refused("no_such_file", "there is no such file", place=str(path), fix="Check the name.")
    alone = not path.with_name(path.name + "-wal").exists()  # then SQLite need not make a log beside it
    options = "mode=ro&immutable=1" if alone else "mode=ro"
    return sqlite3.connect(f"{path.resolve().as_uri()}?{options}", uri=True, timeout=BUSY_S)


def _absent(target: Path) -> None:
    if target.exists():
        raise Refused(
            "file_exists", "there is a file at the target already", place=str(target), fix="Name another file."
        )


def _copy(source: sqlite3.Connection, target: Path) -> None:
    """SQLite's own online copy, left as one file without a log beside it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch(mode=0o600)
        with closing(sqlite3.connect(target, timeout=BUSY_S)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
    except OSError as error:
        raise LedgerError(
            "ledger_unwritable", "the copy cannot be written", place=str(target), why=str(error)
        ) from None
