"""Questions: ask, explain, what is left, what there is, and answers by their permanent address."""

from __future__ import annotations

from asyncio import to_thread  # a large answer is written beside the loop, which serves others
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Request
from starlette.responses import Response

from obverse.answers.csv import spreadsheet_text
from obverse.server.errors import NotFound
from obverse.server.http import schemas
from obverse.server.http.auth import GuardedRoute, caller_of
from obverse.server.http.problems import json_reply
from obverse.server.http.request_context import trace_of
from obverse.server.http.service import service_of
from obverse.server.queries import Wanted
from obverse.session.planning import Wish

KEY_MAX = 200
router = APIRouter(route_class=GuardedRoute, tags=["questions"])
Key = Annotated[str, Header(max_length=KEY_MAX, description="Repeated under the same key, a question is charged once.")]


@router.post("/ask", responses={200: {"model": schemas.Answer}}, response_class=Response)
async def ask(request: Request, project: str, body: schemas.Question, idempotency_key: Key = "") -> Response:
    """A private answer; charged before any row is read. `Location` is its permanent address."""
    trace = trace_of(request)
    caller = caller_of(request)
    trace.charging = True
    answer = await service_of(request).desk.ask(caller, _wanted(body, idempotency_key))
    receipt = answer.claim.receipt
    trace.outcome = "stored" if answer.price.stored else ""
    trace.price = answer.price.epsilon if receipt and not answer.price.stored else ""
    place = {"Location": f"/v1/{quote(project, safe='')}/answers/{receipt}.json"} if receipt else None
    return await to_thread(lambda: json_reply(answer.as_json(), headers=place))


@router.post("/explain", responses={200: {"model": schemas.Explained}}, response_class=Response)
async def explain(request: Request, project: str, body: schemas.Question) -> Response:
    """Sensitivity, noise, error and price of a question; free, and no row is read."""
    explained = await service_of(request).desk.explain(caller_of(request), _wanted(body, ""))
    return json_reply(explained.as_json())


@router.get("/budget", responses={200: {"model": schemas.Budget}}, response_class=Response)
async def budget(request: Request, project: str) -> Response:
    """Caps and what is left of them; an analyst sees everybody's and their own."""
    caller = caller_of(request)
    view = (await service_of(request).desk.budget(caller)).as_json()
    if caller.role == "analyst":
        view["lines"] = [line for line in view["lines"] if line["kind"] != "analyst" or line["name"] == caller.name]
    return json_reply({"version": 1, **view})


@router.get("/tables", responses={200: {"model": schemas.Tables}}, response_class=Response)
async def tables(request: Request, project: str) -> Response:
    """Tables and columns as declared."""
    found = await service_of(request).desk.tables(caller_of(request))
    return json_reply({"version": 1, "tables": [table.as_json() for table in found]})


@router.get(
    "/answers/{answer}",
    responses={200: {"model": schemas.Answer, "content": {"text/csv": {}}}},
    response_class=Response,
)
async def answers(
    request: Request, project: str, answer: Annotated[str, Path(description="The receipt, then .json or .csv.")]
) -> Response:
    """An answer that was given: the same bytes for ever, and free. One's own; any for curator and reviewer."""
    desk = service_of(request).desk
    caller = caller_of(request)
    receipt, dot, kind = answer.rpartition(".")
    if not dot or kind not in ("json", "csv"):
        desk.count(caller)
        raise NotFound("answer")
    found = await desk.stored(caller, receipt)
    if kind == "csv":
        text = await to_thread(spreadsheet_text, found)
        return Response(text, media_type="text/csv; charset=utf-8")
    return await to_thread(lambda: json_reply({**found.as_json(), "remaining": None}))


def _wanted(body: schemas.Question, key: str) -> Wanted:
    wish = Wish(
        epsilon=body.epsilon,
        delta=body.delta,
        within=body.within,
        confidence=body.confidence,
        above=body.above,
        first=body.first,
    )
    return Wanted(body.sql, wish, body.purpose, key, body.parameters)
