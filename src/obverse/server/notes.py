"""Notes: what operators are told of the PostgreSQL wire, in the lines and counts of every other request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from obverse.answers.answer import Answer
from obverse.core.errors import ObverseError
from obverse.server.desk import Caller
from obverse.server.http.problems import BROKEN, problem_of
from obverse.server.http.trace import Trace
from obverse.server.logs import Log
from obverse.server.metrics import Metrics, outcome_of

METHOD = "wire"
LEFT = "cancelled"


def nowhere(line: bytes) -> None:
    """For a server whose operator has no log."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Logins and questions; statements about the session and the catalogue are not noted. The status is what HTTP would say."""

    metrics: Metrics = field(default_factory=Metrics)
    log: Log = field(default_factory=lambda: Log(nowhere))

    @contextmanager
    def of(self, project: str, route: str, caller: Caller | None = None) -> Iterator[Trace]:
        """While something is done; whatever becomes of it is noted. `project` is a known one, or none."""
        trace, status = Trace(caller=caller, charging=route == "/ask"), 200
        try:
            yield trace
        except ObverseError as error:
            told = problem_of(error, trace.id, asking=trace.charging)
            trace.code, status = told.code, told.status
            raise
        except (asyncio.CancelledError, ConnectionError):
            trace.code, status = LEFT, 499  # as servers of HTTP write it when a client has gone
            raise
        except Exception:
            trace.code, status = BROKEN.code, BROKEN.status
            raise
        finally:
            self.metrics.count(project, route, outcome_of(status, stored=trace.outcome == "stored"))
            self.log.request(trace, project, METHOD, route, status)


def answered(trace: Trace, answer: Answer) -> Answer:
    """The answer, whose price goes into the note."""
    trace.outcome = "stored" if answer.price.stored else ""
    trace.price = answer.price.epsilon if answer.claim.receipt and not answer.price.stored else ""
    return answer
