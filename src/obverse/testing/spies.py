"""Spies: what reached the engine and the ledger while a question was asked, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from obverse.core.engine import Batches, Columns, Engine, PublicRows, Schema
from obverse.core.ledger import Cap, Entry, Head, Ledger, Partitions, Receipt, Spent, Stored
from obverse.core.relation import Relation
from obverse.core.secret import Exact
from obverse.session.session import Session


@dataclass(slots=True)
class Log:
    """Events in the order in which they happened: run, run_public, reserve, settle."""

    events: list[str] = field(default_factory=list)
    sql: list[str] = field(default_factory=list)

    def count(self, event: str) -> int:
        return self.events.count(event)

    def clear(self) -> None:
        self.events.clear()
        self.sql.clear()


class EngineSpy:
    """An engine that notes each call before it passes it on."""

    def __init__(self, engine: Engine, log: Log) -> None:
        self.name: str = engine.name
        self.dialect: str = engine.dialect
        self.engine = engine
        self.log = log

    def schema(self, table: str) -> Schema:
        return self.engine.schema(table)

    def run(self, sql: str, *, timeout_s: float) -> Exact[Columns]:
        self.log.events.append("run")
        self.log.sql.append(sql)
        return self.engine.run(sql, timeout_s=timeout_s)

    def batches(self, sql: str, *, timeout_s: float) -> Batches:
        self.log.events.append("run")
        self.log.sql.append(sql)
        return self.engine.batches(sql, timeout_s=timeout_s)

    def run_public(self, sql: str, *, timeout_s: float) -> PublicRows:
        self.log.events.append("run_public")
        self.log.sql.append(sql)
        return self.engine.run_public(sql, timeout_s=timeout_s)

    def readable(self, table: str, sql: str) -> bool:
        return self.engine.readable(table, sql)

    def known_by(self, table: str) -> tuple[str, ...]:
        return self.engine.known_by(table)

    def collations(self, table: str) -> Mapping[str, str]:
        return self.engine.collations(table)

    def relation(self, table: str) -> Relation:
        return self.engine.relation(table)

    def hold(self, relations: Mapping[str, Relation]) -> None:
        self.engine.hold(relations)

    def check_sources(self) -> None:
        self.engine.check_sources()

    def powers(self) -> tuple[str, ...]:
        return self.engine.powers()

    def close(self) -> None:
        self.engine.close()


class LedgerSpy:
    """A ledger that notes each act before it passes it on."""

    def __init__(self, ledger: Ledger, log: Log) -> None:
        self.ledger = ledger
        self.log = log

    def reserve(self, *args: Any, **named: Any) -> Receipt | Stored:
        self.log.events.append("reserve")
        return self.ledger.reserve(*args, **named)

    def settle(self, receipt: Receipt, answer: bytes) -> None:
        self.log.events.append("settle")
        self.ledger.settle(receipt, answer)

    def spent(
        self, *, analyst: str | None = None, purpose: str | None = None, partitions: Partitions | None = None
    ) -> Spent:
        return self.ledger.spent(analyst=analyst, purpose=purpose, partitions=partitions)

    def person(self) -> Spent:
        return self.ledger.person()

    def cap(self) -> Cap:
        return self.ledger.cap()

    def entries(self) -> Iterator[Entry]:
        return self.ledger.entries()

    def head(self) -> Head:
        return self.ledger.head()

    def record_catalog(self, fingerprint: str) -> None:
        self.ledger.record_catalog(fingerprint)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ledger, name)


def spy_on(session: Session) -> Log:
    """Put spies in front of the session's engine and ledger; gives their common log."""
    log = Log()
    session.engine = EngineSpy(session.engine, log)
    if session._ledger is not None:
        session._ledger = LedgerSpy(session._ledger, log)
    return log


@dataclass(frozen=True, slots=True)
class LedgerState:
    """What a ledger holds at one moment."""

    head: Head
    spent: Spent
    entries: tuple[Entry, ...]


def state(ledger: Ledger) -> LedgerState:
    return LedgerState(ledger.head(), ledger.spent(), tuple(ledger.entries()))


@dataclass(frozen=True, slots=True)
class LedgerDiff:
    """What happened between two moments: the records that were added, and the loss that was counted."""

    entries: tuple[Entry, ...]
    spent: Spent

    @property
    def empty(self) -> bool:
        return not self.entries and self.spent.amount == 0 and self.spent.delta == 0


def diff(before: LedgerState, ledger: Ledger) -> LedgerDiff:
    """The records and the loss added since; raises when an old record changed or is gone."""
    now = state(ledger)
    if now.entries[: len(before.entries)] != before.entries:
        raise AssertionError("an old record of the ledger changed")
    added = now.entries[len(before.entries) :]
    if not added and now.head != before.head:
        raise AssertionError("the head of the ledger moved without a record")
    amount = now.spent.amount - before.spent.amount
    delta = now.spent.delta - before.spent.delta
    return LedgerDiff(added, Spent(now.spent.accounting, amount, delta))
