"""Sessions of the page: a password gives a cookie that scripts cannot read and other sites cannot send."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response

from obverse.core.accounts import TOKEN_SIGN
from obverse.server.errors import NotSignedIn
from obverse.server.http import schemas
from obverse.server.http.auth import GuardedRoute, address_of, bearer, caller_of
from obverse.server.http.login import COOKIE, LASTS_S
from obverse.server.http.problems import DONE, json_reply
from obverse.server.http.routes.pages import PublicRoute
from obverse.server.http.service import Service, service_of
from obverse.server.queries import Caller

SAME_SITE: Literal["strict"] = "strict"
public = APIRouter(route_class=PublicRoute, tags=["sessions"])
guarded = APIRouter(route_class=GuardedRoute, tags=["sessions"])


@public.post("/login", responses={200: {"model": schemas.Signed}}, response_class=Response)
async def login(request: Request, project: str, body: schemas.Login) -> Response:
    """Sign in with a password. Whatever is wrong takes as long and says the same."""
    service = service_of(request)
    address = address_of(request)
    who = f"{project}\0{body.name}"
    service.guesses.check(address, who)
    # until it succeeds: those who guess side by side are counted before any is answered
    service.guesses.failed(address, who)
    session = await service.logins.with_password(project, body.name, body.password)
    caller = await service.logins.caller(project, session)
    service.guesses.forgiven(address, who)
    return _begun(service, caller, session)


@guarded.get("/session", responses={200: {"model": schemas.Signed}}, response_class=Response)
async def session(request: Request, project: str) -> Response:
    """Who is signed in."""
    caller = caller_of(request)
    desk = service_of(request).desk
    desk.count(caller)
    await desk.account(caller)
    return json_reply({"version": 1, "name": caller.name, "role": caller.role})


@guarded.post(
    "/session",
    responses={200: {"model": schemas.Signed}},
    response_class=Response,
    description="A session for whoever sends a token of the ledger, so that the page need not keep it. "
    "No session makes another.",
)
async def begin(request: Request, project: str) -> Response:
    service = service_of(request)
    caller = caller_of(request)
    service.desk.count(caller)
    if not bearer(request).startswith(TOKEN_SIGN):
        raise NotSignedIn()
    return _begun(service, caller, await service.logins.for_caller(caller))


@guarded.post("/logout", responses={200: {"model": schemas.Done}}, response_class=Response)
async def logout(request: Request, project: str) -> Response:
    """Take the cookie back. It stays valid for whoever copied it until it ends or the account changes."""
    service_of(request).desk.count(caller_of(request))
    reply = json_reply(DONE)
    reply.delete_cookie(
        COOKIE, path=_path(project), secure=service_of(request).secure, httponly=True, samesite=SAME_SITE
    )
    return reply


def _begun(service: Service, caller: Caller, session: str) -> Response:
    reply = json_reply({"version": 1, "name": caller.name, "role": caller.role})
    reply.set_cookie(
        COOKIE,
        session,
        max_age=LASTS_S,
        path=_path(caller.project),
        secure=service.secure,
        httponly=True,
        samesite=SAME_SITE,
    )
    return reply


def _path(project: str) -> str:
    return f"/v1/{quote(project, safe='')}"
