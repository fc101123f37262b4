"""The collector of one survey: tokens out, reports in, counts kept. Nothing that tells who sent a report is ever
written.

A batch is shuffled and written to a file of its own; then, in one transaction, its tokens become spent and the file
counts. A crash in between leaves a file that nobody counts, and tokens that can be used again.

Reports are deleted when their retention is over, and their counts stay, if they are those of enough people. All that is
written down of when a batch came is the day on which it is to be deleted, cut to a tenth of the retention; what times a
file system keeps of its own is not ours to set.

Strict decoding: which of the reports that came in may be counted, and why the others may not.

Reports that no honest device sends but by a rare chance: bit vectors with far too many ones, or far too few.

They count, because some coins could have made them, and because whoever knows the rule stays below it; what crafted
reports can do is bounded by `leverage` all the same. The flag tells the curator that somebody tried.
"""

from __future__ import annotations

import math
import os
import secrets
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from obverse.collect.batch import Batch
from obverse.collect.cautions import UNTIL_STEPS
from obverse.collect.protocols import CountMean, LastingProtocol, LocalProtocol, MemoisedUnary, Rappor, Unary
from obverse.collect.protocols.base import Payloads
from obverse.collect.randomness.coins import share
from obverse.collect.spec import Spec, read_spec
from obverse.collect.tally import Tally, empty, tallied, unpacked
from obverse.collect.wire import EPOCH_BYTES, HEAD_BYTES, ID_BYTES, Mint
from obverse.core.database import BUSY_S, Database, Shape
from obverse.core.errors import Refused
from obverse.core.rng import Rng
from obverse.engines.files import read_reports, write_reports

REASONS = (
    "length",  # not that of a report
    "survey",  # another survey's, or another version of this one
    "epoch",  # not the one that is collected now
    "token",  # not one that was issued
    "spent",  # its token was used before, now or earlier
    "seed",  # not the one that follows from the token
    "range",  # no device could have sent it
)


@dataclass(frozen=True, slots=True)
class Submitted:
    """A report as it came in: the framed bytes and the token that was spent on it."""

    report: bytes
    token: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """What may be counted, without anything that came along with it; marks of the tokens it cost; and for each report
    that
    came in the reason for which it is not counted, or None."""

    payloads: Payloads
    marks: tuple[bytes, ...]
    reasons: tuple[str | None, ...]

    @property
    def rejected(self) -> dict[str, int]:
        """How many are not counted, by reason."""
        counted = Counter(reason for reason in self.reasons if reason is not None)
        return {reason: counted[reason] for reason in REASONS if counted[reason]}


def accept(
    spec: Spec, mint: Mint, epoch: int, submitted: Sequence[Submitted], spent: Callable[[Sequence[bytes]], set[bytes]]
) -> Accepted:
    """Sort reports. `spent` tells which marks are known already; a token that comes twice counts once."""
    head = spec.frame.survey + epoch.to_bytes(EPOCH_BYTES, "little")
    reasons = [_fault(spec, mint, head, one) for one in submitted]
    marks = {place: mint.spent_mark(one.token) for place, one in enumerate(submitted) if reasons[place] is None}
    known = spent(list(marks.values()))
    fresh: dict[bytes, int] = {}  # places, by marks
    for place, mark in marks.items():
        if mark in known or mark in fresh:
            reasons[place] = "spent"
        else:
            fresh[mark] = place
    sent = b"".join(submitted[place].report[HEAD_BYTES:] for place in fresh.values())
    rows = np.frombuffer(sent, dtype=np.uint8).reshape(len(fresh), spec.frame.payload)
    seeds = np.array([spec.seed(submitted[place].token) for place in fresh.values()], dtype=np.uint64)
    valid = spec.protocol.valid(rows)
    # there a device has one seed for ever, which its token does not tell
    lasting = isinstance(spec.protocol, LastingProtocol)
    agrees = valid if lasting else spec.protocol.agrees(rows, seeds)
    for place, possible, agreed in zip(fresh.values(), valid, agrees):
        if not (possible and agreed):
            reasons[place] = "seed" if possible else "range"
    return Accepted(rows[valid & agrees], tuple(fresh), tuple(reasons))


def _fault(spec: Spec, mint: Mint, head: bytes, one: Submitted) -> str | None:
    if len(one.report) != spec.frame.length:
        return "length"
    if one.report[:ID_BYTES] != head[:ID_BYTES]:
        return "survey"
    if one.report[:HEAD_BYTES] != head:
        return "epoch"
    return None if mint.genuine(one.token) else "token"


