"""A shuffler: another party than the collector. It hands out tokens, checks reports, and signs batches that tell no sender.

It keeps its key, a secret for the tokens of each survey, and marks of those that were spent; no report and no order.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from obverse.answers.frames import extra
from obverse.collect.accept import Submitted, accept
from obverse.collect.batch import few, shuffled
from obverse.collect.collecting import spent_before
from obverse.collect.spec import Spec
from obverse.collect.tokens import Mint
from obverse.core.database import BUSY_S, Database, Shape
from obverse.core.errors import Refused
from obverse.core.rng import Rng

SHAPE = Shape(
    application_id=0x4F425653,  # "OBVS"
    base=(
        "CREATE TABLE shuffler (key BLOB NOT NULL)",
        "CREATE TABLE survey (digest BLOB PRIMARY KEY, secret BLOB NOT NULL) WITHOUT ROWID",
        "CREATE TABLE spent (mark BLOB PRIMARY KEY) WITHOUT ROWID",
    ),
    migrations=(),
    code_missing="ledger_missing",
    code_unwritable="ledger_unwritable",
    code_damaged="ledger_damaged",
    lost="Bring back a copy of it that is not older than the last batch: an older one knows not all tokens that were spent.",
)
KEY_BYTES = 32


class Shuffler:
    """A shuffler's folder, readable by its owner alone; a pair of keys is made when there is none."""

    def __init__(self, folder: Path, *, rng: Rng | None = None, busy_s: float = BUSY_S) -> None:
        self._rng = rng or Rng()
        self._database = Database(folder / "shuffler.db", SHAPE, busy_s=busy_s)
        self._database.create()
        with self._database.transaction() as connection:
            row = connection.execute("SELECT key FROM shuffler").fetchone()
            if row is None:
                row = (self._rng.raw(KEY_BYTES),)
                connection.execute("INSERT INTO shuffler VALUES (?)", row)
        self._key = _ed25519().Ed25519PrivateKey.from_private_bytes(row[0])

    @property
    def public(self) -> str:
        """What a survey declares as the key of its shuffler."""
        return str(self._key.public_key().public_bytes_raw().hex())

    def tokens(self, spec: Spec, n: int) -> list[bytes]:
        """Fresh tokens, one report each; the collector never sees them."""
        mint = self._mint(spec)
        return [mint.issue(self._rng) for _ in range(n)]

    def shuffle(self, spec: Spec, submitted: Sequence[Submitted], out: Path, *, epoch: int = 0) -> dict[str, int]:
        """Write a signed batch of what may be counted; returns the rejects by reason.

        It is whole under another name before its tokens are spent, and gets its own name after: no report is in two batches.
        A batch whose tokens could not be spent is deleted.
        """
        mint, part = self._mint(spec), out.with_name(f"{out.name}.part")
        try:
            with self._database.transaction() as connection:
                accepted = accept(spec, mint, epoch, submitted, partial(spent_before, connection))
                few(spec, len(accepted.payloads))
                _write(part, shuffled(spec, epoch, accepted.payloads, self._rng, self._key.sign))
                connection.executemany("INSERT INTO spent VALUES (?)", [(mark,) for mark in sorted(accepted.marks)])
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        os.replace(part, out)
        return accepted.rejected

    def close(self) -> None:
        self._database.close()

    def _mint(self, spec: Spec) -> Mint:
        if spec.survey.shuffler is None:
            raise no_shuffler(spec)
        if spec.survey.shuffler != self.public:
            raise Refused(
                "other_shuffler",
                f"survey {spec.survey.name} declares the key of another shuffler.",
                why="people agreed to that one.",
                fix="Use the folder of that shuffler, or declare a new survey with this key.",
            )
        with self._database.transaction() as connection:
            row = connection.execute("SELECT secret FROM survey WHERE digest = ?", (spec.digest,)).fetchone()
            if row is None:
                row = (secrets.token_bytes(KEY_BYTES),)
                connection.execute("INSERT INTO survey VALUES (?, ?)", (spec.digest, *row))
        return Mint(row[0], spec.digest)


def signed_by(key: str, signature: bytes, message: bytes) -> bool:
    """Whether who has the private part of this key signed the message."""
    curve, refused = _ed25519(), extra("cryptography.exceptions", "collect").InvalidSignature
    try:
        curve.Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(signature, message)
    except (refused, ValueError):
        return False
    return True


def no_shuffler(spec: Spec) -> Refused:
    return Refused(
        "no_shuffler",
        f"survey {spec.survey.name} declares no shuffler.",
        why="a shuffler is known to people before they answer.",
        fix="Declare one as [surveys.NAME.shuffler], in a new survey.",
    )


def _write(path: Path, batch: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(batch)
        file.flush()
        os.fsync(file.fileno())


def _ed25519() -> Any:
    return extra("cryptography.hazmat.primitives.asymmetric.ed25519", "collect")
