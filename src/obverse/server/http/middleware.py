"""The shield around all routes: a request's id, its size and time, headers that browsers obey, and what is told of
defects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from obverse.server.http.problems import BROKEN, NO_METHOD, TOO_LARGE, TOO_SLOW, TWO_LENGTHS, failure
from obverse.server.http.request_context import SCOPE, Told, Trace
from obverse.server.observability import Log, Metrics, outcome_of

BODY_MAX = 256_000
BODY_S = 30.0  # within which a body has to come
METHODS = ("GET", "POST")
LENGTHS = {b"content-length", b"transfer-encoding"}  # a request has one of them: a proxy might believe the other
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; sandbox"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
OF_TLS = (b"strict-transport-security", b"max-age=31536000")


class Shield:
    """ASGI middleware, outside of everything that is ours."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, log: Log, projects: Collection[str], tls: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._log = log
        self._projects = projects
        self._headers = (*HEADERS, OF_TLS) if tls else HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        trace = scope[SCOPE] = Trace()
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                told = {name.lower() for name, _ in message["headers"]}  # the page has a policy of its own
                more = [header for header in self._headers if header[0] not in told]
                message["headers"] = [*message["headers"], *more, (b"x-request-id", trace.id.encode())]
            await send(message)

        try:
            await self._handled(scope, receive, sending, trace)
        except Exception as error:
            self._log.defect(trace, error)
            if not status:
                told = failure(trace.id) if trace.charging else BROKEN
                trace.code = told.code
                await told.response(trace.id)(scope, receive, sending)
        finally:
            self._noted(scope, trace, status)

    async def _handled(self, scope: Scope, receive: Receive, send: Send, trace: Trace) -> None:
        refusal = None
        if scope["method"] not in METHODS:
            refusal = NO_METHOD
        elif {name for name, _ in scope["headers"]} >= LENGTHS:
            refusal = TWO_LENGTHS
        elif _length(scope) > BODY_MAX:
            refusal = TOO_LARGE
        if refusal is None:
            await self._app(scope, _bounded(receive), send)
            return
        trace.code = refusal.code
        response = refusal.response(trace.id)
        if refusal is NO_METHOD:
            response.headers["allow"] = ", ".join(METHODS)
        elif refusal is TWO_LENGTHS:
            response.headers["connection"] = "close"  # what follows may be a body for who reads the other length
        await response(scope, receive, send)

    def _noted(self, scope: Scope, trace: Trace, status: int) -> None:
        route = getattr(scope.get("route"), "path", "")
        project = scope.get("path_params", {}).get("project", "")
        project = project if project in self._projects else ""
        self._metrics.count(project, route, outcome_of(status or 500, stored=trace.outcome == "stored"))
        self._log.request(
            trace, project, scope["method"] if scope["method"] in METHODS else "other", route, status or 500
        )


def _length(scope: Scope) -> int:
    """What the request says that it has; what it really has is counted as well."""
    told = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(told[0]) if told and told[0].isdigit() else 0


def _bounded(receive: Receive) -> Receive:
    """The same body, given up when it is too long or too slow."""
    came = 0
    ends = asyncio.get_running_loop().time() + BODY_S
    whole = False

    async def receiving() -> Message:
        nonlocal came, whole
        if whole:  # what comes now is a disconnection, which may take as long as it likes
            return await receive()
        try:
            async with asyncio.timeout_at(ends):
                message = await receive()
        except TimeoutError:
            raise Told(TOO_SLOW) from None
        if message["type"] == "http.request":
            came += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if came > BODY_MAX:
                raise Told(TOO_LARGE)
        return message

    return receiving
