"""The place outside every project where datasets are registered and ledgers are anchored: one SQLite file.

The registry of one machine: its datasets, how far each ledger had come, and what it remembers of files.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from obverse.core.database import BUSY_S, Database, Shape
from obverse.core.errors import LedgerError
from obverse.core.ledger import Accounting, Budget, Spent
from obverse.ledger.anchor import Anchored
from obverse.ledger.chain import fraction_of, fraction_text
from obverse.ledger.datasets import Dataset, Datasets
from obverse.ledger.sources import Identified, Seal, Source, Stamp, digest_file, identify, seal_in, unknown_secret


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
            self._connection.execute(
                "DELETE FROM identity WHERE kind = 'inode' AND (path = ? OR value = ?)", (path, inode)
            )
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


SHAPE = Shape(
    application_id=0x4F425648,  # "OBVH"
    base=(
        "CREATE TABLE ledger (id TEXT PRIMARY KEY, path TEXT NOT NULL, count INTEGER NOT NULL, head TEXT NOT NULL,"
        " amount TEXT NOT NULL, delta TEXT NOT NULL, cap_epsilon TEXT NOT NULL, cap_delta TEXT NOT NULL,"
        " closed INTEGER NOT NULL)",
        "CREATE TABLE dataset (id TEXT PRIMARY KEY, ledger TEXT NOT NULL REFERENCES ledger (id), version TEXT NOT NULL,"
        " accounting TEXT NOT NULL, neighbours TEXT NOT NULL, unit TEXT NOT NULL)",
        "CREATE TABLE head (ledger TEXT NOT NULL, count INTEGER NOT NULL, hash TEXT NOT NULL,"
        " PRIMARY KEY (ledger, count)) WITHOUT ROWID",
        "CREATE TABLE identity (kind TEXT NOT NULL, value TEXT NOT NULL, path TEXT NOT NULL, dataset TEXT NOT NULL"
        " REFERENCES dataset (id), PRIMARY KEY (kind, value)) WITHOUT ROWID",
        "CREATE TABLE published (dataset TEXT NOT NULL REFERENCES dataset (id), place TEXT NOT NULL,"
        " digest TEXT NOT NULL, PRIMARY KEY (dataset, place)) WITHOUT ROWID",
        "CREATE TABLE digest (path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL,"
        " inode TEXT NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID",
    ),
    migrations=(
        (
            "CREATE TABLE checked (source TEXT PRIMARY KEY) WITHOUT ROWID",
            "CREATE TABLE synthetic (digest TEXT PRIMARY KEY) WITHOUT ROWID",
            "CREATE TABLE unit_path (place TEXT PRIMARY KEY, path TEXT NOT NULL) WITHOUT ROWID",
        ),
        (  # plain hashes become fingerprints under this home's secret
            "CREATE TABLE seal (name TEXT NOT NULL)",
            "INSERT INTO seal SELECT sealed('seal', '')",
            "UPDATE identity SET value = sealed('file', value) WHERE kind = 'content'",
            "UPDATE published SET digest = sealed('file', digest) WHERE digest <> ''",
            "DELETE FROM checked",
            "UPDATE synthetic SET digest = sealed('file', digest)",
            "DROP TABLE digest",
            "CREATE TABLE digest (path TEXT NOT NULL, seal TEXT NOT NULL, mtime_ns INTEGER NOT NULL, size INTEGER NOT "
            "NULL,"
            " inode TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (path, seal)) WITHOUT ROWID",
        ),
        (
            "CREATE TABLE rights (dataset TEXT NOT NULL REFERENCES dataset (id), id TEXT NOT NULL, content TEXT NOT "
            "NULL,"
            " PRIMARY KEY (dataset, id)) WITHOUT ROWID",
        ),
        (
            "CREATE TABLE partitions (dataset TEXT PRIMARY KEY REFERENCES dataset (id), content TEXT NOT NULL) WITHOUT "
            "ROWID",
        ),
    ),
    code_missing="no_home",
    code_unwritable="no_home",
    code_damaged="home_damaged",
)


class Home:
    """Obverse's own folder on this machine. Without a place that can be written to, nothing starts."""

    def __init__(self, folder: Path, *, busy_s: float = BUSY_S) -> None:
        self.folder = folder
        self.seal = seal_in(folder)
        self._database = Database(folder / "registry.db", SHAPE, busy_s=busy_s, functions={"sealed": self.seal.of})
        self._database.create()
        self._read: dict[Stamp, str] = {}  # plain hashes, of files read by this process; kept nowhere else
        with self.exclusive():
            pass

    @contextmanager
    def exclusive(self) -> Iterator[Registry]:
        """The registry, to be read and changed by one process at a time."""
        with self._database.transaction() as connection:
            yield self._registry(connection)

    @contextmanager
    def shared(self) -> Iterator[Registry]:
        """The registry, to be read."""
        with self._database.reading() as connection:
            yield self._registry(connection)

    def anchor(self, ledger_id: str) -> HomeAnchor:
        return HomeAnchor(self, ledger_id)

    def identified(self, sources: Sequence[Source], seal: Seal | None = None) -> tuple[Identified, ...]:
        """The sources with what they are known by, here or under another place's seal.

        A file is read only when it changed since it was last read.
        """
        under = self.seal if seal is None else seal
        return tuple(identify(source, under, lambda stamp: self._digest(stamp, under)) for source in sources)

    def once_checked(self, source: str, check: Callable[[], bool]) -> bool:
        """Whether a source passes a check that reads it whole; what has passed once is not read again."""
        with self.shared() as registry:
            if registry.checked(source):
                return True
        if not check():
            return False
        with self.exclusive() as registry:
            registry.note_checked(source)
        return True

    def close(self) -> None:
        self._database.close()

    def _registry(self, connection: sqlite3.Connection) -> Registry:
        registry = Registry(connection)
        if registry.sealed_by() != self.seal.name:
            raise unknown_secret(str(self.folder / "secret"))
        return registry

    def _digest(self, stamp: Stamp, seal: Seal) -> str:
        with self.shared() as registry:
            known = registry.cached_digest(stamp, seal)
        if known is not None:
            return known
        if stamp not in self._read:
            self._read[stamp] = digest_file(stamp)
        digest = seal.of("file", self._read[stamp])
        with self.exclusive() as registry:
            registry.cache_digest(stamp, seal, digest)
        return digest


