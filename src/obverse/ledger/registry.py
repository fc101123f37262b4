"""The registry of one machine: its datasets, how far each ledger had come, and what it remembers of files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from obverse.catalog.model import Budget
from obverse.core.ledger import Accounting, Spent
from obverse.ledger.anchor import Anchored
from obverse.ledger.codec import fraction_of, fraction_text
from obverse.ledger.datasets import Dataset, Datasets
from obverse.ledger.fingerprints import Seal
from obverse.ledger.sources import Identified, Stamp


class Registry(Datasets):
    """Rows of the home's file, within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._connection = connection

    def sealed_by(self) -> str:
        """The name of the seal that all fingerprints in here were made with."""
        row = self._connection.execute("SELECT name FROM seal").fetchone()
        return "" if row is None else str(row[0])

    def ledger_known(self, ledger_id: str, path: Path) -> bool:
        """Whether a ledger with this id, or one at this path, serves some dataset here."""
        row = self._connection.execute("SELECT 1 FROM ledger WHERE id = ? OR path = ?", (ledger_id, str(path)))
        return row.fetchone() is not None

    def enrol(self, dataset: Dataset, state: Anchored, identified: Sequence[Identified]) -> None:
        """Register a dataset that was not known before, with the ledger that serves it."""
        self.put_ledger(dataset.ledger, state)
        self.add(dataset, identified)

    def anchored(self, ledger_id: str) -> Anchored | None:
        row = self._connection.execute(
            "SELECT l.count, l.head, l.amount, l.delta, l.cap_epsilon, l.cap_delta, l.closed, d.accounting"
            " FROM ledger l JOIN dataset d ON d.ledger = l.id WHERE l.id = ?",
            (ledger_id,),
        ).fetchone()
        if row is None:
            return None
        spent = Spent(cast(Accounting, row[7]), fraction_of(row[2]), fraction_of(row[3]))
        budget = Budget(fraction_of(row[4]), fraction_of(row[5]))
        return Anchored(ledger_id, int(row[0]), row[1], spent, budget, bool(row[6]))

    def advance(self, state: Anchored) -> None:
        """Move a ledger's anchor forward; never back."""
        self._connection.execute(
            "UPDATE ledger SET count = ?, head = ?, amount = ?, delta = ?, cap_epsilon = ?, cap_delta = ?, closed = ?"
            " WHERE id = ? AND count < ?",
            (*_columns(state), state.ledger_id, state.count),
        )

    def put_ledger(self, path: Path, state: Anchored) -> None:
        """Set a ledger's path and anchor outright: when it is new here, or on the curator's word."""
        self._connection.execute(
            "INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (state.ledger_id, str(path), *_columns(state)),
        )

    def set_path(self, ledger_id: str, path: Path) -> None:
        self._connection.execute("UPDATE ledger SET path = ? WHERE id = ?", (str(path), ledger_id))

    def serve(self, dataset_id: str, ledger_id: str) -> None:
        """From now on this ledger serves the dataset."""
        self._connection.execute("UPDATE dataset SET ledger = ? WHERE id = ?", (ledger_id, dataset_id))

    def vacate(self, places: Sequence[tuple[str, str]], ledger: Path) -> None:
        """Forget which sample lay at these (path, inode) places and which ledger at its path; contents stay known.

        Only places that never held anything but samples are forgotten.
        """
        for path, inode in places:
            if not self._only_synthetic(path):
                continue
            self._connection.execute("DELETE FROM identity WHERE kind = 'path' AND value = ?", (path,))
            self._connection.execute("DELETE FROM identity WHERE kind = 'inode' AND (path = ? OR value = ?)", (path, inode))
        served = "SELECT ledger FROM dataset WHERE id IN (SELECT dataset FROM identity WHERE kind IN ('path', 'inode'))"
        self._connection.execute(
            f"UPDATE ledger SET path = path || ' (deleted)' WHERE path = ? AND id NOT IN ({served})", (str(ledger),)
        )

    def _only_synthetic(self, path: str) -> bool:
        """Whether all that the dataset at this path ever held was made by our own generators."""
        row = self._connection.execute(
            "SELECT 1 FROM identity here JOIN identity known ON known.dataset = here.dataset"
            " WHERE here.kind = 'path' AND here.value = ? AND known.kind = 'content'"
            " AND known.value NOT IN (SELECT digest FROM synthetic)",
            (path,),
        )
        return row.fetchone() is None

    def note_synthetic(self, digests: Iterable[str]) -> None:
        """These contents are sample data; nobody in them exists."""
        self._connection.executemany("INSERT OR IGNORE INTO synthetic VALUES (?)", [(digest,) for digest in digests])

    def checked(self, source: str) -> bool:
        return self._connection.execute("SELECT 1 FROM checked WHERE source = ?", (source,)).fetchone() is not None

    def note_checked(self, source: str) -> None:
        self._connection.execute("INSERT OR IGNORE INTO checked VALUES (?)", (source,))

    def heads(self, ledger_id: str) -> dict[int, str]:
        """Every head that was ever anchored, by its record's number."""
        rows = self._connection.execute("SELECT count, hash FROM head WHERE ledger = ?", (ledger_id,))
        return dict(rows.fetchall())

    def add_heads(self, ledger_id: str, heads: Iterable[tuple[int, str]]) -> None:
        rows = [(ledger_id, count, head) for count, head in heads]
        self._connection.executemany("INSERT OR IGNORE INTO head VALUES (?, ?, ?)", rows)

    def forget_heads(self, ledger_id: str) -> None:
        self._connection.execute("DELETE FROM head WHERE ledger = ?", (ledger_id,))

    def cached_digest(self, stamp: Stamp, seal: Seal) -> str | None:
        row = self._connection.execute(
            "SELECT digest FROM digest WHERE path = ? AND seal = ? AND mtime_ns = ? AND size = ? AND inode = ?",
            (stamp.path, seal.name, stamp.mtime_ns, stamp.size, stamp.inode),
        ).fetchone()
        return None if row is None else str(row[0])

    def cache_digest(self, stamp: Stamp, seal: Seal, digest: str) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO digest VALUES (?, ?, ?, ?, ?, ?)",
            (stamp.path, seal.name, stamp.mtime_ns, stamp.size, stamp.inode, digest),
        )


def _columns(state: Anchored) -> tuple[int, str, str, str, str, str, int]:
    return (
        state.count,
        state.head,
        fraction_text(state.spent.amount),
        fraction_text(state.spent.delta),
        fraction_text(state.budget.epsilon),
        fraction_text(state.budget.delta),
        int(state.closed),
    )
