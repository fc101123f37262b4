"""Host: one project that is served. Its rows are read in a cage; each thread has its own ledger and registry.

One person's rows, by a process of their own: the server cannot import the door that reads them, and never opens it.

Claim:   no route but the curator's export and acts on rights starts that process, and no module of the server can reach
         that door. After an act the process gives counts of the rows that the act is about, to the curator who did it.
Proof:   the first by this one caller, `routes/rights.py`, which admits the curator before; the second by the import
         contract.
Assumes: the server's user may read the project, as it must to serve it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from obverse.catalog.model import Catalog
from obverse.core.accounts import Account
from obverse.core.errors import CatalogError, LedgerError, Refused
from obverse.core.ledger import Budget, Terms
from obverse.core.units import Neighbours
from obverse.ledger import accounts as acts
from obverse.ledger.home import Home, default_home
from obverse.ledger.ledger import ChainLedger
from obverse.ledger.memory import MemoryLedger
from obverse.ledger.opened import Opened, version_now
from obverse.ledger.transfer import exported
from obverse.server.errors import LOG, Unavailable, only_for_the_operator
from obverse.server.sandbox.pool import Cage
from obverse.session.budget import no_private_table
from obverse.session.claims import OF_A_SERVICE
from obverse.session.execution import Release, ask
from obverse.session.overlay import overlay_now
from obverse.session.project import Project, check_public, grown_by, load_project, open_ledger
from obverse.session.session import Session

MODULE = "obverse.curator.rights.export"
LIMIT_S = 600.0


def fetched(project: Path, person: str | int, reason: str, by: str, form: str) -> bytes:
    """The rows, in the form asked for; or the refusal."""
    return _run({"project": str(project), "person": person, "reason": reason, "by": by, "format": form})


def matched(project: Path, right: str) -> dict[str, int] | None:
    """How many rows of each table an act is about now; None where nobody can look at the moment.

    The act is done either way.
    """
    try:
        found: dict[str, int] = json.loads(_run({"project": str(project), "right": right}))
        return found
    except (Refused, Unavailable, ValueError):
        return None


def _run(asked: Mapping[str, Any]) -> bytes:
    """What the process says to what it is asked."""
    wanted = json.dumps(asked)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", MODULE],
            input=wanted.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=LIMIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        LOG.error("an errand for a person's rows failed")
        raise Unavailable() from None
    said, _, packed = done.stdout.partition(b"\n")
    if said == b"ok":
        return packed
    told = json.loads(said)
    raise Refused(told["code"], told["message"], why=told["why"], fix=told["fix"])


T = TypeVar("T")
NO_TERMS = Terms("pure", Neighbours.ADD_REMOVE, "nobody")
AGAIN_S = 5.0  # after which what could not be opened is tried again though no file changed
BESIDE = 4  # threads for what does not wait for a cage
Stamp = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Clerk:
    """What one thread has: the project as it was loaded, and a ledger of its own."""

    project: Project
    home: Home
    opened: Opened | None  # None: nobody in the project is protected, and nobody can sign in
    nobody: ChainLedger = field(default_factory=lambda: MemoryLedger("none", NO_TERMS, Budget(Fraction(0))))

    @property
    def cage(self) -> Cage:
        """The one over this very project, whichever the host has by now."""
        engine = self.project.engine
        assert isinstance(engine, Cage)
        return engine

    @property
    def ledger(self) -> ChainLedger:
        return self.nobody if self.opened is None else self.opened.ledger

    def accounts(self) -> Mapping[str, Account]:
        """Who may come here: of analysts those whom it declares, for other projects over the same data have the same
        ledger.
        """
        declared = self.project.catalog.analysts
        known = self.ledger.accounts().items()
        return {name: account for name, account in known if account.role != "analyst" or name in declared}

    def session(
        self, analyst: str, purpose: str, release: Release, leaves: Callable[[], None] = lambda: None
    ) -> Session:
        opened = self.opened
        if opened is None:
            raise no_private_table()
        return Session(
            replace(self.project, catalog=grown_by(self.project.catalog, opened.ledger)),
            opened.ledger,
            analyst=analyst,
            purpose=purpose,
            version=lambda: version_now(opened),
            overlay=lambda: overlay_now(opened, self.project.catalog),
            dataset=opened.dataset.id,
            gateway=partial(ask, release=release, leaves=leaves),
            boundary=OF_A_SERVICE,
        )

    def note_killed(self, name: str) -> None:
        """Against whoever asked. A ledger that fails here changes nothing of what is told: the question was charged."""
        try:
            if name in self.ledger.accounts():
                self.ledger.change_account(lambda book: acts.stopped(book, name, book.count))
        except LedgerError as error:
            LOG.error("a killed question was not noted: %s %s", error.code, error.place)

    def exported(self) -> Iterator[str]:
        """The chain for anybody to check: records without the owner's notes."""
        return iter([line for _, line in exported(self.ledger, lambda number: "")])

    def close(self) -> None:
        if self.opened is not None:
            self.opened.ledger.close()
        self.home.close()


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the project could not be opened, and with which files; so that not every request tries in vain."""

    stamp: Stamp
    until: float
    error: CatalogError


class Host:
    """Loaded once, and again when a source's file is another one. Threads come and go; the ledger alone remembers."""

    def __init__(self, path: Path, name: str = "", home: Path | None = None, budget: Budget | None = None) -> None:
        self.path = path
        # others than the user's own and the declared: of data that is nobody's
        self._home = home
        self._budget = budget
        self._lock = threading.Lock()
        self._local = threading.local()
        self._clerks: list[Clerk] = []
        self._trouble: Trouble | None = None
        self._loaded, self._cage, self._stamp = self._load()
        self.name = name or self._loaded.catalog.name
        if self._loaded.catalog.unit is None and not self._loaded.catalog.surveys:
            self.close()
            raise Refused(
                "no_private_table", f"project {self.name} has no private table and no survey: nothing to serve."
            )
        self.at_once = self._loaded.catalog.serve.at_once or 2 * (os.cpu_count() or 1)
        self._threads = ThreadPoolExecutor(self.at_once + BESIDE, thread_name_prefix=f"clerk of {self.name}")

    @property
    def catalog(self) -> Catalog:
        return self._loaded.catalog

    @property
    def cage(self) -> Cage:
        return self._cage

    @property
    def threads(self) -> ThreadPoolExecutor:
        return self._threads

    def accounts(self) -> Mapping[str, Account]:
        return self.clerk().accounts()

    def clerk(self) -> Clerk:
        """This thread's own; made anew when the project was loaded again."""
        with only_for_the_operator():
            project = self._fresh()
            known: Clerk | None = getattr(self._local, "clerk", None)
            if known is not None and known.project is project:
                return known
            if known is not None:
                self._local.clerk = None
                known.close()
                with self._lock:
                    self._clerks.remove(known)
            with self._trying(self._stamp):
                clerk = self._local.clerk = _clerk(project, self._home)
        with self._lock:
            self._clerks.append(clerk)
        return clerk

    def outdated(self, cage: Cage) -> None:
        """Load the project again with the next request: a source of it is defined otherwise by now."""
        with self._lock:
            if self._cage is cage:
                self._stamp = ()

    def close(self) -> None:
        """Let go of everything; questions that run are waited for."""
        if hasattr(self, "_threads"):
            self._threads.shutdown(wait=True)
        for clerk in self._clerks:
            with suppress(Exception):
                clerk.close()
        self._cage.close()

    def _fresh(self) -> Project:
        """The project; loaded and checked again where a file of it was exchanged."""
        if _stamped(self.path, self._loaded.catalog) == self._stamp:
            return self._loaded
        with self._lock:
            now = _stamped(self.path, self._loaded.catalog)
            if now != self._stamp:
                before = self._cage
                with self._trying(now):
                    self._loaded, self._cage, self._stamp = self._load()
                before.retire()  # what runs in it is finished there
        return self._loaded

    @contextmanager
    def _trying(self, stamp: Stamp) -> Iterator[None]:
        """Open something; not yet again where it failed a moment ago and no file is another one since."""
        known = self._trouble
        if known is not None and known.stamp == stamp and monotonic() < known.until:
            raise known.error.with_traceback(None)
        try:
            yield
        except CatalogError as error:
            self._trouble = Trouble(stamp, monotonic() + AGAIN_S, error)
            raise

    def _load(self) -> tuple[Project, Cage, Stamp]:
        """With the files as they were before each was read: what changes meanwhile is found out with the next
        request.
        """
        cages: list[Cage] = []
        stamps = [_stamps([_toml(self.path)])]

        def caged(catalog: Catalog) -> Cage:
            stamps.append(_stamps(_sources(catalog)))
            cages.append(Cage(catalog, hidden=(catalog.ledger, self._home or default_home())))
            return cages[0]

        try:
            project = load_project(self.path, open_engine=caged)
        except BaseException:
            for cage in cages:
                cage.close()
            raise
        if self._budget is not None:
            project = replace(project, catalog=replace(project.catalog, budget=self._budget))
        return project, cages[0], stamps[0] + stamps[1]


def _clerk(project: Project, at: Path | None) -> Clerk:
    if project.catalog.unit is None:  # surveys alone: respondents need no account
        check_public(project)
        return Clerk(project, Home(default_home()), None)
    home, opened = open_ledger(project, at)
    return Clerk(project, home, opened)


def _stamped(path: Path, catalog: Catalog) -> Stamp:
    """What changes when obverse.toml or a source's file is another one."""
    return _stamps([_toml(path), *_sources(catalog)])


def _toml(path: Path) -> Path:
    return path / "obverse.toml" if path.is_dir() else path


def _sources(catalog: Catalog) -> Iterator[Path]:
    return (table.source.path for table in catalog.tables.values() if table.source.path is not None)


def _stamps(files: Iterable[Path]) -> Stamp:
    found = []
    for file in files:
        with suppress(OSError):
            there = file.stat()
            found.append((str(file), there.st_ino, there.st_mtime_ns, there.st_size))
    return tuple(found)