RARE = 1e-9  # the chance that an honest report is flagged, at most


@dataclass(frozen=True, slots=True)
class Ones:
    """How many bits of an honest report are set: from `least` to `most`, but with chance RARE.

    They follow `head` bytes.
    """

    head: int
    least: int
    most: int


def honest_ones(protocol: LocalProtocol) -> Ones | None:
    """None for protocols whose reports are not vectors of independent bits.

    Claim:   an honest report lies outside with a chance of at most RARE.
    Proof:   its bits are independent coins. By Hoeffding (1956) a sum of coins of mean m strays no further than as many
             coins of mean m each, beyond w with a chance of at most exp(-bits KL(w / bits, m)); both sides are given
             half of RARE.
    Assumes: one report for itself; those of one permanent answer stray together.
    """
    if isinstance(protocol, Unary):
        return _between(
            head=0,
            bits=protocol.size,
            own=float(share(protocol.own)),
            other=float(share(protocol.other)),
            fewest=1,
            largest=1,
        )
    if isinstance(protocol, MemoisedUnary):
        return _between(
            head=0, bits=protocol.size, own=float(protocol.own), other=float(protocol.other), fewest=1, largest=1
        )
    if isinstance(protocol, CountMean):
        return _between(
            head=protocol.head,
            bits=protocol.columns,
            own=float(protocol.own),
            other=1 - float(protocol.own),
            fewest=1,
            largest=1,
        )
    if isinstance(protocol, Rappor):
        return _between(
            head=protocol.head,
            bits=protocol.bits,
            own=float(protocol.own),
            other=float(protocol.other),
            fewest=1,
            largest=protocol.hashes,
        )
    return None


def odd_reports(protocol: LocalProtocol, payloads: Payloads) -> int:
    """How many of these payloads are flagged."""
    honest = honest_ones(protocol)
    if honest is None or not len(payloads):
        return 0
    ones = np.bitwise_count(payloads[:, honest.head :]).sum(axis=1, dtype=np.int64)
    return int(np.count_nonzero((ones < honest.least) | (ones > honest.most)))


def _between(head: int, bits: int, own: float, other: float, fewest: int, largest: int) -> Ones:
    """From where to where the ones go, if from `fewest` to `largest` bits are one's own."""
    low, high = (other + (own - other) * held / bits for held in (fewest, largest))
    far = math.log(2 / RARE) / bits
    most = next((w for w in range(math.ceil(high * bits), bits) if _distance((w + 1) / bits, high) > far), bits)
    least = next((w for w in range(math.floor(low * bits), 0, -1) if _distance((w - 1) / bits, low) > far), 0)
    return Ones(head, least, most)


def _distance(seen: float, mean: float) -> float:
    """Kullback-Leibler, of coins."""
    return sum(x * math.log(x / y) for x, y in ((seen, mean), (1 - seen, 1 - mean)) if x > 0)


Places = NDArray[np.intp]


SHAPE = Shape(
    application_id=0x4F425643,  # "OBVC"
    base=(
        "CREATE TABLE survey (document BLOB NOT NULL, secret BLOB NOT NULL, epoch INTEGER NOT NULL)",
        "CREATE TABLE spent (mark BLOB PRIMARY KEY) WITHOUT ROWID",
        "CREATE TABLE batch (name TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE attested (batch BLOB PRIMARY KEY, reports INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE kept (n INTEGER NOT NULL, counts BLOB NOT NULL)",  # of reports that are deleted
        "CREATE TABLE rejected (reason TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID",
    ),
    migrations=(),
    code_missing="ledger_missing",
    code_unwritable="ledger_unwritable",
    code_damaged="ledger_damaged",
    lost="Bring back a copy of it that is not older than the last report: an older one knows not all tokens that were "
    "spent.",
)
FILE = "collected.db"
NO_TIME = (0, 0)  # of files: when reports came in is nobody's business
MARKS_AT_ONCE = 500
ODD = "odd"  # beside the reasons of rejects: counted, but flagged
TOKEN_SPENT = ("seed", "range")  # reasons of rejects that cost a token

Folding = Callable[[Spec, Sequence[Path]], Tally]


