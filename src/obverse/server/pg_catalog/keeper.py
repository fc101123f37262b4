"""Keeper: the server's side of the process that holds a shadow. Starts it, asks it, and kills it when it takes too long."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

import orjson

from obverse.core.errors import Refused
from obverse.server.sandbox import frames

START_S = 60.0
LIMIT_S = 2.0
KEPT_VARIABLES = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "HOME")
Statements = Sequence[tuple[str, Sequence[Sequence[Any]]]]


class Keeper:
    """One process, asked one query at a time; its statements fill it anew whenever it has to be started."""

    def __init__(self, statements: Statements) -> None:
        self._filling = orjson.dumps(statements)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._closed = False

    def ask(self, sql: str, *, describe: bool = False) -> dict[str, Any]:
        """Columns and rows of a query, or the kind of its error."""
        with self._lock:
            control = self._ready()
            try:
                frames.send(control, orjson.dumps({"sql": sql, "describe": describe}))
                answer: dict[str, Any] = orjson.loads(frames.receive(control, monotonic() + LIMIT_S))
                return answer
            except TimeoutError:
                self._end()
                raise Refused("catalogue_too_slow", "this question about the catalogue takes too long.") from None
            except (OSError, EOFError, orjson.JSONDecodeError):
                self._end()
                return {"error": "gone"}

    def start(self) -> None:
        """Before it is asked."""
        with self._lock:
            self._ready()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._end()

    def _ready(self) -> socket.socket:
        if self._closed:
            raise Refused("catalogue_unanswered", "the server is stopping.")
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self._end()
        ours, theirs = socket.socketpair()
        with theirs:
            environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "obverse.server.pg_catalog.worker", str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
            )
        self._control = ours
        try:
            frames.send(ours, self._filling)
            frames.receive(ours, monotonic() + START_S)
        except (OSError, EOFError):
            self._end()
            raise Refused("catalogue_unanswered", "the catalogue cannot be opened.", fix="try again.") from None
        return ours

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
        self._control = self._process = None
