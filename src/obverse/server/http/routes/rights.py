"""People's rights, for the curator: their rows, corrections, being left out, and the record of processing.

People are named in bodies alone, never in an address, so that no log holds them.
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from obverse.curator.rights import register as processing
from obverse.curator.rights import requests
from obverse.curator.rights.requests import acts_told
from obverse.server import project as project_module
from obverse.server.http.auth import GuardedRoute, caller_of
from obverse.server.http.problems import json_reply
from obverse.server.http.schemas import Incoming, Scalar
from obverse.server.http.service import service_of
from obverse.server.project import Clerk
from obverse.session.budget import no_private_table

T = TypeVar("T")
ZIP = "application/zip"
TEXT = "text/markdown; charset=utf-8"
Key = Annotated[str, Field(max_length=requests.PERSON_MAX)]
REASON = Field(max_length=1000, description="Why; goes on the record, so it must not name the person.")
LATER = Field(False, description="Wait for the next published version of the data.")
router = APIRouter(route_class=GuardedRoute, tags=["rights"])


class About(Incoming):
    """Whom it is about, by the value of the unit's key, and why."""

    person: int | Key = Field(description="The value of the unit's key.")
    reason: str = REASON


class Export(About):
    format: Literal["json", "csv"] = "json"


class LeftOut(About):
    later: bool = LATER


class Corrected(About):
    table: str = Field(max_length=200)
    set: dict[str, Scalar] = Field(description="The right values, by column.")
    where: dict[str, Scalar] = Field(default_factory=dict, description="Which of the person's rows; all unless told.")
    later: bool = LATER


class Lifted(Incoming):
    right: str = Field(max_length=64, description="Its id.")
    reason: str = REASON
    later: bool = LATER


class ActDone(BaseModel):
    """An act on the record; `data_version` is null where it waits."""

    version: Literal[1]
    act: str
    person: str = Field(description="A keyed hash.")
    right: str
    record: int
    data_version: str | None
    procedure: list[str]
    cannot_undo: str
    matches: dict[str, int] | None = Field(
        description="Rows of each table that the act is about now, which no record has; null for `lift`, and if "
        "unreadable."
    )


class ActTold(BaseModel):
    """`record` is null, and time, reason and by are empty, where a crash kept it off the record: it is in force."""

    record: int | None
    time: str
    act: str
    person: str
    right: str
    reason: str
    by: str
    tables: list[str]
    state: Literal["in force", "waits", "lifted", "done", "not recorded"]


class TableHeld(BaseModel):
    name: str
    public: bool
    basis: str
    purposes: list[str]
    retain_until: str
    over: bool
    columns: list[str]


class RightsTold(BaseModel):
    version: Literal[1]
    acts: list[ActTold]
    tables: list[TableHeld]
    apart: list[list[str]]
    cannot_undo: str


DONE: dict[int | str, dict[str, Any]] = {200: {"model": ActDone}}
FORMS: dict[int | str, dict[str, Any]] = {200: {"content": {"application/json": {}, ZIP: {}}}}


@router.get("/rights", responses={200: {"model": RightsTold}}, response_class=Response)
async def listed(request: Request, project: str) -> Response:
    """Every act by a keyed hash of the person, and what the law asks of each table."""

    def told(clerk: Clerk) -> dict[str, Any]:
        catalog = clerk.project.catalog
        acts = [] if clerk.opened is None else acts_told(requests.Keeper(catalog, clerk.home, clerk.opened))
        return {
            "acts": acts,
            "tables": processing.tables_of(catalog),
            "apart": [list(group) for group in catalog.apart],
        }

    found = await _act(request, told)
    return json_reply({"version": 1, **found, "cannot_undo": requests.CANNOT_UNDO})


@router.post("/rights/export", responses=FORMS, response_class=Response)
async def export(request: Request, project: str, body: Export) -> Response:
    """All rows that lead to a person; JSON, or CSV files in a zip. In the ledger before a row is read."""
    by = caller_of(request).name
    await _act(request, lambda clerk: None)
    place = service_of(request).desk.host(project).path
    packed = await to_thread(project_module.fetched, place, body.person, body.reason, by, body.format)
    if body.format == "csv":
        return Response(packed, media_type=ZIP, headers={"Content-Disposition": 'attachment; filename="rows.zip"'})
    return Response(packed, media_type="application/json")


@router.post("/rights/suppress", responses=DONE, response_class=Response)
async def suppress(request: Request, project: str, body: LeftOut) -> Response:
    """Leave a person out of every later answer."""
    return await _done(request, lambda keeper: requests.suppress(keeper, body.person, body.reason, later=body.later))


@router.post("/rights/erase", responses=DONE, response_class=Response)
async def erase(request: Request, project: str, body: LeftOut) -> Response:
    """The same, and what is to be deleted where the rows lie."""
    return await _done(request, lambda keeper: requests.erase(keeper, body.person, body.reason, later=body.later))


@router.post("/rights/correct", responses=DONE, response_class=Response)
async def correct(request: Request, project: str, body: Corrected) -> Response:
    """Read values of a person's rows as told, whatever their source says."""
    return await _done(
        request,
        lambda keeper: requests.correct(
            keeper, body.person, body.table, body.set, body.reason, where=body.where, later=body.later
        ),
    )


@router.post("/rights/lift", responses=DONE, response_class=Response)
async def lift(request: Request, project: str, body: Lifted) -> Response:
    """Let an act stand no more."""
    return await _done(request, lambda keeper: requests.lift(keeper, body.right, body.reason, later=body.later))


@router.get("/rights/record", responses={200: {"content": {"application/json": {}}}}, response_class=Response)
async def record(request: Request, project: str) -> Response:
    """The record of processing."""
    return json_reply(await _act(request, _record))


@router.get("/rights/record.md", responses={200: {"content": {"text/markdown": {}}}}, response_class=Response)
async def record_for_people(request: Request, project: str) -> Response:
    """The record of processing, in Markdown."""
    return Response(processing.markdown(await _act(request, _record)), media_type=TEXT)


def _record(clerk: Clerk) -> dict[str, Any]:
    return processing.record_of(clerk.project.catalog, clerk.ledger)


async def _done(request: Request, act: Callable[[requests.Keeper], requests.Done]) -> Response:
    by = caller_of(request).name

    def acted(clerk: Clerk) -> requests.Done:
        if clerk.opened is None:
            raise no_private_table()
        return act(requests.Keeper(clerk.project.catalog, clerk.home, clerk.opened, by))

    done = await _act(request, acted)
    place = service_of(request).desk.host(request.path_params["project"]).path
    matches = None if done.act == "lift" else await to_thread(project_module.matched, place, done.right)
    return json_reply({**done.as_json(), "matches": matches})


async def _act(request: Request, action: Callable[[Clerk], T]) -> T:
    return await service_of(request).desk.act(caller_of(request), ("curator",), "act on people's rights", action)
