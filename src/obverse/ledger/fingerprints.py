"""Fingerprints of private data: HMACs under a secret, so that whoever sees one cannot try out what the data might be.

Claim:   without the secret, a fingerprint tells nothing of a file but whether two of them are of the same content.
Proof:   HMAC-SHA-256 under 256 bits of OS entropy is a pseudorandom function; of one, only equality can be seen.
Assumes: the secret is kept from those who see fingerprints. A machine's lies in its home beside the registry, readable by
         its owner alone; that of a shared ledger lies in its database, in a table of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from obverse.core.errors import LedgerError

BYTES = 32


@dataclass(frozen=True, slots=True)
class Seal:
    """What makes fingerprints of one place: of a machine's home, or of a database that several share."""

    secret: bytes = field(repr=False)

    def of(self, kind: str, text: str) -> str:
        return hmac.new(self.secret, f"{kind}\0{text}".encode(), hashlib.sha256).hexdigest()

    @property
    def name(self) -> str:
        """Tells fingerprints of two secrets apart."""
        return self.of("seal", "")


def fresh_secret() -> str:
    return secrets.token_hex(BYTES)


def seal_of(secret: str) -> Seal | None:
    """The seal of a secret as it is kept; None where this is not one."""
    try:
        found = bytes.fromhex(secret)
    except ValueError:
        return None
    return Seal(found) if len(found) == BYTES else None


def seal_in(folder: Path) -> Seal:
    """The seal of a home, made when there is none; of many processes that try at once, one makes it for all."""
    path = folder / "secret"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            _make(path)
        found = seal_of(path.read_bytes().decode("ascii", "replace"))
    except OSError as error:
        raise LedgerError(
            "no_home",
            "Obverse has no place of its own to remember datasets in, so nothing is answered",
            place=str(path),
            why=error.strerror or "the system refused",
            fix="Set OBVERSE_HOME to a folder that can be written to, outside the project.",
        ) from None
    if found is None:
        raise unknown_secret(str(path))
    return found


def unknown_secret(place: str) -> LedgerError:
    return LedgerError(
        "home_damaged",
        "the secret that fingerprints of private files are made with is not the one they were made with",
        place=place,
        why="data that was seen before would not be known again, and would get a second budget",
        fix="Bring back the file `secret` that belongs to this registry; a copy of Obverse's folder holds both.",
    )


def _make(path: Path) -> None:
    """Whole or not at all, durable before anything is sealed with it, and never in place of another."""
    draft = path.with_name(f"secret.{secrets.token_hex(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(fresh_secret())
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
