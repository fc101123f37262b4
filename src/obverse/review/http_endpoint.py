"""A service over HTTP as an attacker's client sees it. Nothing that it sends is trusted, and the token goes nowhere else."""

from __future__ import annotations

import json
import math
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from obverse.attack.targets import Interface, Put
from obverse.core.errors import Failed, ObverseError, Refused
from obverse.core.foreign import foreign_text

WAIT_S = 120.0  # for a reply
LEAVE_S = 0.03  # after which who leaves has left: sooner than the first tick of a service
TRIES, PAUSE_MAX_S = 10, 60  # where requests are too many: as the service asks, but not for ever
REPLY_MAX = 16_000_000
OVER_BUDGET, TOO_MANY = 402, 429
CLAIMED = ("X-Analyst", "X-Forwarded-User", "X-Remote-User", "X-User")  # headers in which services have believed names


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """A project of a service: https://host/v1/PROJECT, reached with somebody's token."""

    url: str
    token: str = field(repr=False)
    pause: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        place = urlsplit(self.url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise Refused("bad_url", f"{foreign_text(self.url)} is no address of a service.", fix="write https://host/v1/PROJECT")

    def ask(self, sql: str, epsilon: float | None = None) -> float | None:
        return self._answered(sql, epsilon, {}, WAIT_S)

    def put(self, put: Put) -> float | None:
        """A question with all that an attacker says beside it. Who leaves hangs up before the reply is there."""
        told = {"Idempotency-Key": put.key} if put.key else {}
        told |= dict.fromkeys(CLAIMED, put.name) if put.name else {}
        if not put.leaves:
            return self._answered(put.sql, float(put.price), told, WAIT_S)
        try:
            return self._answered(put.sql, float(put.price), told, LEAVE_S)
        except _Unreachable:
            return None

    def interface(self) -> Interface:
        return Interface(lambda: nullcontext(self.put), frozenset({"key", "name", "price", "leaves"}))

    def _answered(self, sql: str, epsilon: float | None, told: Mapping[str, str], wait_s: float) -> float | None:
        body = json.dumps({"sql": sql} if epsilon is None else {"sql": sql, "epsilon": epsilon}).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **told}
        for _ in range(TRIES):
            request = urllib.request.Request(f"{self.url.rstrip('/')}/ask", body, headers, method="POST")
            status, reply, pause_s = _sent(request, wait_s)
            if status != TOO_MANY:
                break
            self.pause(pause_s)
        if status == OVER_BUDGET:
            return None
        if status != 200:
            raise _problem(status, reply)
        return one_number(reply.get("rows"))


class _Unreachable(Refused):
    """No reply came."""


class _Staying(urllib.request.HTTPRedirectHandler):
    """A token is for one address: it is not carried to where a reply points."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _sent(request: urllib.request.Request, wait_s: float) -> tuple[int, Mapping[str, Any], float]:
    """The status of the reply, its JSON, and how long to wait before another."""
    try:
        with urllib.request.build_opener(_Staying).open(request, timeout=wait_s) as reply:
            return reply.status, _json(reply.read(REPLY_MAX)), 0.0
    except urllib.error.HTTPError as error:
        with error:
            after = error.headers.get("Retry-After", "")
            pause_s = min(int(after), PAUSE_MAX_S) if after.isdecimal() else 1
            return error.code, {} if error.code < 400 else _json(error.read(REPLY_MAX)), pause_s
    except (OSError, HTTPException) as error:
        said = foreign_text(getattr(error, "reason", None) or error or type(error).__name__)
        raise _Unreachable("endpoint_unreachable", f"no reply: {said}.", fix="Check the address, and that it serves.") from None


def _json(reply: bytes) -> Mapping[str, Any]:
    try:
        read = json.loads(reply)
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {}


def _problem(status: int, reply: Mapping[str, Any]) -> ObverseError:
    """The refusal that a problem of RFC 9457 tells, or that there was none."""
    code, detail = foreign_text(reply.get("code")), foreign_text(reply.get("detail"))
    kind = Failed if reply.get("charged") is True else Refused
    return kind(
        code if code.isidentifier() else "endpoint_refused",
        f"the service says: {detail}" if detail else f"the service replied with status {status}, and not why.",
        why=foreign_text(reply.get("why")), fix=foreign_text(reply.get("fix")), charged=kind is Failed,
    )  # fmt: skip


def one_number(rows: object) -> float | None:
    """The one number of an answer; nothing where it is NULL."""
    if isinstance(rows, list) and len(rows) == 1 and isinstance(rows[0], (list, tuple)) and len(rows[0]) == 1:
        (value,) = rows[0]
        try:
            found = None if value is None else float(value)
        except (TypeError, ValueError, OverflowError):
            found = math.nan
        if found is None or math.isfinite(found):
            return found
    raise Refused("not_a_number", "the reply is not one number.", fix="Ask for one value, such as SELECT COUNT(*) FROM t.")
