"""A small world for ledger tests: a home of its own, private files, projects over them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings

from obverse.accounting.budget import cap_of
from obverse.catalog.model import Server
from obverse.core.ledger import Accounting, Budget, Cap, Caps, Fingerprint, Ledger, Receipt, Scope, Stored, Terms
from obverse.core.loss import ApproxLoss, Loss, PureLoss
from obverse.core.units import Neighbours
from obverse.ledger.home import Home
from obverse.ledger.opened import Claimed, Opened
from obverse.ledger.opening import open_dataset
from obverse.ledger.sources import FileSource, NamedSource, Source
from tests.servers import postgres_address

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

BUDGET = Budget(Fraction(1), Fraction(1, 10**6))


@dataclass
class World:
    root: Path
    home: Home
    server: Server | None = None
    opened: list[Opened] = field(default_factory=list)

    def file(self, name: str, content: str = "person,age\n1,42\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def claimed(
        self,
        project: str = "one",
        *paths: Path,
        budget: Budget = BUDGET,
        accounting: Accounting = "pure",
        unit: str = "person",
        sources: tuple[Source, ...] = (),
    ) -> Claimed:
        files = tuple(FileSource(f"table{n}", path) for n, path in enumerate(paths))
        terms = Terms(accounting, Neighbours.ADD_REMOVE, unit)
        named = () if self.server is None else (NamedSource(str(self.root)),)
        return Claimed((*(sources or files), *named), self.root / project / "ledger.db", terms, budget, self.server)

    def open(self, claimed: Claimed, home: Home | None = None) -> Opened:
        opened = open_dataset(home or self.home, claimed, clock=lambda: "2026-11-15T00:00:00Z")
        self.opened.append(opened)
        return opened

    def close(self) -> None:
        for opened in self.opened:
            opened.ledger.close()
        self.home.close()


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setenv("OBVERSE_HOME", str(tmp_path / "home"))
    made = World(tmp_path, Home(tmp_path / "home"))
    yield made
    made.close()


@pytest.fixture
def database(world, monkeypatch) -> str:
    """The world's ledgers lie in PostgreSQL; the address of the database."""
    address = postgres_address()
    monkeypatch.setenv("OBVERSE_TEST_LEDGER", address)
    world.server = Server(dsn_env="OBVERSE_TEST_LEDGER")
    return address


@pytest.fixture(params=["sqlite", "postgres"])
def stored(request, world) -> str:
    """Run a test once for each store that is kept."""
    if request.param == "postgres":
        request.getfixturevalue("database")
    return request.param


@pytest.fixture
def in_child() -> Callable[[Callable[[], bool]], int]:
    """Runs an action in a forked child; the child's exit status, 0 when the action is true."""

    def run(action: Callable[[], bool]) -> int:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if action() else 2
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return run


@pytest.fixture
def ask() -> Callable[..., Receipt | Stored]:
    """Reserve, and settle unless told not to."""

    def asked(
        ledger: Ledger,
        plan: str,
        epsilon: str = "1/10",
        *,
        delta: str = "0",
        loss: Loss | None = None,
        key: str = "",
        analyst: str = "",
        purpose: str = "",
        caps: Caps | None = None,
        answer: bytes | None = b"42",
        note: str = "",
        question: str = "",
    ) -> Receipt | Stored:
        price = loss or (
            ApproxLoss(Fraction(epsilon), Fraction(delta)) if delta != "0" else PureLoss(Fraction(epsilon))
        )
        scope = Scope(ledger.dataset(), analyst, purpose)  # type: ignore[attr-defined]
        caps = caps or Caps(ledger.cap())
        receipt = ledger.reserve(scope, price, Fingerprint(plan), key=key, caps=caps, note=note, question=question)
        if isinstance(receipt, Receipt) and answer is not None:
            ledger.settle(receipt, answer)
        return receipt

    return asked


@pytest.fixture
def pure_cap() -> Callable[..., Cap]:
    return lambda epsilon, delta="1/1000000": cap_of(Budget(Fraction(epsilon), Fraction(delta)), "pure")
