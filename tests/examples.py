"""Examples of the docs, performed: what a page shows is what its commands print.

A page is one session in a folder of its own, from top to bottom. Blocks marked `console` hold commands after `$ ` and,
below each, what it prints; `python` blocks run in one namespace, and what they print stands in the `text` block after
them; `sql` blocks are run by the owner of the page's PostgreSQL; a block with `title="FILE"` is written to that file. A
line `...` stands for any lines, and `…` for any part of a line. Entropy is a stream from a fixed seed, so that pages
can be made again: `python -m tests.examples docs/PAGE.md`.

Comments say the rest: `<!-- not performed: REASON -->` above a block that no test can run, `<!-- numbers differ -->`
above one whose numbers are drawn anew (all else is compared), and `<!-- needs: postgres -->` or `spark` anywhere.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import runpy
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from click.testing import CliRunner

from obverse.cli.main import cli
from tests.example_world import PROGRAMS, Beside, needed, program

FENCE = re.compile(r"^(<!-- ([^\n]*) -->\n+)?```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NOT = "not performed: "
DIFFER = "numbers differ"
NEEDS = re.compile(r"^<!-- needs: (\w+) -->$", re.MULTILINE)
RUN = ("console", "python", "sql")  # kinds of blocks that are performed
READ = ("toml", "json", "text", "csv")  # for reading: settings and what is printed
TITLE = re.compile(r'title="([^"]+)"')
ANY = "..."
PART = "…"
OPERATORS = ("|", ">", ">>")
INNER = re.compile(r"\$\(([^()]*)\)")
NAME = re.compile(r"\$\{?([A-Z_]+)(?:%([^}]*)\})?")
NUMBER = re.compile(r"\b[0-9a-f]{8,}\b|-?\d+(?:[.,:]\d+)*(?:e-?\d+)?")
RULE = re.compile(r"-{2,}")


@dataclass(frozen=True, slots=True)
class Command:
    """What stands after `$ `, over several lines where a quote is open, and what the page shows below it."""

    text: str
    shown: str


class Steady:
    """Entropy from a fixed seed for Obverse's own calls; libraries, whose needs differ from run to run, get the real
    one.
    """

    def __init__(self) -> None:
        self._real = os.urandom
        self._source = random.Random()

    def restart(self, words: str) -> None:
        """Anew for each command, so that what one takes does not move the next."""
        self._source.seed(words)

    def __call__(self, n: int) -> bytes:
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__") in ("random", "secrets", "uuid"):
            frame = frame.f_back  # type: ignore[assignment]
        own = frame is not None and str(frame.f_globals.get("__name__")).startswith("obverse.")
        return self._source.randbytes(n) if own else self._real(n)


STEADY = Steady()


@contextlib.contextmanager
def steady() -> Iterator[None]:
    with mock.patch("os.urandom", STEADY), mock.patch("random._urandom", STEADY):
        yield


def performed(text: str, *, anew: bool = False) -> str:
    """The page with what its examples print here and now; where only numbers differ, they are changed if all is made
    anew.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), steady():
        installed = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        with mock.patch.dict(os.environ, {"OBVERSE_HOME": f"{folder}/home", "COLUMNS": "100", **installed}):
            os.makedirs("work")
            os.chdir("work")
            with needed(NEEDS.findall(text)):
                return _Page(text, anew).performed()


def unperformed(text: str) -> list[str]:
    """Why blocks of a page are not performed, one after the other; an unmarked one has no reason."""
    found = []
    for _, comment, kind, info, _ in FENCE.findall(text):
        if comment.startswith(NOT):
            found.append(comment.removeprefix(NOT))
        elif kind not in (*RUN, *READ) and not TITLE.search(info):
            found.append("")
    return found


class _Page:
    def __init__(self, text: str, anew: bool) -> None:
        self.text = text
        self.anew = anew
        self.names: dict[str, Any] = {"__name__": "example"}
        self.printed: str | None = None  # by the python block just above
        self.differ = False
        self.beside = Beside()

    def performed(self) -> str:
        try:
            return FENCE.sub(self._block, self.text)
        finally:
            self.beside.stop()

    def _block(self, found: re.Match[str]) -> str:
        before, comment, kind, info, body = found.groups()
        comment = comment or ""
        printed = self.printed
        self.printed = None
        self.differ = comment == DIFFER or (self.differ and kind == "text" and printed is not None)
        title = TITLE.search(info)
        if comment.startswith(NOT):
            return found[0]
        if title is not None:
            Path(title[1]).parent.mkdir(parents=True, exist_ok=True)
            Path(title[1]).write_text(self.beside.real(body))
        elif kind == "console":
            body = "".join(
                f"$ {one.text}\n{self._matched(one.shown, run(one.text, self.beside))}" for one in commands(body)
            )
        elif kind == "python":
            self.printed = self._python(self.beside.real(body))
        elif kind == "sql":
            assert "ERROR" not in (
                told := program(["psql", "-q", "-v", "ON_ERROR_STOP=1", "service=owner"], body)[1]
            ), told
        elif kind == "text" and printed is not None:
            body = self._matched(body, self.beside.shown(printed))
        return f"{before or ''}```{kind}{info}\n{body}```"

    def _matched(self, shown: str, real: str) -> str:
        cut = ANY in shown or PART in shown
        if self.differ and (cut or not self.anew) and matched(blind(shown), blind(real)) == blind(shown):
            return shown
        return matched(shown, real)

    def _python(self, body: str) -> str:
        out = io.StringIO()
        STEADY.restart(body)
        with contextlib.redirect_stdout(out):
            exec(compile(body, "example", "exec"), self.names)
        return out.getvalue()


