"""For operators and reviewers: health, counts, and the ledger's chain."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from obverse.core.ledger import Head
from obverse.ledger.ledger import StoredLedger
from obverse.ledger.transfer import verify_export
from obverse.server.errors import NotAllowed, NotSignedIn
from obverse.server.http import schemas
from obverse.server.http.auth import GuardedRoute, address_of, bearer, caller_of, known_in
from obverse.server.http.bodies import StrictRoute
from obverse.server.http.connections import block
from obverse.server.http.problems import json_reply
from obverse.server.http.request_context import trace_of
from obverse.server.http.service import service_of
from obverse.server.observability import MEDIA_TYPE
from obverse.server.project import Clerk

LINES = "application/x-ndjson"
whole = APIRouter(route_class=StrictRoute, tags=["operating"])
guarded = APIRouter(route_class=GuardedRoute, tags=["operating"])


@whole.get("/health", responses={200: {"model": schemas.Health}}, response_class=Response)
async def health(request: Request) -> Response:
    """That the server runs; always the same."""
    trace_of(request).silent = True
    return json_reply({"status": "ok"})


@whole.get("/metrics", responses={200: {"content": {"text/plain": {}}}}, response_class=Response)
async def metrics(request: Request) -> Response:
    """Counts for Prometheus, of the projects whose curator the token is."""
    service = service_of(request)
    address = address_of(request)
    if not bearer(request):
        service.strangers.take(block(address))
        raise NotSignedIn()
    service.guesses.check(address)
    found = [await known_in(service.desk, project, bearer(request)) for project in service.desk.projects]
    callers = [caller for caller in found if caller is not None]
    if not callers:
        service.guesses.failed(address)
        raise NotSignedIn()
    curators = [caller for caller in callers if caller.role == "curator"]
    if not curators:
        service.desk.count(callers[0])
        raise NotAllowed(callers[0].role, "see counts")
    for caller in curators:
        await service.desk.act(caller, ("curator",), "see counts", lambda clerk: None)
    return Response(service.metrics.text([caller.project for caller in curators]), media_type=MEDIA_TYPE)


@guarded.get(
    "/ledger",
    responses={200: {"content": {LINES: {}}}},
    response_class=Response,
    description="Every record of the chain as a line of JSON, for `obverse ledger verify` and others; "
    "without the questions' text.",
)
async def ledger(request: Request, project: str) -> Response:
    lines = await service_of(request).desk.ledger_lines(caller_of(request))
    return StreamingResponse(lines, media_type=LINES)


@guarded.get("/ledger/verified", responses={200: {"model": schemas.Verified}}, response_class=Response)
async def verified(request: Request, project: str) -> Response:
    """Every record checked against the chain, here and now; damage is a problem that says where."""
    caller = caller_of(request)
    desk = service_of(request).desk

    def checked(clerk: Clerk) -> Head:
        ledger = clerk.ledger
        return ledger.verify() if isinstance(ledger, StoredLedger) else verify_export(clerk.exported())

    head = await desk.act(caller, ("curator", "reviewer"), "verify the ledger", checked)
    return json_reply({"version": 1, "records": head.count, "head": head.hash})
