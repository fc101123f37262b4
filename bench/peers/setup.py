"""An environment for each peer under .bench/, with the versions of its lock file; and its questions, each in a process.

`python bench/peers/setup.py` makes them all. To renew a lock: install what its first line says into an empty
environment, then `pip freeze`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))
import trips  # noqa: E402

PEERS = {  # how many times our CPU each is to need, at least
    "smartnoise": 5.0,
    "opendp_polars": 10.0,
    "qrlew": 10.0,
    "tumult": 5.0,
    "pipelinedp": 5.0,
}
SLOW = ("tumult", "pipelinedp")  # asked two questions, of no more than a million rows
SLOW_ROWS = 1_000_000
SLOW_QUESTIONS = ("count by city", "sum+avg by city x product")
LONGEST_S = 15 * 60.0


def python_of(peer: str) -> Path:
    return trips.WORK / peer / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(peer: str) -> str:
    """Make the environment, once for each state of its lock file; what went wrong, or nothing."""
    lock = BENCH / "peers" / f"{peer}.txt"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    mark = trips.WORK / peer / ".locked"
    if mark.exists() and mark.read_text() == digest and python_of(peer).exists():
        return ""
    print(f"installing {peer} into .bench/{peer}", flush=True)
    trips.WORK.mkdir(exist_ok=True)
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(trips.WORK / peer)],
        [str(python_of(peer)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(lock)],
    )
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            return f"not installed after {LONGEST_S / 60:.0f} minutes"
        if done.returncode:
            said = (
                [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
                or done.stderr.splitlines()
                or ["?"]
            )
            return f"not installed: {said[0][:160]}"
    mark.write_text(digest)
    return ""


def questions_of(peer: str, rows: int) -> tuple[str, ...]:
    """What a peer is asked at a size."""
    if peer not in SLOW:
        return tuple(trips.QUESTIONS)
    return SLOW_QUESTIONS if rows <= SLOW_ROWS else ()


def asked(peer: str, rows: int, left: Callable[[], float]) -> Iterator[dict[str, Any]]:
    """Each question's measurement, or why there is none."""
    script = str(BENCH / "peers" / f"{peer}.py")
    for name in questions_of(peer, rows):
        record: dict[str, Any] = {"system": peer, "rows": rows, "question": name}
        if left() <= 0:
            yield record | {"why": f"did not finish in {LONGEST_S / 60:.0f} minutes"}
            continue
        command = [str(python_of(peer)), "-W", "ignore", script, str(rows), name]
        found = trips.in_child(command, {"PYTHONPATH": str(BENCH)}, left())
        if found.get("why", "").startswith("stopped"):
            found = {"why": f"did not finish in {LONGEST_S / 60:.0f} minutes"}
        yield record | found | {"system": peer}


def measured(peer: str, rows: int) -> Iterator[dict[str, Any]]:
    """A peer's measurements at one size, all within a quarter of an hour."""
    names = questions_of(peer, rows)
    wrong = install(peer) if names else ""
    if wrong:
        yield from ({"system": peer, "rows": rows, "question": name, "why": wrong} for name in names)
        return
    end = time.monotonic() + LONGEST_S
    yield from asked(peer, rows, lambda: end - time.monotonic())


if __name__ == "__main__":
    for one in PEERS:
        print(one, install(one) or "is ready")
