"""The collector of one survey: tokens out, reports in, counts kept. Nothing that tells who sent a report is ever written.

A batch is shuffled and written to a file of its own; then, in one transaction, its tokens become spent and the file counts. A
crash in between leaves a file that nobody counts, and tokens that can be used again.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.core.errors import Refused
from obverse.core.rng import Rng
from obverse.engines.report_files import read_reports, write_reports
from obverse.ledger.storage import BUSY_S, Database, Shape
from obverse.local.accept import Submitted, accept
from obverse.local.batch import Batch
from obverse.local.spec import Spec
from obverse.local.tally import Tally, empty, tallied
from obverse.local.tokens import Mint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.local.protocols.base import Payloads

    Places = NDArray[np.intp]

SHAPE = Shape(
    application_id=0x4F425643,  # "OBVC"
    base=(
        "CREATE TABLE survey (document BLOB NOT NULL, secret BLOB NOT NULL, epoch INTEGER NOT NULL)",
        "CREATE TABLE spent (mark BLOB PRIMARY KEY) WITHOUT ROWID",
        "CREATE TABLE batch (name TEXT PRIMARY KEY) WITHOUT ROWID",
        "CREATE TABLE rejected (reason TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID",
    ),
    migrations=(("CREATE TABLE attested (batch BLOB PRIMARY KEY, reports INTEGER NOT NULL) WITHOUT ROWID",),),
    code_missing="ledger_missing",
    code_unwritable="ledger_unwritable",
    code_damaged="ledger_damaged",
)
NO_TIME = (0, 0)  # of files: when reports came in is nobody's business
MARKS_AT_ONCE = 500


class Collection:
    """What was collected for one survey, in a folder of its own."""

    def __init__(self, folder: Path, spec: Spec, *, rng: Rng | None = None, busy_s: float = BUSY_S) -> None:
        self.spec = spec
        self.folder = folder
        self._rng = rng or Rng()
        self._database = Database(folder / "collected.db", SHAPE, busy_s=busy_s)
        self._database.create()
        with self._database.transaction() as connection:
            row = connection.execute("SELECT document, secret, epoch FROM survey").fetchone()
            if row is None:
                row = (spec.document, secrets.token_bytes(32), 0)
                connection.execute("INSERT INTO survey VALUES (?, ?, ?)", row)
            if row[0] == spec.document:
                self._sweep([name for (name,) in connection.execute("SELECT name FROM batch")])
        if row[0] != spec.document:
            raise _changed(spec)
        self._mint, self.epoch = Mint(row[1], spec.digest), int(row[2])

    def tokens(self, n: int) -> list[bytes]:
        """Fresh tokens, one report each; who gets which is not written down."""
        self._sees_reports()
        return [self._mint.issue(self._rng) for _ in range(n)]

    def add(self, submitted: Sequence[Submitted]) -> dict[str, int]:
        """Count what may be counted; returns the rejects by reason."""
        self._sees_reports()
        with self._database.transaction() as connection:

            def spent(marks: Sequence[bytes]) -> set[bytes]:
                found: set[bytes] = set()
                for start in range(0, len(marks), MARKS_AT_ONCE):
                    some = marks[start : start + MARKS_AT_ONCE]
                    sql = f"SELECT mark FROM spent WHERE mark IN ({', '.join('?' * len(some))})"
                    found.update(mark for (mark,) in connection.execute(sql, some))
                return found

            accepted = accept(self.spec, self._mint, self.epoch, submitted, spent)
            if len(accepted.payloads):
                name = self._write(accepted.payloads[self._order(len(accepted.payloads))])
                connection.execute("INSERT INTO batch VALUES (?)", (name,))
            connection.executemany("INSERT INTO spent VALUES (?)", [(mark,) for mark in sorted(accepted.marks)])
            connection.executemany(
                "INSERT INTO rejected VALUES (?, ?) ON CONFLICT (reason) DO UPDATE SET count = count + excluded.count",
                list(accepted.rejected.items()),
            )
        return accepted.rejected

    def add_attested(self, batch: Batch) -> None:
        """Count a batch that a shuffler has attested, once."""
        with self._database.transaction() as connection:
            if connection.execute("SELECT 1 FROM attested WHERE batch = ?", (batch.id,)).fetchone():
                raise Refused("batch_known", "this batch was counted before.", fix="Nothing is left to do.")
            connection.execute("INSERT INTO batch VALUES (?)", (self._write(batch.payloads),))
            connection.execute("INSERT INTO attested VALUES (?, ?)", (batch.id, len(batch.payloads)))

    def attested(self) -> list[int]:
        """How many reports each attested batch has."""
        with self._database.reading() as connection:
            return [int(n) for (n,) in connection.execute("SELECT reports FROM attested")]

    def tally(self) -> Tally:
        """All that was counted."""
        with self._database.reading() as connection:
            names = [name for (name,) in connection.execute("SELECT name FROM batch")]
            rejected = dict(connection.execute("SELECT reason, count FROM rejected").fetchall())
        total = empty(self.spec.digest, self.spec.protocol)
        for payloads in read_reports([self.folder / name for name in names], self.spec.protocol.length):
            total = total.plus(tallied(self.spec.digest, self.spec.protocol, payloads))
        return Tally(total.survey, total.n, total.counts, rejected)

    def close(self) -> None:
        self._database.close()

    def _sees_reports(self) -> None:
        """Where there is a shuffler, nobody else sees whose report is whose."""
        if self.spec.survey.shuffler is not None:
            raise Refused(
                "attested_only",
                f"survey {self.spec.survey.name} has a shuffler, who hands out tokens and takes reports.",
                fix="Use --shuffler FOLDER there, and add the batches that it attests.",
            )

    def _sweep(self, counted: Sequence[str]) -> None:
        """Files of batches that a crash kept from being counted; writers hold the same lock, so none is at work."""
        for path in self.folder.glob("*.parquet"):
            if path.name not in counted:
                path.unlink()

    def _write(self, payloads: Payloads) -> str:
        name = f"{secrets.token_hex(16)}.parquet"
        path = self.folder / name
        write_reports(payloads, path)
        os.chmod(path, 0o600)
        os.utime(path, NO_TIME)
        with open(path, "rb") as file:
            os.fsync(file.fileno())
        return name

    def _order(self, n: int) -> Places:
        """A uniform order, so that the order of arrival is not kept."""
        import numpy as np

        return np.argsort(self._rng.words(n), kind="stable")


def _changed(spec: Spec) -> Refused:
    return Refused(
        "survey_changed",
        f"survey {spec.survey.name} was changed after it was opened.",
        why="people answered on the terms of its specification; reports of another one mean something else.",
        fix="Declare the changed survey under a new name, or put back what was declared.",
    )
