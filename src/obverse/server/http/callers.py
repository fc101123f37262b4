"""Who calls: a bearer token of the ledger, a bearer JWT of the declared issuer, or the page's cookie. In this order, once."""

from __future__ import annotations

from starlette.requests import Request

from obverse.catalog.model import Oidc
from obverse.core.accounts import TOKEN_SIGN, Account
from obverse.core.errors import ObverseError, Refused
from obverse.server.desk import Caller, Desk
from obverse.server.errors import LOG, NotFound, NotSignedIn
from obverse.server.host import Host
from obverse.server.http.addresses import block
from obverse.server.http.bodies import StrictRoute
from obverse.server.http.login import COOKIE, CSRF_HEADER, missing_header
from obverse.server.http.oidc import named_by
from obverse.server.http.service import Service, service_of
from obverse.server.http.trace import trace_of

TOKEN_MAX = 200


class GuardedRoute(StrictRoute):
    """A route for accounts: who calls, and that they have not called too often, is known before the body is read."""

    async def before(self, request: Request) -> None:
        trace_of(request).caller = caller = await signed_in(request, request.path_params["project"])
        service_of(request).desk.check(caller)


def caller_of(request: Request) -> Caller:
    caller = trace_of(request).caller
    assert caller is not None, "the route is guarded"
    return caller


def bearer(request: Request) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


async def signed_in(request: Request, project: str) -> Caller:
    """The caller, or one refusal for every reason; whoever fails too often has to wait. Who shows nothing guesses nothing:
    each browser that opens the page asks who is signed in, and many may share an address."""
    service, address = service_of(request), address_of(request)
    if not bearer(request) and not request.cookies.get(COOKIE):
        service.strangers.take(block(address))
        raise NotSignedIn()
    service.guesses.check(address)
    try:
        return await _found(request, service, project)
    except NotSignedIn:
        service.guesses.failed(address)
        raise


def address_of(request: Request) -> str:
    """The other end; what a proxy says of it counts only where the server was told of that proxy."""
    return "" if request.client is None else request.client.host


async def _found(request: Request, service: Service, project: str) -> Caller:
    token, cookie = bearer(request), request.cookies.get(COOKIE, "")
    if token.startswith(TOKEN_SIGN) and len(token) <= TOKEN_MAX:
        return await _by_token(service.desk, project, token)
    if token:
        return await _by_issuer(service.desk, project, token)
    caller = await service.logins.caller(project, cookie)
    if request.method != "GET" and request.headers.get(CSRF_HEADER) != "1":
        service.desk.count(caller)
        raise missing_header()
    return caller


async def _by_token(desk: Desk, project: str, token: str) -> Caller:
    """Who has a token of another project sees the same of this one as of none at all."""
    try:
        return await desk.sign_in(project, token)
    except NotSignedIn:
        known = [await known_in(desk, other, token) for other in desk.projects]  # each of them, whichever was named
        caller = next(filter(None, known), None)
        if caller is None:
            raise
        desk.count(caller)
        raise NotFound("project") from None


async def known_in(desk: Desk, project: str, token: str) -> Caller | None:
    """Nobody where that project cannot be opened: it is not the one that was asked for."""
    try:
        return await desk.sign_in(project, token)
    except ObverseError:
        return None


async def _by_issuer(desk: Desk, project: str, token: str) -> Caller:
    """The account of the name that a known issuer gives; it has to be in the ledger.

    Every issuer that is declared here is asked, whichever project is named: how long it takes tells nothing of the project.
    """
    hosts = {other: desk.host(other) for other in desk.projects}

    def found(host: Host) -> Account | None:
        known = host.accounts()  # before it is looked who is believed: an issuer that was struck from the file is nobody's
        declared = {name: one.catalog.serve.oidc for name, one in hosts.items()}
        issuers = dict.fromkeys(oidc for oidc in declared.values() if oidc is not None)
        names: dict[Oidc | None, str | None] = {oidc: _named(token, oidc) for oidc in issuers}
        name = names.get(declared.get(project))
        return None if name is None else known.get(name)

    account = await desk.looked_up(project, found)
    if account is None:
        raise NotSignedIn()
    return Caller(project, account.name, account.role)


def _named(token: str, oidc: Oidc) -> str | None:
    """Nobody where the issuer's keys cannot be read: that is the operator's to mend."""
    try:
        return named_by(token, oidc)
    except Refused as error:
        LOG.error("issuer: %s %s", error.code, error.place)
        return None
