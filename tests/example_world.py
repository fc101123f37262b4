"""What examples find around them: services that run beside a page, a PostgreSQL, a Spark, and programs of the
machine.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.servers import missing, postgres_address, postgres_server, spark_session

START = "import sys; from obverse.cli.main import cli; cli(sys.argv[1:], prog_name='obverse')"
PROGRAMS = ("curl", "psql", "node")  # of the machine
USUAL = ("8000", "5433")  # ports that pages show; services of tests listen at free ones
ADDRESS = re.compile(r"127\.0\.0\.1:(\d+)")
LIMIT_S = 60
READER = "obverse_reader"


class Beside:
    """What a page started with `&`; it ends with the page."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[str]] = []
        self.ports: dict[str, str] = {}  # the real one of each that is shown

    def start(self, words: list[str]) -> str:
        """What it says once it is ready."""
        said_to = os.devnull
        if "2>" in words:
            place = words.index("2>")
            said_to = words[place + 1]
            words = words[:place] + words[place + 2 :]
        assert words[:2] in (["obverse", "serve"], ["obverse", "demo"]), "only a service goes on beside"
        free = ["--port", "0", *(["--pg-port", "0"] if words[1] == "serve" else [])]
        command = [sys.executable, "-c", START, *words[1:], *free]
        with open(said_to, "w") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        self.running.append(process)
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if line.startswith(("http ", "Ctrl-C")):
                break
        assert said, "the service did not start"
        self.ports = dict(zip(USUAL, ADDRESS.findall(said)))
        return self.shown(said)

    def real(self, text: str) -> str:
        for usual, port in self.ports.items():
            text = re.sub(rf"\b{usual}\b", port, text)
        return text

    def shown(self, text: str) -> str:
        for usual, port in self.ports.items():
            text = re.sub(rf"\b{port}\b", usual, text)
        return text

    def stop(self) -> None:
        for process in self.running:
            process.terminate()
        for process in self.running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=LIMIT_S)
            process.kill()


def program(words: list[str], given: str) -> tuple[str, str]:
    """What a program of the machine prints on stdout and on stderr."""
    if shutil.which(words[0]) is None:
        missing(words[0])
    done = subprocess.run(words, input=given, capture_output=True, text=True, timeout=LIMIT_S)
    return done.stdout, done.stderr


@contextlib.contextmanager
def needed(what: list[str]) -> Iterator[None]:
    """What a page says that it needs."""
    with contextlib.ExitStack() as stack:
        for one in what:
            stack.enter_context({"postgres": _postgres, "spark": _spark}[one]())
        yield


@contextlib.contextmanager
def _postgres() -> Iterator[None]:
    """A database `hospital`, reached by the services `owner`, who may do all, and `clinic`, a role that the page
    makes.
    """
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    address = conninfo_to_dict(postgres_address())
    names = {"owner": address["user"], "clinic": READER}
    told = "".join(f"[{name}]\nhost={address['host']}\ndbname=hospital\nuser={user}\n" for name, user in names.items())
    Path("../pg_service.conf").write_text(told)
    os.environ["PGSERVICEFILE"] = os.path.abspath("../pg_service.conf")
    with psycopg.connect(postgres_server().get_uri(), autocommit=True) as owner:
        owner.execute("CREATE DATABASE hospital TEMPLATE template0 ENCODING 'UTF8'")
        try:
            yield
        finally:
            owner.execute("DROP DATABASE hospital WITH (FORCE)")
            owner.execute(f"DROP ROLE IF EXISTS {READER}")


@contextlib.contextmanager
def _spark() -> Iterator[None]:
    spark_session()
    yield
