"""Accounts, for the curator: who there is, tokens issued, rotated and revoked, people suspended and let back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from starlette.responses import Response

from obverse.core.accounts import Account
from obverse.core.errors import Refused
from obverse.curator.accounts import Issued, hashed_password, issue_in, rotate_in
from obverse.ledger import accounts as acts
from obverse.ledger.chain import Draft
from obverse.ledger.state import Book
from obverse.server.http import schemas
from obverse.server.http.auth import GuardedRoute, caller_of
from obverse.server.http.problems import DONE, json_reply
from obverse.server.http.service import service_of
from obverse.server.project import Clerk

T = TypeVar("T")
router = APIRouter(route_class=GuardedRoute, tags=["accounts"])
CHANGED: dict[int | str, dict[str, Any]] = {200: {"model": schemas.Done}}
ISSUED: dict[int | str, dict[str, Any]] = {201: {"model": schemas.Issued}}


@router.get("/accounts", responses={200: {"model": schemas.Accounts}}, response_class=Response)
async def listed(request: Request, project: str) -> Response:
    """All accounts, with the ids of their tokens."""
    found = await _act(request, lambda clerk: clerk.ledger.accounts())
    return json_reply({"version": 1, "accounts": [_told(account) for account in found.values()]})


@router.post(
    "/accounts",
    status_code=201,
    responses=ISSUED,
    response_class=Response,
    description="A token for a new account or a known one; shown here and never again. "
    "An analyst has to be declared in obverse.toml.",
)
async def issue(request: Request, project: str, body: schemas.NewAccount) -> Response:
    by = caller_of(request).name

    def issued(clerk: Clerk) -> Issued:
        if body.role == "analyst" and body.name not in clerk.project.catalog.analysts:
            raise Refused("analyst_not_declared", "this analyst is not declared.", fix="run: obverse analyst add NAME")
        return issue_in(clerk.ledger, body.name, body.role, body.days, by)

    return _shown(await _act(request, issued))


@router.post("/accounts/{name}/rotate", status_code=201, responses=ISSUED, response_class=Response)
async def rotate(request: Request, project: str, name: str, body: schemas.Rotation) -> Response:
    """A fresh token in place of all others, which are void at once."""
    by = caller_of(request).name
    return _shown(await _act(request, lambda clerk: rotate_in(clerk.ledger, name, body.days, by)))


@router.post("/accounts/{name}/revoke", responses=CHANGED, response_class=Response)
async def revoke(request: Request, project: str, name: str, body: schemas.Revocation) -> Response:
    """One token void at once, or all of them."""
    by = caller_of(request).name
    return await _changed(request, lambda book: acts.token_revoked(book, name, body.token, by))


@router.post("/accounts/{name}/suspend", responses=CHANGED, response_class=Response)
async def suspend(request: Request, project: str, name: str, body: schemas.Reason) -> Response:
    by = caller_of(request).name
    return await _changed(request, lambda book: acts.suspended(book, name, body.reason, by))


@router.post("/accounts/{name}/resume", responses=CHANGED, response_class=Response)
async def resume(request: Request, project: str, name: str, body: schemas.Reason) -> Response:
    """Let somebody back who was suspended, or whose questions met the limit."""
    by = caller_of(request).name
    return await _changed(request, lambda book: acts.resumed(book, name, body.reason, by))


@router.post("/accounts/{name}/password", responses=CHANGED, response_class=Response)
async def password(request: Request, project: str, name: str, body: schemas.Password) -> Response:
    """A password for the page."""
    by = caller_of(request).name

    def changed(clerk: Clerk) -> None:
        hashed = hashed_password(body.password)
        clerk.ledger.change_account(lambda book: acts.password_set(book, name, hashed, by))

    await _act(request, changed)
    return json_reply(DONE)


async def _changed(request: Request, decide: Callable[[Book], Draft | None]) -> Response:
    await _act(request, lambda clerk: clerk.ledger.change_account(decide))
    return json_reply(DONE)


async def _act(request: Request, action: Callable[[Clerk], T]) -> T:
    return await service_of(request).desk.act(caller_of(request), ("curator",), "change accounts", action)


def _shown(made: Issued) -> Response:
    told = {"name": made.name, "role": made.role, "token": made.token, "id": made.id, "expires": made.expires}
    return json_reply({"version": 1, **told}, 201)


def _told(account: Account) -> dict[str, object]:
    tokens = [{"id": token.id, "expires": token.expires} for token in account.tokens.values()]
    return {
        "name": account.name, "role": account.role, "tokens": tokens, "suspended": account.suspended,
        "stopped": account.stopped, "password": account.password is not None,
    }  # fmt: skip
