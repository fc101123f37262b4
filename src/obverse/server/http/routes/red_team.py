"""Trials for reviewers: attacks on this service over made-up neighbours; nothing of a real budget is spent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from obverse.server.errors import NotFound
from obverse.server.http.auth import GuardedRoute, caller_of
from obverse.server.http.problems import json_reply
from obverse.server.http.schemas import SQL_MAX, Double, Incoming
from obverse.server.http.service import service_of
from obverse.server.red_team import Wanted

Attack = Literal["differencing", "averaging", "reconstruction", "timing", "bypass", "lower_bound"]
SAMPLES = 200
SAMPLES_MAX = 5000
router = APIRouter(route_class=GuardedRoute, tags=["trials"])


class NewTrial(Incoming):
    """Attacks on made-up neighbours; `sql` is a question of the project whose noise is tried as well."""

    attacks: Annotated[list[Attack], Field(max_length=6)] = []
    epsilon: Double = Field(1.0, gt=0, le=100, description="The price of each of the attacker's questions.")
    samples: int = Field(SAMPLES, ge=20, le=SAMPLES_MAX, description="Answers of each neighbour, for the lower bound.")
    sql: str = Field("", max_length=SQL_MAX)


class TrialTold(BaseModel):
    version: Literal[1]
    trial: str
    attacks: list[str]
    epsilon: float
    samples: int
    sql: str
    now: str
    progress: float
    done: bool
    found: list[dict[str, Any]]
    problem: dict[str, Any] | None


@router.post("/trials", status_code=202, responses={202: {"model": TrialTold}}, response_class=Response)
async def start(request: Request, project: str, body: NewTrial) -> Response:
    """Start a trial; it goes on by itself. One at a time of a project."""
    service = service_of(request)
    caller = caller_of(request)
    await service.desk.act(caller, ("curator", "reviewer"), "try attacks", lambda clerk: None)
    wanted = Wanted(tuple(dict.fromkeys(body.attacks)), body.epsilon, body.samples, body.sql.strip())
    return json_reply(service.trials.start(request.app, service.desk, project, wanted).as_json(), 202)


@router.get("/trials", responses={200: {"model": TrialTold}}, response_class=Response)
async def latest(request: Request, project: str) -> Response:
    """The latest trial of this server, as far as it has come."""
    service = service_of(request)
    caller = caller_of(request)
    await service.desk.act(caller, ("curator", "reviewer"), "see trials", lambda clerk: None)
    found = service.trials.latest(project)
    if found is None:
        raise NotFound("trial")
    return json_reply(found.as_json())
