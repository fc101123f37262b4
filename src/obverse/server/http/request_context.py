"""Trace: what is remembered of one request while it lasts, for its log line and its counts."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import Request

from obverse.server.http.problems import Problem
from obverse.server.queries import Caller

SCOPE = "obverse"


@dataclass(slots=True)
class Trace:
    """Nothing of the question and nothing of its answer but the price."""

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    caller: Caller | None = None
    outcome: str = ""
    code: str = ""
    price: str = ""
    charging: bool = False  # a question came so far that it may have been charged
    # not logged: probes of health, and reports of surveys, for when they came is nobody's business
    silent: bool = False


class Told(HTTPException):
    """A problem as an exception; FastAPI lets those pass that are of HTTP."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.status)
        self.problem = problem


def trace_of(request: Request) -> Trace:
    trace = request.scope[SCOPE]
    assert isinstance(trace, Trace)
    return trace