class Collection:
    """What was collected for one survey, in a folder of its own."""

    def __init__(
        self,
        folder: Path,
        spec: Spec,
        *,
        rng: Rng | None = None,
        folding: Folding | None = None,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
        busy_s: float = BUSY_S,
    ) -> None:
        self.spec = spec
        self.folder = folder
        self._rng = rng or Rng()
        self._folding = folding or folded
        self._today = today
        self._database = Database(folder / FILE, SHAPE, busy_s=busy_s)
        self._database.create()
        with self._database.transaction() as connection:
            secret, self.epoch = _opened(connection, spec)
            self.forgotten = self._forget(connection)
        self._sweep()
        self._mint = Mint(secret, spec.digest)

    def tokens(self, n: int) -> list[bytes]:
        """Fresh tokens, one report each; who gets which is not written down."""
        self._sees_reports()
        return [self._mint.issue(self._rng) for _ in range(n)]

    def add(self, submitted: Sequence[Submitted]) -> dict[str, int]:
        """Count what may be counted; returns the rejects by reason."""
        return dict(Counter(reason for reason in self.add_each(submitted) if reason is not None))

    def add_each(self, submitted: Sequence[Submitted]) -> tuple[str | None, ...]:
        """The same; returns for each report why it was not counted, or None."""
        self._sees_reports()
        with self._database.transaction() as connection:
            accepted = accept(self.spec, self._mint, self.epoch, submitted, partial(spent_before, connection))
            if len(accepted.payloads):
                name = self._write(accepted.payloads[self._order(len(accepted.payloads))])
                connection.execute("INSERT INTO batch VALUES (?, ?)", (name, self._until()))
            connection.executemany("INSERT INTO spent VALUES (?)", [(mark,) for mark in sorted(accepted.marks)])
            self._note(connection, accepted.rejected | {ODD: odd_reports(self.spec.protocol, accepted.payloads)})
        return accepted.reasons

    def add_attested(self, batch: Batch) -> None:
        """Count a batch that a shuffler has attested, once."""
        with self._database.transaction() as connection:
            if connection.execute("SELECT 1 FROM attested WHERE batch = ?", (batch.id,)).fetchone():
                raise Refused("batch_known", "this batch was counted before.", fix="Nothing is left to do.")
            connection.execute("INSERT INTO batch VALUES (?, ?)", (self._write(batch.payloads), self._until()))
            connection.execute("INSERT INTO attested VALUES (?, ?)", (batch.id, len(batch.payloads)))
            self._note(connection, {ODD: odd_reports(self.spec.protocol, batch.payloads)})

    def attested(self) -> list[int]:
        """How many reports each attested batch has."""
        with self._database.reading() as connection:
            return [int(n) for (n,) in connection.execute("SELECT reports FROM attested")]

    def tally(self) -> Tally:
        """All that was counted. Reports whose retention ends while they are read are counted among those that were
        deleted.
        """
        while True:
            rejected, kept, names, accepted = self._known()
            try:
                total = kept.plus(self._folding(self.spec, [self.folder / name for name in names]))
                break
            except OSError:
                if self._known()[2] == names:
                    raise
        odd = rejected.pop(ODD, 0)
        gone = max(0, accepted - sum(rejected.get(reason, 0) for reason in TOKEN_SPENT) - total.n)
        return Tally(total.survey, total.n, total.counts, rejected, odd, frozenset({self._mint.collector}), gone)

    def close(self) -> None:
        self._database.close()

    def _known(self) -> tuple[dict[str, int], Tally, list[str], int]:
        """Rejects by reason, the counts of reports that are deleted, the files of all others, and how many reports ever
        cost a
        token or came attested; of one moment."""
        with self._database.reading() as connection:
            rejected = dict(connection.execute("SELECT reason, count FROM rejected").fetchall())
            names = [name for (name,) in connection.execute("SELECT name FROM batch")]
            ever = "SELECT (SELECT count(*) FROM spent) + (SELECT coalesce(sum(reports), 0) FROM attested)"
            return rejected, self._kept(connection), names, int(connection.execute(ever).fetchone()[0])

    def _note(self, connection: sqlite3.Connection, reasons: dict[str, int]) -> None:
        connection.executemany(
            "INSERT INTO rejected VALUES (?, ?) ON CONFLICT (reason) DO UPDATE SET count = count + excluded.count",
            [(reason, count) for reason, count in reasons.items() if count],
        )

    def _until(self) -> int:
        """The day on which reports of today are deleted: never later than was promised, and not telling which day
        today is.
        """
        days = self.spec.survey.retention_days
        step = max(1, days // UNTIL_STEPS)
        return (self._today().toordinal() + days) // step * step

    def _forget(self, connection: sqlite3.Connection) -> int:
        """Let the batches whose retention is over no longer count, but for their counts; returns how many reports
        these are.
        """
        over = connection.execute("SELECT name FROM batch WHERE until <= ?", (self._today().toordinal(),)).fetchall()
        if not over:
            return 0
        gone = self._folding(self.spec, [self.folder / name for (name,) in over])
        kept = self._kept(connection).plus(gone)
        connection.execute("DELETE FROM kept")
        if kept.n >= self.spec.survey.minimum:  # the counts of a few would be the reports themselves
            connection.execute("INSERT INTO kept VALUES (?, ?)", (kept.n, kept.packed()))
        connection.executemany("DELETE FROM batch WHERE name = ?", over)
        return gone.n

    def _kept(self, connection: sqlite3.Connection) -> Tally:
        """The counts of reports that are deleted."""
        row = connection.execute("SELECT n, counts FROM kept").fetchone()
        survey = self.spec.digest
        protocol = self.spec.protocol
        return empty(survey, protocol) if row is None else unpacked(survey, protocol, *row)

    def _sweep(self) -> None:
        """Delete files that do not count: their retention is over, or a crash kept them from being counted. Writers
        hold the
        same lock, so none is at work."""
        with self._database.transaction() as connection:
            counted = {name for (name,) in connection.execute("SELECT name FROM batch")}
            for path in self.folder.glob("*.parquet"):
                if path.name not in counted:
                    path.unlink()

    def _sees_reports(self) -> None:
        """Where there is a shuffler, nobody else sees whose report is whose."""
        if self.spec.survey.shuffler is not None:
            raise Refused(
                "attested_only",
                f"survey {self.spec.survey.name} has a shuffler, who hands out tokens and takes reports.",
                fix="Use --shuffler FOLDER there, and add the batches that it attests.",
            )

    def _write(self, payloads: Payloads) -> str:
        name = f"{secrets.token_hex(16)}.parquet"
        path = self.folder / name
        write_reports(payloads, path)
        os.chmod(path, 0o600)
        os.utime(path, NO_TIME)
        with open(path, "rb") as file:
            os.fsync(file.fileno())
        if os.name == "posix":  # the name too is on disk before it counts
            folder = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        return name

    def _order(self, n: int) -> Places:
        """A uniform order, so that the order of arrival is not kept."""
        return np.argsort(self._rng.words(n), kind="stable")


def spent_before(connection: sqlite3.Connection, marks: Sequence[bytes]) -> set[bytes]:
    """Which of these tokens were spent; some are looked up at a time."""
    found: set[bytes] = set()
    for start in range(0, len(marks), MARKS_AT_ONCE):
        some = marks[start : start + MARKS_AT_ONCE]
        sql = f"SELECT mark FROM spent WHERE mark IN ({', '.join('?' * len(some))})"
        found.update(mark for (mark,) in connection.execute(sql, some))
    return found


def folded(spec: Spec, paths: Sequence[Path]) -> Tally:
    """The tally of these files, in this process, some reports at a time."""
    total = empty(spec.digest, spec.protocol)
    for payloads in read_reports(paths, spec.protocol.length):
        total = total.plus(tallied(spec.digest, spec.protocol, payloads))
    return total


def agreed_spec(folder: Path) -> Spec | None:
    """The specification by which reports were collected in this folder; None where nothing ever was."""
    if not (folder / FILE).exists():
        return None
    database = Database(folder / FILE, SHAPE)
    try:
        with database.reading() as connection:
            row = connection.execute("SELECT document FROM survey").fetchone()
    finally:
        database.close()
    return None if row is None else read_spec(row[0])


def _opened(connection: sqlite3.Connection, spec: Spec) -> tuple[bytes, int]:
    """The secret and the epoch of this survey.

    It may be changed until a report came in; tokens of before are void then.
    """
    row = connection.execute("SELECT document, secret, epoch FROM survey").fetchone()
    if row is not None and row[0] == spec.document:
        return row[1], int(row[2])
    if any(
        connection.execute(f"SELECT 1 FROM {came} LIMIT 1").fetchone() for came in ("spent", "rejected", "attested")
    ):
        raise _changed(spec)
    connection.execute("DELETE FROM survey")
    secret = secrets.token_bytes(32)
    connection.execute("INSERT INTO survey VALUES (?, ?, 0)", (spec.document, secret))
    return secret, 0


def _changed(spec: Spec) -> Refused:
    return Refused(
        "survey_changed",
        f"survey {spec.survey.name} was changed after reports came in.",
        why="people answered on the terms of its specification; reports of another one mean something else.",
        fix="Declare the changed survey under a new name, or put back what was declared.",
    )
