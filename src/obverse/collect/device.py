"""A device: its key and its own ledger, in a folder that only its owner can read. Written before a report leaves.

    device = Device(folder)
    print(device.consent_text(spec))                 # of the survey's specification, read_spec(document)
    device.consent(spec)                             # or device.decline(spec); nothing is sent without a yes
    sent = device.report(spec, "yes", token=token)   # bytes for the collector, along with the token
    device.withdraw(spec)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

from obverse.catalog.surveys import NO_LANGUAGE
from obverse.collect.client import (
    Record,
    check_source,
    consent_text,
    consented,
    declined,
    made,
    marked,
    next_step,
    withdrawn,
)
from obverse.collect.randomness.coins import Coins
from obverse.collect.randomness.permanent import KEY_BYTES, Memo
from obverse.collect.spec import Answers, Spec
from obverse.collect.tokens import TOKEN_BYTES
from obverse.collect.wire import EPOCH_MAX
from obverse.core.database import BUSY_S, Database, Shape
from obverse.core.errors import InvariantBroken, LedgerError, Refused, invariant
from obverse.core.rng import Rng

SHAPE = Shape(
    application_id=0x4F425644,  # "OBVD"
    base=(
        "CREATE TABLE device (key BLOB NOT NULL)",
        "CREATE TABLE survey (digest BLOB PRIMARY KEY, consent TEXT NOT NULL, reports INTEGER NOT NULL, spent TEXT NOT NULL,"
        " over INTEGER NOT NULL, day INTEGER NOT NULL, today INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE mark (survey BLOB NOT NULL REFERENCES survey (digest), mark BLOB NOT NULL, again INTEGER NOT NULL,"
        " PRIMARY KEY (survey, mark)) WITHOUT ROWID",
    ),
    migrations=(),
    code_missing="ledger_missing",
    code_unwritable="ledger_unwritable",
    code_damaged="ledger_damaged",
    lost="Bring back a copy of it that is not older than the last report: an older one gives back what was spent.",
)


class Device:
    """What one person's device keeps: a key that never leaves it, and for each survey consent, counts and epsilon spent."""

    def __init__(self, folder: Path, *, rng: Rng | None = None, busy_s: float = BUSY_S) -> None:
        self._rng = rng or Rng()
        check_source(self._rng)
        self._database = Database(folder / "device.db", SHAPE, busy_s=busy_s)
        self._database.create()
        with self._database.transaction() as connection:
            row = connection.execute("SELECT key FROM device").fetchone()
            if row is None:
                row = (self._rng.key(),)
                connection.execute("INSERT INTO device VALUES (?)", row)
        if not isinstance(row[0], bytes) or len(row[0]) != KEY_BYTES:
            raise self._damaged()
        self._key = row[0]

    def consent_text(self, spec: Spec, language: str = NO_LANGUAGE) -> str:
        """What is to be shown before `consent` is called."""
        return consent_text(spec, language)

    def consent(self, spec: Spec) -> None:
        """A yes; goes on from what was spent before."""
        self._change(spec, lambda spec, record: consented(record))

    def decline(self, spec: Spec) -> None:
        """A no; nothing is sent, and what was remembered of answers is erased."""
        self._erase(spec, declined)

    def withdraw(self, spec: Spec) -> None:
        """Stop, and erase what was remembered of answers. The key and what was spent stay, so that nobody pays twice."""
        self._erase(spec, withdrawn)

    def report(self, spec: Spec, answer: Answers, *, token: bytes, epoch: int = 0, today: date | None = None) -> bytes:
        """One report, counted and paid for on disk before it is made; answers to several questions by their names."""
        invariant(0 <= epoch <= EPOCH_MAX, "an epoch has two bytes")
        if not isinstance(token, bytes) or len(token) != TOKEN_BYTES:
            fix = "Give the bytes of a token, bytes.fromhex(text) where it came as text."
            raise Refused("bad_token", f"a token has {TOKEN_BYTES} bytes; nothing was charged.", fix=fix)
        memo = Memo(self._key, spec.digest)
        mark = marked(spec, answer, memo)
        day = (today or datetime.now(UTC).date()).toordinal()
        with self._database.transaction() as connection:
            step = next_step(spec, self._record(connection, spec), mark, day)
            _write(connection, spec, step.record)
        return made(spec, step, answer, token=token, epoch=epoch, coins=Coins(self._rng.raw), memo=memo)

    def record(self, spec: Spec) -> Record:
        """What is remembered of a survey, for the device's owner."""
        with self._database.reading() as connection:
            return self._record(connection, spec)

    def spent(self) -> Fraction:
        """Epsilon of all surveys together: losses of one person add up, whoever collects, for who sees all reports."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT spent FROM survey").fetchall()
        try:
            return sum((Fraction(spent) for (spent,) in rows), Fraction(0))
        except (TypeError, ValueError, ZeroDivisionError):
            raise self._damaged() from None

    def close(self) -> None:
        self._database.close()

    def _change(self, spec: Spec, change: Callable[[Spec, Record], Record]) -> None:
        with self._database.transaction() as connection:
            _write(connection, spec, change(spec, self._record(connection, spec)))

    def _erase(self, spec: Spec, change: Callable[[Spec, Record], Record]) -> None:
        self._change(spec, change)
        with self._database.connection() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the log too forgets

    def _record(self, connection: sqlite3.Connection, spec: Spec) -> Record:
        sql = "SELECT consent, reports, spent, over, day, today FROM survey WHERE digest = ?"
        row = connection.execute(sql, (spec.digest,)).fetchone()
        if row is None:
            return Record()
        marks = connection.execute("SELECT mark, again FROM mark WHERE survey = ?", (spec.digest,)).fetchall()
        try:
            consent, reports, spent, over, day, today = row
            known = {mark: bool(again) for mark, again in marks}
            return Record(consent, reports, Fraction(spent), bool(over), day, today, known)
        except (TypeError, ValueError, ZeroDivisionError, InvariantBroken):
            raise self._damaged() from None

    def _damaged(self) -> LedgerError:
        return LedgerError(
            "ledger_damaged",
            "the device's own ledger does not hold together, so nothing is sent",
            place=str(self._database.path),
            fix="Bring back a copy of it that is not older than the last report; else send nothing more for these surveys.",
        )


def _write(connection: sqlite3.Connection, spec: Spec, record: Record) -> None:
    connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
    row = (record.consent, record.reports, str(record.spent), record.over, record.day, record.today)
    sql = "INSERT OR REPLACE INTO survey VALUES (?, ?, ?, ?, ?, ?, ?)"
    connection.execute(sql, (spec.digest, *row))
    if not record.marks:
        connection.execute("DELETE FROM mark WHERE survey = ?", (spec.digest,))
    sql = "INSERT OR REPLACE INTO mark VALUES (?, ?, ?)"
    connection.executemany(sql, [(spec.digest, mark, again) for mark, again in record.marks.items()])
