from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import obverse as package
from obverse.cli.output.terminal import Heading, aligned, fitted, print_fact, shown, wrapped

pty = pytest.importorskip("pty", reason="a terminal is made with the Unix module pty")
QUESTION = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def on_terminal(project: Path, *args: str, before: str = "", **variables: str) -> str:
    """What a person sees: the command with a terminal for stdout and stderr."""
    leader, follower = pty.openpty()
    code = f"{before}\nfrom obverse.cli.main import main; main()"
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "PYTHONPATH": str(Path(package.__file__).parent.parent),
        **variables,
    }
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


def test_a_refusal_fits_the_terminal_and_no_number_loses_its_sign(project: Path) -> None:
    seen = on_terminal(project, "ask", "SELECT COUNTT(*) FROM people", COLUMNS="60")
    assert max(len(line) for line in seen.replace("\x1b[31m", "").replace("\x1b[0m", "").split("\r\n")) <= 60
    assert wrapped("x " * 49 + "95 % of it", "")[1].startswith("95 % ")


def test_a_terminal_gets_a_ruled_table_and_colour(project: Path) -> None:
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
    """Long is a second; to show that what is shorter has no wheel, half a minute, which no question takes on busy
    cores.
    """
    slow = (
        "import time\nfrom obverse.engines.duckdb import DuckDBEngine as E\nrun = E.run\n"
        "def late(*a, **k):\n    time.sleep(1.6)\n    return run(*a, **k)\nE.run = late"
    )
    began = time.monotonic()
    seen = on_terminal(project, "ask", QUESTION, before=slow)
    assert re.search(r"asking, [1-9]\d* s", seen)
    assert time.monotonic() - began < 60
    before = "import obverse.cli.output.progress as p\np.AFTER_S = 30.0"
    assert "asking" not in on_terminal(project, "ask", QUESTION, before=before)


def test_plain_tables_are_aligned_and_obey_no_escapes() -> None:
    table = aligned([Heading("k\x1b[31m"), Heading("n", "right")], [["a", "5"], ["bb", "1,000"]])
    assert "\x1b" not in table
    assert table.splitlines()[2:] == ["a           5", "bb      1,000"]
    assert shown("a\x07b\nc") == "a b c"


def test_a_table_on_a_terminal_is_folded_until_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    table = fitted(
        [Heading("what"), Heading("n", "right")], [["one two three four five six seven", "5"], ["b", "1,000"]], 24
    )
    assert max(map(len, table.splitlines())) <= 24
    assert table.splitlines()[2:] == ["one two three          5", "four five six", "seven", "b                  1,000"]


def test_words_of_a_fact_are_never_broken(capsys: pytest.CaptureFixture[str]) -> None:
    """A path or a command can be copied as it stands."""
    path = "/tmp/" + "-".join(["folder"] * 20)
    print_fact("Wrote", f"the release to {path} and nothing else")
    assert path in capsys.readouterr().out
