"""The place outside every project where datasets are registered and ledgers are anchored: one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from obverse.core.database import BUSY_S, Database, Shape
from obverse.core.errors import LedgerError
from obverse.ledger.anchor import Anchored
from obverse.ledger.fingerprints import Seal, seal_in, unknown_secret
from obverse.ledger.registry import Registry
from obverse.ledger.sources import Identified, Source, Stamp, digest_file, identify

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
            "CREATE TABLE digest (path TEXT NOT NULL, seal TEXT NOT NULL, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL,"
            " inode TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (path, seal)) WITHOUT ROWID",
        ),
        (
            "CREATE TABLE rights (dataset TEXT NOT NULL REFERENCES dataset (id), id TEXT NOT NULL, content TEXT NOT NULL,"
            " PRIMARY KEY (dataset, id)) WITHOUT ROWID",
        ),
        ("CREATE TABLE partitions (dataset TEXT PRIMARY KEY REFERENCES dataset (id), content TEXT NOT NULL) WITHOUT ROWID",),
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