class HomeAnchor:
    """One ledger's anchor, kept in the home."""

    def __init__(self, home: Home, ledger_id: str) -> None:
        self._home = home
        self._ledger_id = ledger_id

    def read(self) -> Anchored:
        with self._home.shared() as registry:
            anchored = registry.anchored(self._ledger_id)
        if anchored is None:
            raise unknown_ledger("", "the registry that this process started with was exchanged")
        return anchored

    def write(self, state: Anchored, heads: Sequence[tuple[int, str]]) -> None:
        with self._home.exclusive() as registry:
            registry.add_heads(state.ledger_id, heads)
            registry.advance(state)


def default_home(environment: Mapping[str, str] | None = None) -> Path:
    """`$OBVERSE_HOME`, else the user's own folder for application data."""
    variables = os.environ if environment is None else environment
    if variables.get("OBVERSE_HOME"):
        return Path(variables["OBVERSE_HOME"]).expanduser()
    if sys.platform == "win32" and variables.get("LOCALAPPDATA"):
        return Path(variables["LOCALAPPDATA"]) / "Obverse"
    user = _user_folder()
    if sys.platform == "darwin":
        return user / "Library" / "Application Support" / "Obverse"
    return Path(variables.get("XDG_DATA_HOME") or user / ".local" / "share") / "obverse"


def unknown_ledger(place: str, why: str) -> LedgerError:
    return LedgerError(
        "ledger_unknown",
        "this ledger was never seen on this machine, so what it has forgotten cannot be told; nothing is answered",
        place=place,
        why=why,
        fix="Bring it with `obverse ledger move`; or acknowledge, which charges all that is left of the budget.",
    )


def _user_folder() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise LedgerError(
            "no_home",
            "Obverse has no place of its own to remember datasets in, so nothing is answered",
            why="this user has no home folder",
            fix="Set OBVERSE_HOME to a folder that can be written to, outside the project.",
        ) from None
