"""What is kept of rights, carried to where the ledger goes, or brought back where it was lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

from obverse.core.errors import Refused
from obverse.curator.curator import opened_ledger
from obverse.ledger import rights as ledger_rights


def keep(project: Path, file: Path) -> int:
    """Write the contents of all rights that stand or are in force to a file that only its owner can read."""
    with opened_ledger(project) as (_, _, opened):
        rights = opened.ledger.rights()
        with opened.registered.shared() as datasets:
            held = ledger_rights.held(datasets, opened.dataset.id)
    kept = {right: content for right, content in held.items() if right in rights.kept()}
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            json.dump({"obverse_rights": 1, "contents": kept}, out)
    except FileExistsError:
        raise Refused("file_exists", "there is a file already.", place=str(file), fix="Name another.") from None
    return len(kept)


def restore(project: Path, file: Path) -> int:
    """Put contents back; only those that the ledger has sealed, and none that was lifted."""
    try:
        contents = json.loads(file.read_text(encoding="utf-8"))["contents"]
        pairs = [(str(right), str(content)) for right, content in contents.items()]
    except OSError as error:
        raise Refused("no_such_file", f"cannot be read: {error.strerror}", place=str(file), fix="Check the name.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _strange(file) from None
    with opened_ledger(project) as (_, _, opened):
        rights = opened.ledger.rights()
        sealed = {**rights.standing, **rights.in_force}
        if any(ledger_rights.sealed(content) != sealed.get(right) for right, content in pairs):
            raise _strange(file)
        with opened.registered.exclusive() as datasets:
            ledger_rights.put(datasets, opened.dataset.id, pairs)
    return len(pairs)


def _strange(file: Path) -> Refused:
    return Refused(
        "not_kept_here",
        "the file holds no acts of this ledger, or was changed.",
        place=str(file),
        fix="Name the file that `obverse rights keep` wrote last.",
    )
