"""From a file to the server: a ledger that was properly moved goes on in PostgreSQL, record for record."""

from __future__ import annotations

import secrets
from pathlib import Path

from obverse.catalog.model import Server
from obverse.core.errors import Refused
from obverse.core.ledger import Head
from obverse.ledger.anchor import NoAnchor, newest, state_of
from obverse.ledger.book import Book
from obverse.ledger.datasets import IN_POSTGRES, Dataset, Datasets
from obverse.ledger.home import Home
from obverse.ledger.opened import Claimed, conflict, same_terms
from obverse.ledger.postgres.postgres_server import server_of
from obverse.ledger.sources import Identified
from obverse.ledger.sqlite import SqliteLedger
from obverse.ledger.stored import StoredLedger


def take_in(home: Home, claimed: Claimed, server: Server, file: Path) -> Head:
    """Put the records of a moved ledger into the database, and its dataset; cut short, it can be done again."""
    source = SqliteLedger(file, NoAnchor())
    try:
        head, book = source.verify(), source.book()
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


def _put(datasets: Datasets, dataset: Dataset, source: StoredLedger, book: Book, identified: tuple[Identified, ...]) -> None:
    known = datasets.dataset_of(identified)
    if known is not None and known.id != dataset.id:
        raise conflict(source.place, "the database knows this project's sources as another dataset")
    known = datasets.dataset(dataset.id)
    if known is not None:
        if known.ledger_id != dataset.ledger_id:
            raise conflict(source.place, "the database counts the losses of this data in another ledger")
        return
    own = dataset.ledger_id
    datasets.statements.execute("INSERT INTO ledger VALUES (?, ?, ?, ?)", (own, str(IN_POSTGRES), book.count, book.head.hex()))
    for table, rows in source.rows().items():
        marks = "?, ?, ?, ?" if table == "entry" else "?, ?, ?"
        datasets.statements.executemany(f"INSERT INTO {table} VALUES ({marks})", ((own, *row) for row in rows))
    datasets.add(dataset, identified)
