"""Logs: one JSON object a line, for each request that came to its end. No SQL, no token, no value, no duration, no address."""

from __future__ import annotations

import datetime as dt
import logging
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import orjson

from obverse.server.http.trace import Trace

Write = Callable[[bytes], object]
FRAMES = 8
OWN = "obverse."


def to_stderr(line: bytes) -> None:
    sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()


class Log:
    """Where lines go."""

    def __init__(self, write: Write = to_stderr) -> None:
        self._write = write

    def request(self, trace: Trace, project: str, method: str, route: str, status: int) -> None:
        """One request; the price is empty where nothing was charged."""
        if trace.silent:
            return
        account = "" if trace.caller is None else trace.caller.name
        self.line(
            "request", request=trace.id, project=project, account=account, method=method, route=route, status=status,
            code=trace.code, price=trace.price,
        )  # fmt: skip

    def defect(self, trace: Trace, error: BaseException) -> None:
        """Where something broke: its class and the lines of code, never its text, which may hold a value."""
        self.line("defect", request=trace.id, error=type(error).__name__, at=places(error))

    def line(self, event: str, **fields: object) -> None:
        time = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._write(orjson.dumps({"time": time, "event": event, **fields}) + b"\n")


class Redacted(logging.Handler):
    """For what libraries log: their fixed words and the class of an error, never what was put into them.

    Our own put in codes, places of files and of code, and queries of the catalogue without literals: they are told whole.
    """

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        told = {} if error is None else {"error": type(error).__name__, "at": places(error)}
        fixed = record.msg if isinstance(record.msg, str) and record.args else record.name
        event, words = ("server", record.getMessage()) if record.name.startswith(OWN) else ("library", fixed)
        self._log.line(event, name=record.name, level=record.levelname, words=words, **told)


def places(error: BaseException) -> list[str]:
    """Lines of code that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
