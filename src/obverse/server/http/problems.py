"""Problems: errors as application/problem+json (RFC 9457), with one table from codes to statuses.

A spent budget is 402 and not 429: clients try again by themselves after a 429, and a budget does not come back by
waiting. What was wrong with obverse.toml, a path or the ledger is the curator's to know: others see that it is so, and
no more.

Replies: JSON as it is stored and sent, never by way of a second encoder.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import orjson
from starlette.responses import Response

from obverse.core.errors import BudgetExceeded, CatalogError, Failed, InvariantBroken, LedgerError, ObverseError
from obverse.server.errors import TooMany

DONE = {"version": 1, "done": True}


def json_reply(fields: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(fields), status, headers, "application/json")


MEDIA_TYPE = "application/problem+json"
TYPE = "urn:obverse:problem:"
REFUSED = 422  # a question that was read and cannot be answered
STATUSES = {
    "bad_request": 400,
    "bad_parameter": 400,
    "not_signed_in": 401,
    "budget_exhausted": 402,
    "not_allowed": 403,
    "account_suspended": 403,
    "analyst_unknown": 403,
    "header_missing": 403,
    "not_found": 404,
    "no_such_survey": 404,
    "unknown_account": 404,
    "unknown_token": 404,
    "method_not_allowed": 405,
    "too_slow": 408,
    "idempotency_conflict": 409,
    "answer_lost": 409,
    "account_known": 409,
    "too_large": 413,
    "not_json": 415,
    "too_many_requests": 429,
    "engine_failure": 500,
    "internal_error": 500,
    "engine_unavailable": 503,
    "project_unavailable": 503,
    "ledger_unavailable": 503,
    "project_changed": 503,
    "stopping": 503,
}
TITLES = {400: "The request cannot be read", 402: "The budget is spent", REFUSED: "The question is refused"}
RETRY_S = 5  # after a stop, or while something cannot be reached


@dataclass(frozen=True, slots=True)
class Problem:
    """What is told of an error."""

    status: int
    code: str
    detail: str
    charged: bool = False
    where: dict[str, int] | None = None
    why: str = ""
    fix: str = ""
    retry_s: int | None = None

    def as_json(self, request: str) -> dict[str, Any]:
        return {
            "type": TYPE + self.code,
            "title": TITLES.get(self.status) or HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "charged": self.charged,
            "where": self.where,
            "why": self.why,
            "fix": self.fix,
            "request": request,
        }

    def response(self, request: str) -> Response:
        headers = {"WWW-Authenticate": 'Bearer realm="obverse"'} if self.status == 401 else {}
        if self.retry_s is not None:
            headers["Retry-After"] = str(self.retry_s)
        return Response(orjson.dumps(self.as_json(request)), self.status, headers, MEDIA_TYPE)


def problem_of(error: ObverseError, request: str, *, asking: bool = False) -> Problem:
    """What may be told of an error, and under which status; `asking`: a question may have been charged."""
    if isinstance(error, CatalogError):
        return NO_PROJECT
    if isinstance(error, LedgerError) and not error.charged:
        return NO_LEDGER
    if isinstance(error, (LedgerError, InvariantBroken)):
        return failure(request) if asking else BROKEN
    otherwise = 402 if isinstance(error, BudgetExceeded) else 500 if isinstance(error, Failed) else REFUSED
    status = STATUSES.get(error.code, otherwise)
    retry = RETRY_S if status == 503 else None
    if isinstance(error, TooMany):
        retry = max(1, math.ceil(error.wait_s))
    told = error.as_json()["error"]
    return Problem(
        status=status,
        code=error.code,
        detail=error.message,
        charged=error.charged,
        where=told["where"],
        why=error.why,
        fix=error.fix,
        retry_s=retry,
    )


def unfinished(error: Exception) -> bool:
    """Whether it leaves nobody knowing how far a question came."""
    if isinstance(error, LedgerError):
        return error.charged
    return isinstance(error, InvariantBroken) or not isinstance(error, ObverseError)


def failure(request: str) -> Problem:
    """For a question of which nobody knows how far it came: one constant text, and it counts as charged."""
    return Problem(
        500,
        "engine_failure",
        f"the question could not be finished; request {request}.",
        charged=True,
        why="what went wrong may depend on the data, so it is not told, and the charge stays.",
        fix="ask the curator, naming the request.",
    )


UNSPENT = "nothing was spent."
CURATOR = "ask the curator."
BROKEN = Problem(500, "internal_error", "this request could not be finished.", fix="tell the curator the request.")
NO_PROJECT = Problem(
    status=503,
    code="project_unavailable",
    detail="the project cannot be opened now.",
    charged=False,
    where=None,
    why=UNSPENT,
    fix=CURATOR,
    retry_s=RETRY_S,
)
NO_LEDGER = Problem(
    status=503,
    code="ledger_unavailable",
    detail="the ledger cannot be used now.",
    charged=False,
    where=None,
    why=UNSPENT,
    fix=CURATOR,
    retry_s=RETRY_S,
)
NO_ROUTE = Problem(404, "not_found", "there is no such thing here.", fix="see /openapi.json.")
NO_METHOD = Problem(405, "method_not_allowed", "this address does not take this method.", fix="see /openapi.json.")
TOO_LARGE = Problem(413, "too_large", "the request is too large.", fix="a request's body has at most 256 kB.")
TWO_LENGTHS = Problem(
    status=400,
    code="bad_request",
    detail="the request tells two lengths.",
    charged=False,
    where=None,
    why=UNSPENT,
    fix="send Content-Length alone.",
)
TOO_SLOW = Problem(408, "too_slow", "the request did not come in time.")
NOT_JSON = Problem(
    415, "not_json", "the body is not plain JSON.", fix="Send Content-Type: application/json, not compressed."
)
