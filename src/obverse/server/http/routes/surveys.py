"""Surveys: the card and the specification for everybody, reports from anybody with a token, estimates for the
curator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from obverse.collect.card import card_json
from obverse.collect.cautions import cautions
from obverse.collect.collector import Submitted
from obverse.collect.project import collection_in, spec_in
from obverse.collect.spec import Spec
from obverse.collect.wire import TOKEN_BYTES
from obverse.core.errors import Refused
from obverse.server.errors import NotFound
from obverse.server.http import schemas
from obverse.server.http.auth import GuardedRoute, caller_of
from obverse.server.http.problems import json_reply
from obverse.server.http.request_context import trace_of
from obverse.server.http.routes.pages import PublicRoute
from obverse.server.http.service import service_of
from obverse.server.project import Clerk, Host

WHAT = "survey"
ISSUED: dict[int | str, dict[str, Any]] = {201: {"model": schemas.Tokens}}
public = APIRouter(route_class=PublicRoute, tags=["surveys"])
guarded = APIRouter(route_class=GuardedRoute, tags=["surveys"])


@public.get("/surveys", responses={200: {"model": schemas.Names}}, response_class=Response)
async def surveys(request: Request, project: str) -> Response:
    """The names of a project's surveys; not found where there are none."""
    names = await service_of(request).desk.looked_up(project, _names)
    if not names:
        raise NotFound(WHAT)
    return json_reply({"version": 1, "names": sorted(names)})


@public.get("/surveys/{name}", responses={200: {"model": schemas.SurveyTold}}, response_class=Response)
async def survey(request: Request, project: str, name: str) -> Response:
    """The transparency card, and the specification that devices work by."""
    spec = await _spec(request, project, name)
    warned = [one.as_json() for one in cautions(spec)]
    return json_reply(
        {"version": 1, "id": spec.id, "card": card_json(spec), "spec": spec.as_json(), "warnings": warned}
    )


@public.get("/surveys/{name}/spec", responses={200: {"content": {"application/json": {}}}}, response_class=Response)
async def document(request: Request, project: str, name: str) -> Response:
    """The specification to the byte: its id is the hash of these bytes."""
    return Response((await _spec(request, project, name)).document, media_type="application/json")


@guarded.post("/surveys/{name}/tokens", status_code=201, responses=ISSUED, response_class=Response)
async def tokens(request: Request, project: str, name: str, body: schemas.Wanting) -> Response:
    """Tokens to hand out, one report each; who gets which is written down nowhere."""
    caller = caller_of(request)
    desk = service_of(request).desk

    def issued(clerk: Clerk) -> list[str]:
        if name not in clerk.project.catalog.surveys:
            raise NotFound(WHAT)
        collection = collection_in(desk.host(project).path, name)
        try:
            return [token.hex() for token in collection.tokens(body.count)]
        finally:
            collection.close()

    return json_reply({"version": 1, "tokens": await desk.act(caller, ("curator",), "issue tokens", issued)}, 201)


@public.post(
    "/surveys/{name}/reports", status_code=202, responses={202: {"model": schemas.Received}}, response_class=Response
)
async def reports(request: Request, project: str, name: str, body: schemas.Reports) -> Response:
    """Randomized reports, each with a token that is spent on it. No address and no time is kept.

    The reply tells whose tokens were spent before or are none of this survey: such reports are not counted.
    """
    trace_of(request).silent = True
    spec = await _spec(request, project, name)
    taken = [_submitted(one, spec) for one in body.reports]
    if spec.survey.shuffler is not None:
        raise Refused("attested_only", "this survey's reports go to its shuffler.", fix="see the card.")
    reasons = Counter(reason for reason in await service_of(request).inboxes.put(project, name, taken) if reason)
    counted = len(taken) - reasons.total()
    return json_reply({"version": 1, "received": len(taken), "counted": counted, "rejected": dict(reasons)}, 202)


@guarded.get(
    "/surveys/{name}/estimate", response_class=Response, responses={200: {"content": {"application/json": {}}}}
)
async def estimate(
    request: Request, project: str, name: str, confidence: Annotated[float, Query(gt=0, lt=1)] = 0.95
) -> Response:
    """Shares with their intervals, as `obverse collect estimate --json` tells them."""
    caller = caller_of(request)
    desk = service_of(request).desk
    path = desk.host(project).path

    def estimated(clerk: Clerk) -> dict[str, Any]:
        return _estimated(path, name, confidence)

    return json_reply(await desk.act(caller, ("curator", "reviewer"), "see estimates", estimated))


async def _spec(request: Request, project: str, name: str) -> Spec:
    desk = service_of(request).desk
    if name not in (await desk.looked_up(project, _names) or ()):
        raise NotFound(WHAT)
    return (await desk.work(project, lambda host: spec_in(host.path, name)))[0]


def _names(host: Host) -> Collection[str]:
    """Of the project as it is now."""
    return host.clerk().project.catalog.surveys.keys()


def _submitted(one: schemas.Report, spec: Spec) -> Submitted:
    """A report of the right shape; what shape that is, the specification says to everybody."""
    made = Submitted(bytes.fromhex(one.report), bytes.fromhex(one.token))
    if (
        len(made.token) != TOKEN_BYTES
        or len(made.report) != spec.frame.length
        or not made.report.startswith(spec.frame.survey)
    ):
        raise Refused(
            "report_refused",
            "this is not a report of this survey.",
            why="a token or a report has another length, or it was made by another specification.",
            fix="read the specification again.",
        )
    return made


def _estimated(path: Path, name: str, level: float) -> dict[str, Any]:
    from obverse.collect.estimate import estimate
    from obverse.collect.questions import estimates

    collection = collection_in(path, name)
    try:
        spec = collection.spec
        counted = collection.tally()
    finally:
        collection.close()
    found = estimates(spec, counted, level=level) if spec.parts else estimate(spec, counted, level=level)
    return found.as_json()
