"""Logs: one JSON object a line, for each request that came to its end. No SQL, no token, no value, no duration, no
address.

Counts for operators, as Prometheus reads them: requests by route and class of outcome. No values, no text, no
durations.

Notes: what operators are told of the PostgreSQL wire, in the lines and counts of every other request.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import orjson

from obverse.answers.answer import Answer
from obverse.core.errors import ObverseError
from obverse.server.http.problems import BROKEN, problem_of
from obverse.server.http.request_context import Trace
from obverse.server.queries import Caller

Outcome = Literal["done", "stored", "refused", "over_budget", "denied", "too_many", "failed", "unavailable"]
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BY_STATUS: dict[int, Outcome] = {
    401: "denied", 402: "over_budget", 403: "denied", 404: "denied", 429: "too_many", 500: "failed", 503: "unavailable",
}  # fmt: skip


def outcome_of(status: int, *, stored: bool = False) -> Outcome:
    if status < 400:
        return "stored" if stored else "done"
    return _BY_STATUS.get(status, "refused")


class Metrics:
    """Counters of one server since it started."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, Outcome]] = Counter()

    def count(self, project: str, route: str, outcome: Outcome) -> None:
        self._requests[project, route, outcome] += 1

    def text(self, projects: Collection[str]) -> str:
        return "\n".join([*self._lines(projects), ""])

    def _lines(self, projects: Collection[str]) -> Iterator[str]:
        yield "# HELP obverse_requests_total Requests by route and class of outcome."
        yield "# TYPE obverse_requests_total counter"
        for (project, route, outcome), count in sorted(self._requests.items()):
            if project in projects:
                labels = f'project="{_escaped(project)}",route="{_escaped(route)}",outcome="{outcome}"'
                yield f"obverse_requests_total{{{labels}}} {count}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


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

    Our own put in codes, places of files and of code, and queries of the catalogue without literals: they are told
    whole.
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


METHOD = "wire"
LEFT = "cancelled"


def nowhere(line: bytes) -> None:
    """For a server whose operator has no log."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Logins and questions; statements about the session and the catalogue are not noted.

    The status is what HTTP would say.
    """

    metrics: Metrics = field(default_factory=Metrics)
    log: Log = field(default_factory=lambda: Log(nowhere))

    @contextmanager
    def of(self, project: str, route: str, caller: Caller | None = None) -> Iterator[Trace]:
        """While something is done; whatever becomes of it is noted. `project` is a known one, or none."""
        trace = Trace(caller=caller, charging=route == "/ask")
        status = 200
        try:
            yield trace
        except ObverseError as error:
            told = problem_of(error, trace.id, asking=trace.charging)
            trace.code = told.code
            status = told.status
            raise
        except (asyncio.CancelledError, ConnectionError):
            # as servers of HTTP write it when a client has gone
            trace.code = LEFT
            status = 499
            raise
        except Exception:
            trace.code = BROKEN.code
            status = BROKEN.status
            raise
        finally:
            self.metrics.count(project, route, outcome_of(status, stored=trace.outcome == "stored"))
            self.log.request(trace, project, METHOD, route, status)


def answered(trace: Trace, answer: Answer) -> Answer:
    """The answer, whose price goes into the note."""
    trace.outcome = "stored" if answer.price.stored else ""
    trace.price = answer.price.epsilon if answer.claim.receipt and not answer.price.stored else ""
    return answer
