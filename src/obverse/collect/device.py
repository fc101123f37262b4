"""A device: its key and its own ledger, in a folder that only its owner can read. Written before a report leaves.

    device = Device(folder)
    print(device.consent_text(spec))                 # of the survey's specification, read_spec(document)
    device.consent(spec)                             # or device.decline(spec); nothing is sent without a yes
    sent = device.report(spec, "yes", token=token)   # bytes for the collector, along with the token
    device.withdraw(spec)

What a device does for one survey: pure decisions, over a record that it keeps. `session.device` stores the record.

    record = consented(Record())                                # only after the person has read consent_text(spec)
    step = next_step(spec, record, marked(spec, answer, memo), today)
    ... store step.record durably; only then:
    sent = made(spec, step, answer, token=token, epoch=epoch, coins=coins, memo=memo)

Claim:   all that a device ever sends for a survey loses at most the survey's lifetime epsilon, whatever else is asked
         of it: the record's `spent` is never below what was lost. For lasting protocols, between people of whose
         reports the same ones share a permanent answer; which do is not hidden there.
Proof:   reports from fresh coins add their losses. Reports of a lasting protocol are made of permanent answers,
         independent for different labels; of each, one report loses `loss`, and any number lose `lasting` together. The
         sum of these is charged; before marks are erased, `lasting` for each. A charge that would exceed the lifetime
         is not made: from then on reports come from fresh coins, the key and the list of items alone, which no answer
         moves. Whether a report is refused depends on consent, dates and counts alone.
Assumes: the record is stored before the report leaves, and never goes back; a key is of one device.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Literal, get_args

from obverse.catalog.surveys import NO_LANGUAGE
from obverse.collect.card import card_text, in_language
from obverse.collect.protocols import Direct, OneOfSeveral, Several
from obverse.collect.randomness.coins import KEY_BYTES, Coins, Memo
from obverse.collect.randomness.hashing import WORD
from obverse.collect.spec import Answers, Spec, number
from obverse.collect.wire import EPOCH_MAX, HEAD_BYTES, TOKEN_BYTES
from obverse.core.database import BUSY_S, Database, Shape
from obverse.core.errors import InvariantBroken, LedgerError, Refused, invariant
from obverse.core.rng import Rng

Consent = Literal["unasked", "given", "declined", "withdrawn"]
Mark = bytes | None  # of the permanent answer that a report is made of; None where there is none
TEST_BYTES = 64
TEST_VALUES = 8


@dataclass(frozen=True, slots=True)
class Record:
    """What a device remembers of one survey. No answer is in it, and once consent is withdrawn no mark of one."""

    consent: Consent = "unasked"
    reports: int = 0  # that were made, ever
    spent: Fraction = Fraction(0)
    over: bool = False  # all was spent that may be; reports tell of no answer any more
    day: int = 0  # the last one with a report; days count from the year 1
    today: int = 0  # reports of that day
    # permanent answers that were used; whether more than once
    marks: Mapping[bytes, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        invariant(self.consent in get_args(Consent), "consent is one of four words")
        counts = (self.reports, self.day, self.today)
        invariant(
            all(type(count) is int and count >= 0 for count in counts) and self.spent >= 0, "nothing counts backwards"
        )


@dataclass(frozen=True, slots=True)
class Step:
    """The record that is to be stored before a report leaves, and whether the report is one of the answer."""

    record: Record
    tells: bool


def consent_text(spec: Spec, language: str = NO_LANGUAGE) -> str:
    """What a person reads before anything is sent."""
    return f"{card_text(spec, language)}\n\n{in_language(spec.survey.consent, language)}"


def consented(record: Record) -> Record:
    """Goes on from wherever the record was: what was spent stays spent."""
    return replace(record, consent="given")


def declined(spec: Spec, record: Record) -> Record:
    return replace(_forgotten(spec, record), consent="declined")


def withdrawn(spec: Spec, record: Record) -> Record:
    """A tombstone: counts and what was spent.

    Marks are erased; who consents again pays for their permanent answers again.
    """
    return replace(_forgotten(spec, record), consent="withdrawn")


def marked(spec: Spec, answer: Answers, memo: Memo) -> Mark:
    """The mark of the permanent answer; also refuses what is no answer, before anything is charged."""
    if spec.parts:
        for part, each in zip(spec.parts, spec.answers(answer)):
            marked(part, each, memo)
        return None
    if spec.grid is not None:
        number(answer)
        return None
    code = spec.code(answer)
    return None if spec.lasting is None else memo.mark(spec.lasting.label(code, memo.seed()))


def next_step(spec: Spec, record: Record, mark: Mark, today: int) -> Step:
    """Refuses, or says what is to be stored. An earlier day than the last one counts as that one: clocks go back."""
    asked = spec.survey
    if record.consent != "given":
        raise Refused(
            "no_consent",
            f"nobody has agreed to answer {asked.name}, so nothing is made.",
            fix="Show the consent text, and ask; without a yes nothing is sent.",
        )
    if record.reports >= asked.reports:
        raise Refused(
            "schedule_over", f"all {asked.reports} reports of {asked.name} were sent.", fix="Nothing is left to do."
        )
    before = record.today if today <= record.day else 0
    if before >= asked.per_day:
        raise Refused(
            "too_soon", f"{asked.name} takes {asked.per_day} a day, and they were sent.", fix="Try again tomorrow."
        )
    counted = replace(record, reports=record.reports + 1, day=max(today, record.day), today=before + 1)
    spent, marks = _charged(spec, record, mark)
    if record.over or spent > asked.lifetime:
        return Step(replace(counted, over=True), tells=False)
    return Step(replace(counted, spent=spent, marks=marks), tells=True)


def made(spec: Spec, step: Step, answer: Answers, *, token: bytes, epoch: int, coins: Coins, memo: Memo) -> bytes:
    """The report, framed. Both kinds are prepared alike and are of one length, so that it does not show which one
    left.
    """
    protocol = spec.lasting
    if protocol is not None:
        code = spec.code(answer)
        seed = memo.seed()
        spare = memo.beyond()
        own = protocol.permanent(code, memo.coins(protocol.label(code, seed)), seed)
        other = protocol.permanent(_any_item(spec, spare), spare, seed)
        payload = protocol.instant((other, own)[step.tells], coins, seed)
    else:
        other = _any_item(spec, coins)
        own = spec.code(answer, coins)
        payload = spec.protocol.report((other, own)[step.tells], coins, spec.seed(token))
    return spec.frame.framed(epoch, payload)


def check_source(rng: Rng) -> None:
    """Refuses a source of randomness that is missing or stuck. A good one is refused with a chance below 2**-300."""
    try:
        first = rng.raw(TEST_BYTES)
        second = rng.raw(TEST_BYTES)
    except (OSError, RuntimeError):  # RuntimeError where the system has no source at all
        first = second = b""
    if len(first) != TEST_BYTES or len(second) != TEST_BYTES or first == second or len({*first, *second}) < TEST_VALUES:
        raise Refused(
            "no_entropy",
            "this system gives no randomness, so nothing is made.",
            why="a report without fresh coins tells the answer.",
            fix="Use a system whose source of randomness works.",
        )


def sent_words(spec: Spec, report: bytes) -> str:
    """What left the device, for its owner."""
    payload = report[HEAD_BYTES:]
    told = f"{len(report)} bytes: the survey, the epoch, and {len(payload)} of a randomized answer"
    if isinstance(spec.protocol, OneOfSeveral):
        return (
            f"{told} to one of {len(spec.parts)} questions, which the token picked: "
            f"{spec.parts[payload[0]].survey.name}"
        )
    if spec.parts:
        return f"{told} to each of {len(spec.parts)} questions"
    if isinstance(spec.protocol, Direct) and spec.survey.options:
        told += f", {spec.survey.options[int.from_bytes(payload, 'little')]!r}, by coins that may have changed it"
    return told


def _charged(spec: Spec, record: Record, mark: Mark) -> tuple[Fraction, Mapping[bytes, bool]]:
    """What would have been spent with one more report, and the marks."""
    if mark is None or spec.permanent is None:
        return record.spent + spec.loss, record.marks
    one = min(spec.loss, spec.permanent)
    all_ = spec.permanent
    if mark not in record.marks:
        return record.spent + one, {**record.marks, mark: False}
    return record.spent + (0 if record.marks[mark] else all_ - one), {**record.marks, mark: True}


def _forgotten(spec: Spec, record: Record) -> Record:
    """Without marks. What was used once may be used once more, unknown as such, and twice may lose more than twice what
    once
    does: so all that they may ever lose is paid now, or, where the lifetime does not allow that, they are used no
    more."""
    spent = record.spent
    for mark, again in record.marks.items():
        if not again:
            spent = _charged(spec, replace(record, spent=spent), mark)[0]
    if spent > spec.survey.lifetime:
        return replace(record, over=True, marks={})
    return replace(record, spent=spent, marks={})


def _any_item(spec: Spec, coins: Coins) -> int:
    """An item that no answer moves: the one for no answer, else a uniform one; to each question. A text is a uniform
    key, a
    word a uniform number."""
    asked = spec.survey
    if isinstance(spec.protocol, Several):
        return spec.protocol.code([_any_item(part, coins) for part in spec.parts])
    if asked.none is not None:
        return spec.code(asked.none)
    if asked.options:
        return spec.code(asked.options[coins.below(len(asked.options))])
    if spec.grid is not None:
        return coins.below(spec.grid.size)
    key = int.from_bytes(coins.raw(8), "little") & WORD
    return key if asked.spelling is None else key >> WORD.bit_length() - asked.spelling.letters * asked.spelling.bits


SHAPE = Shape(
    application_id=0x4F425644,  # "OBVD"
    base=(
        "CREATE TABLE device (key BLOB NOT NULL)",
        "CREATE TABLE survey (digest BLOB PRIMARY KEY, consent TEXT NOT NULL, reports INTEGER NOT NULL, spent TEXT NOT "
        "NULL,"
        " over INTEGER NOT NULL, day INTEGER NOT NULL, today INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE mark (survey BLOB NOT NULL REFERENCES survey (digest), mark BLOB NOT NULL, again INTEGER NOT "
        "NULL,"
        " PRIMARY KEY (survey, mark)) WITHOUT ROWID",
    ),
    migrations=(),
    code_missing="ledger_missing",
    code_unwritable="ledger_unwritable",
    code_damaged="ledger_damaged",
    lost="Bring back a copy of it that is not older than the last report: an older one gives back what was spent.",
)


class Device:
    """What one person's device keeps: a key that never leaves it, and for each survey consent, counts and epsilon
    spent.
    """

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
        """Stop, and erase what was remembered of answers.

        The key and what was spent stay, so that nobody pays twice.
        """
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
            fix="Bring back a copy of it that is not older than the last report; else send nothing more for these "
            "surveys.",
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
