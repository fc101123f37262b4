"""One person's rows, by a process of their own: the server cannot import the door that reads them, and never opens it.

Claim:   no route but the curator's export and acts on rights starts that process, and no module of the server can reach that
         door. After an act the process gives counts of the rows that the act is about, to the curator who did it.
Proof:   the first by this one caller, `routes/rights.py`, which admits the curator before; the second by the import contract.
Assumes: the server's user may read the project, as it must to serve it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obverse.core.errors import Refused
from obverse.server.errors import LOG, Unavailable

MODULE = "obverse.curator.rights.errand"
LIMIT_S = 600.0


def fetched(project: Path, person: str | int, reason: str, by: str, form: str) -> bytes:
    """The rows, in the form asked for; or the refusal."""
    return _run({"project": str(project), "person": person, "reason": reason, "by": by, "format": form})


def matched(project: Path, right: str) -> dict[str, int] | None:
    """How many rows of each table an act is about now; None where nobody can look at the moment. The act is done either way."""
    try:
        found: dict[str, int] = json.loads(_run({"project": str(project), "right": right}))
        return found
    except (Refused, Unavailable, ValueError):
        return None


def _run(asked: Mapping[str, Any]) -> bytes:
    """What the process says to what it is asked."""
    wanted = json.dumps(asked)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", MODULE], input=wanted.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=LIMIT_S, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        LOG.error("an errand for a person's rows failed")
        raise Unavailable() from None
    said, _, packed = done.stdout.partition(b"\n")
    if said == b"ok":
        return packed
    told = json.loads(said)
    raise Refused(told["code"], told["message"], why=told["why"], fix=told["fix"])
