"""Children that are forked, that open everything for themselves, and that die when they are told to."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.accounting.budget import cap_of
from obverse.catalog.model import Server
from obverse.core.ledger import Budget, Caps, Fingerprint, Receipt, Scope, Stored, Terms
from obverse.core.loss import PureLoss
from obverse.core.units import Neighbours
from obverse.ledger.home import Home
from obverse.ledger.opened import Claimed, Opened
from obverse.ledger.opening import open_dataset
from obverse.ledger.sources import FileSource, NamedSource
from tests.servers import postgres_address


@dataclass(frozen=True)
class Project:
    """A project on disk; nothing of it is held open in this process between calls."""

    root: Path
    budget: Budget

    @property
    def claimed(self) -> Claimed:
        terms = Terms("pure", Neighbours.ADD_REMOVE, "person")
        return Claimed((FileSource("people", self.root / "people.csv"),), self.root / "ledger.db", terms, self.budget)

    def open(self, step: Callable[[str], None] = lambda step: None) -> tuple[Home, Opened]:
        home = Home(self.root / "home")
        return home, open_dataset(home, self.claimed, step=step)

    def elsewhere(self, machine: int) -> Project:
        """As asked from another machine; a ledger in a file has one only."""
        return self

    def reserve(self, opened: Opened, name: str, epsilon: Fraction) -> Receipt | Stored:
        caps = Caps(cap_of(self.budget, "pure"))
        scope = Scope(opened.dataset.id, "ana")
        return opened.ledger.reserve(scope, PureLoss(epsilon), Fingerprint(name), key=name, caps=caps)


def die_at(fatal: str) -> Callable[[str], None]:
    def step(name: str) -> None:
        if name == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    return step


def in_child(action: Callable[[], int]) -> int:
    """Fork, act, and give the exit status; a negative one is the signal that ended the child."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = action()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("OBVERSE_HOME", str(tmp_path / "home"))

    def made(epsilon: str = "1000", name: str = "one") -> Project:
        root = tmp_path / name
        root.mkdir()
        (root / "people.csv").write_text(f"person\n{name}\n")
        return Project(root, Budget(Fraction(epsilon)))

    return made


@dataclass(frozen=True)
class SharedProject(Project):
    """A project whose ledger lies in PostgreSQL; `machine` is the home it is asked from."""

    address: str
    variable: str = "OBVERSE_LEDGER"
    name: str = "people"
    machine: str = "home"

    @property
    def claimed(self) -> Claimed:
        here = super().claimed
        sources = (*here.sources, NamedSource(self.name)) if self.name == "people" else (NamedSource(self.name),)
        return replace(here, sources=sources, server=Server(dsn_env=self.variable))

    def open(self, step: Callable[[str], None] = lambda step: None) -> tuple[Home, Opened]:
        home = Home(self.root / self.machine)
        return home, open_dataset(home, self.claimed, step=step)

    def over(self, variable: str) -> SharedProject:
        return replace(self, variable=variable)

    def anew(self, name: str) -> SharedProject:
        return replace(self, name=name)

    def elsewhere(self, machine: int) -> SharedProject:
        return replace(self, machine=f"home {machine}")


@pytest.fixture
def in_postgres(project, monkeypatch):
    """Like `project`, with the ledger in a fresh database."""

    def made(epsilon: str = "1000", name: str = "one") -> SharedProject:
        address = postgres_address()
        monkeypatch.setenv("OBVERSE_LEDGER", address)
        one = project(epsilon, name)
        return SharedProject(one.root, one.budget, address)

    return made


@pytest.fixture
def killed() -> Callable[[str, Callable[[Callable[[str], None]], int]], int]:
    """Run an action in a child that dies at the named step."""
    return lambda fatal, action: in_child(lambda: action(die_at(fatal)))


@pytest.fixture
def forked() -> Callable[[Callable[[], int]], int]:
    return in_child
