from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import obverse as package
from obverse.cli.terminal import Heading, aligned, shown

pty = pytest.importorskip("pty", reason="a terminal is made with the Unix module pty")
QUESTION = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def on_terminal(project: Path, *args: str, before: str = "", **variables: str) -> str:
    """What a person sees: the command with a terminal for stdout and stderr."""
    leader, follower = pty.openpty()
    code = f"{before}\nfrom obverse.cli.main import main; main()"
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(Path(package.__file__).parent.parent), **variables}
    process = subprocess.Popen(
        [sys.executable, "-c", code, *args],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        cwd=project,
        env=environment,
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            read = os.read(leader, 65536)
        except OSError:  # the terminal is gone with the process
            break
        if not read:
            break
        seen += read
    os.close(leader)
    process.wait(timeout=60)
    return seen.decode()


def test_a_terminal_gets_a_rich_table_and_colour(project: Path) -> None:
    seen = on_terminal(project, "ask", QUESTION)
    assert "───" in seen
    assert "\x1b[36mPrice" in seen


def test_no_color_means_no_escapes_at_all(project: Path) -> None:
    seen = on_terminal(project, "ask", QUESTION, NO_COLOR="1") + on_terminal(
        project, "ask", "SELECT age FROM people", NO_COLOR="1"
    )
    assert "───" in seen
    assert "\x1b" not in seen


def test_a_question_that_takes_long_shows_a_wheel(project: Path) -> None:
    slow = (
        "import time\nfrom obverse.engines.duckdb import DuckDBEngine as E\nrun = E.run\n"
        "def late(*a, **k):\n    time.sleep(1.6)\n    return run(*a, **k)\nE.run = late"
    )
    began = time.monotonic()
    seen = on_terminal(project, "ask", QUESTION, before=slow)
    assert "asking, 1 s" in seen
    assert time.monotonic() - began < 60
    assert "asking" not in on_terminal(project, "ask", QUESTION)


def test_plain_tables_are_aligned_and_obey_no_escapes() -> None:
    table = aligned([Heading("k\x1b[31m"), Heading("n", "right")], [["a", "5"], ["bb", "1,000"]])
    assert "\x1b" not in table
    assert table.splitlines()[2:] == ["a           5", "bb      1,000"]
    assert shown("a\x07b\nc") == "a b c"