def commands(body: str) -> list[Command]:
    found: list[Command] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], ""))
        elif found and not found[-1].shown and _open(found[-1].text):
            found[-1] = Command(f"{found[-1].text}\n{line}", "")
        else:
            assert found, f"output without a command: {line}"
            found[-1] = Command(found[-1].text, f"{found[-1].shown}{line}\n")
    return found


def _open(text: str) -> bool:
    try:
        shlex.split(text)
    except ValueError:
        return True
    return text.endswith("\\")


def matched(shown: str, real: str) -> str:
    """What is shown, where each `...` in it stands for what it leaves out of the real; else the real."""
    real = re.sub(r"[ \t]+$", "", real, flags=re.MULTILINE).strip("\n")
    real = f"{real}\n" if real else ""
    pieces = re.split(rf"^{re.escape(ANY)}\n", shown, flags=re.MULTILINE)
    pattern = "(?:.*\n)*?".join(re.escape(piece).replace(re.escape(PART), ".*") for piece in pieces)
    return shown if re.fullmatch(pattern, real) else real


def blind(text: str) -> str:
    """The text without its numbers, and without what follows from their length: blanks, rules, where lines break."""
    text = re.sub(r"\n {9}", " ", re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE))
    return re.sub(" +", " ", RULE.sub("--", NUMBER.sub("#", text)))


def run(text: str, beside: Beside | None = None) -> str:
    """What the command prints, errors included; pipes, files, names and $(...) are understood, and `&` at its end."""
    beside = beside or Beside()
    STEADY.restart(text)
    said = ""

    def inner(found: re.Match[str]) -> str:
        nonlocal said
        given, errors = _piped(found[1])
        said += errors
        return given.strip()

    text = beside.real(text.replace("\\\n", " "))
    text = INNER.sub(
        inner, NAME.sub(lambda found: os.environ.get(found[1], found[0]).removesuffix(found[2] or ""), text)
    )
    if text.endswith(" &"):
        return beside.start(shlex.split(text, comments=True)[:-1])
    given, errors = _piped(text)
    return beside.shown(given + said + errors)


def _piped(text: str) -> tuple[str, str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    words: list[str] = []
    said = ""
    given = ""
    parts = [*lexer, "|"]
    while parts:
        word = parts.pop(0)
        if word not in OPERATORS:
            words.append(word)
            continue
        given, errors = _call(words, given)
        said = said + errors
        words = []
        if word != "|":
            with Path(parts.pop(0)).open("a" if word == ">>" else "w") as file:
                file.write(given)
            given = ""
            assert parts == ["|"], "nothing follows a file"
            break
    return given, said


def _call(words: list[str], given: str) -> tuple[str, str]:
    """What it prints on stdout and on stderr."""
    match words:
        case ["obverse", *args]:
            done = CliRunner().invoke(cli, args, input=given, prog_name="obverse")
            if done.exception is not None and not isinstance(done.exception, SystemExit):
                raise done.exception
            return done.stdout, done.stderr
        case ["cd", folder]:
            os.chdir(folder)
            return "", ""
        case ["export", assigned]:
            name, _, value = assigned.partition("=")
            os.environ[name] = value
            return "", ""
        case ["cat", name]:
            return Path(name).read_text(), ""
        case ["head", "-n", count, name]:
            return "".join(Path(name).read_text().splitlines(keepends=True)[: int(count)]), ""
        case ["tail", "-n", count, name]:
            return "".join(Path(name).read_text().splitlines(keepends=True)[-int(count) :]), ""
        case ["head", "-n", count]:
            return "".join(given.splitlines(keepends=True)[: int(count)]), ""
        case ["ls", *names]:
            return "".join(f"{one.name}{'/' if one.is_dir() else ''}\n" for one in sorted(Path(*names).iterdir())), ""
        case ["python", name]:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                runpy.run_path(name, run_name="__main__")
            return out.getvalue(), ""
        case ["pytest", *args]:
            return program([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args], given)
        case [name, *_] if name in PROGRAMS:
            return program(words, given)
        case _:
            raise AssertionError(f"no example uses this command yet: {words}")


def main() -> None:
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(performed(path.read_text(), anew=True))
        print(name)


if __name__ == "__main__":
    main()
