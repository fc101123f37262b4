"""The HTTP service: routes, the page, their errors, and the shield around them. Nothing is loaded from outside.

The service's OpenAPI 3.1, as it is checked in. Renew it with: python -m obverse.server.http.app > docs/openapi.json
"""

from __future__ import annotations

import functools
import json
from contextlib import suppress
from typing import Any, cast

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.responses import Response

from obverse._version import __version__
from obverse.core.errors import ObverseError
from obverse.server.errors import TooMany
from obverse.server.http.bodies import told_of
from obverse.server.http.middleware import Shield
from obverse.server.http.problems import BROKEN, MEDIA_TYPE, NO_METHOD, NO_ROUTE, Problem, problem_of
from obverse.server.http.request_context import Told, trace_of
from obverse.server.http.routes import accounts, pages, releases, rights, sessions, surveys
from obverse.server.http.routes import operations as operating
from obverse.server.http.routes import planning as desks
from obverse.server.http.routes import queries as questions
from obverse.server.http.routes import red_team as trials
from obverse.server.http.routes import transparency as public_card
from obverse.server.http.schemas import Problem as ProblemShape
from obverse.server.http.service import Service, service_for, service_of
from obverse.server.observability import Log
from obverse.server.queries import Desk

REFERENCE = "#/components/schemas/"
UNUSED = ("HTTPValidationError", "ValidationError")


def described(app: FastAPI) -> dict[str, Any]:
    """What FastAPI knows of the routes; and every error is a problem."""
    told = get_openapi(title=app.title, version=app.version, openapi_version="3.1.0", routes=app.routes)
    schemas = told["components"]["schemas"]
    for name in UNUSED:
        schemas.pop(name, None)
    problem = ProblemShape.model_json_schema(ref_template=REFERENCE + "{model}")
    schemas |= problem.pop("$defs", {}) | {"Problem": problem}
    content = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE + "Problem"}}}
    for path in told["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = {"description": "A problem.", "content": content}
    return told


def page() -> str:
    return json.dumps(create_app(Desk([])).openapi(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


PREFIX = "/v1/{project}"
PUBLIC = (surveys.public, releases.router, sessions.public, public_card.router)
GUARDED = (
    questions.router,
    desks.router,
    surveys.guarded,
    accounts.router,
    rights.router,
    sessions.guarded,
    operating.guarded,
    trials.router,
)


def create_app(desk: Desk, *, tls: bool = False, log: Log | None = None, service: Service | None = None) -> FastAPI:
    """The application over a desk; `tls`: browsers reach it over TLS, here or at a proxy."""
    app = FastAPI(title="Obverse", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.service = service or service_for(desk, secure=tls)
    bearer = [
        Depends(HTTPBearer(auto_error=False, description="A token of the ledger, or a JWT of the declared issuer."))
    ]
    for router in PUBLIC:
        app.include_router(router, prefix=PREFIX)
    for router in GUARDED:
        app.include_router(router, prefix=PREFIX, dependencies=bearer)
    app.include_router(operating.whole)
    app.include_router(pages.router)
    _handle(app)
    app.add_middleware(Shield, metrics=app.state.service.metrics, log=log or Log(), projects=desk.projects, tls=tls)
    app.openapi = functools.cache(lambda: described(app))  # type: ignore[method-assign]
    return app


def _handle(app: FastAPI) -> None:
    """Every error that a route can raise, as a problem."""

    async def refused(request: Request, error: Exception) -> Response:
        trace = trace_of(request)
        return _reply(request, problem_of(cast(ObverseError, error), trace.id, asking=trace.charging))

    async def told(request: Request, error: Exception) -> Response:
        if isinstance(error, Told):
            return _unread(request, error.problem)
        known = cast(HTTPException, error)
        problem = {404: NO_ROUTE, 405: NO_METHOD}.get(known.status_code, BROKEN)
        reply = _reply(request, problem)
        for name, value in (known.headers or {}).items():
            reply.headers[name] = value
        return reply

    async def ill_formed(request: Request, error: Exception) -> Response:
        return _unread(request, told_of(cast(RequestValidationError, error)))

    app.add_exception_handler(ObverseError, refused)
    app.add_exception_handler(HTTPException, told)
    app.add_exception_handler(RequestValidationError, ill_formed)


def _unread(request: Request, problem: Problem) -> Response:
    """A request that could not be read, and never came to the desk: it counts like any other of its account."""
    caller = trace_of(request).caller
    if caller is not None:
        with suppress(TooMany):  # the next one is
            service_of(request).desk.count(caller)
    return _reply(request, problem)


def _reply(request: Request, problem: Problem) -> Response:
    trace = trace_of(request)
    trace.code = problem.code
    return problem.response(trace.id)


if __name__ == "__main__":
    print(page(), end="")
