"""What the page's desks need beside questions: rehearsals, prices compared, what was asked before, limits that were
learned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from fastapi import APIRouter, Request
from starlette.responses import Response

from obverse.answers.answer import Answer, Remaining
from obverse.core.ledger import Entry
from obverse.core.numbers import plain
from obverse.curator.local_model import explored
from obverse.ledger.chain import fraction_of
from obverse.server.errors import only_for_the_operator
from obverse.server.http import schemas
from obverse.server.http.auth import GuardedRoute, caller_of
from obverse.server.http.problems import json_reply
from obverse.server.http.service import service_of
from obverse.server.project import Clerk, Host
from obverse.server.queries import Caller
from obverse.session.learned_limits import load_learned
from obverse.session.rehearsal import rehearse as rehearsed

T = TypeVar("T")
SHOWN = 200
SMALL = {"memory_limit": "256MB", "threads": "1", "limit_s": "5"}  # a rehearsal runs in the server's own process
router = APIRouter(route_class=GuardedRoute, tags=["desks"])


@router.post("/rehearse", responses={200: {"model": schemas.Rehearsed}}, response_class=Response)
async def rehearse(request: Request, project: str, body: schemas.Rehearsal) -> Response:
    """The answer's shape, noise and refusals on rows made up from obverse.toml; free, and no private row is read."""
    caller = caller_of(request)
    desk = service_of(request).desk
    path = desk.host(project).path

    def run(host: Host) -> Answer:
        with only_for_the_operator():
            return rehearsed(
                path,
                body.sql,
                epsilon=body.epsilon,
                delta=body.delta,
                within=body.within,
                confidence=body.confidence,
                analyst=caller.name if caller.role == "analyst" else "",
                purpose=body.purpose,
                rows=body.rows,
                seed=body.seed,
                bounds=SMALL,
            )

    await _act(request, ("analyst", "curator"), "rehearse", lambda clerk: None)  # counted before it waits for its turn
    async with service_of(request).rehearsing:
        answer = await desk.work(project, run)
    return json_reply(replace(answer, remaining=Remaining(1.0, None, None)).as_json())


@router.post("/explore", responses={200: {"model": schemas.Explored}}, response_class=Response)
async def explore(request: Request, project: str, body: schemas.Exploration) -> Response:
    """The error of a question at many prices, and that of one count in the local model; free, and no row is read."""
    desk = service_of(request).desk
    names, points = await desk.seen(
        caller_of(request), "explain", body.purpose,
        lambda session: explored(session, body.sql, body.epsilons, body.people, body.options, body.confidence),
    )  # fmt: skip
    return json_reply({"version": 1, "measures": names, "points": [point.as_json() for point in points]})


@router.get("/questions", responses={200: {"model": schemas.History}}, response_class=Response)
async def questions(request: Request, project: str) -> Response:
    """What was charged, the latest first: an analyst sees their own, the curator everybody's."""
    caller = caller_of(request)
    found = await _act(request, ("analyst", "curator"), "see questions", lambda clerk: _history(clerk, caller))
    return json_reply(found)


@router.get("/limits", responses={200: {"model": schemas.LearnedLimits}}, response_class=Response)
async def limits(request: Request, project: str) -> Response:
    """Limits that were learned and paid for, as noisy histograms."""
    found = await _act(
        request, ("curator", "reviewer"), "see limits", lambda clerk: load_learned(clerk.project.catalog)
    )
    return json_reply({"version": 1, "tables": [learned.as_json() for learned in found.values()]})


async def _act(request: Request, roles: tuple[str, ...], what: str, action: Callable[[Clerk], T]) -> T:
    return await service_of(request).desk.act(caller_of(request), roles, what, action)  # type: ignore[arg-type]


def _history(clerk: Clerk, caller: Caller) -> dict[str, object]:
    ledger = clerk.ledger
    own = caller.name if caller.role == "analyst" else None
    charges = [entry for entry in ledger.entries() if entry.kind == "charge" and own in (None, entry.fields["analyst"])]
    quantity = "epsilon" if ledger.terms().accounting == "pure" else "rho"

    def told(entry: Entry) -> dict[str, object]:
        held = entry.fields
        return {
            "receipt": held["id"], "time": held["time"], "analyst": held["analyst"], "purpose": held["purpose"],
            "sql": ledger.note(entry.number), "amount": plain(fraction_of(held["amount"])),
            "delta": plain(fraction_of(held["delta"])), "answer": ledger.answered(held["id"]) is not None,
        }  # fmt: skip

    with ledger.at_once():
        shown = [told(entry) for entry in charges[: -SHOWN - 1 : -1]]
    return {"version": 1, "quantity": quantity, "questions": shown}
