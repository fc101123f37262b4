"""Who calls: a bearer token of the ledger, a bearer JWT of the declared issuer, or the page's cookie. In this order,
once.

OpenID Connect: a bearer JWT of a known issuer stands for the account that it names. The extra `oidc` brings the
arithmetic.

Claim:   a token is taken only if a key of the declared file signed it, for this issuer and audience, and it has not
         expired.
Proof:   algorithms are pinned to signatures with public keys, so neither `none` nor a shared secret passes; keys are
         those of the file, whatever the token's header points to.
Assumes: the file is the issuer's, and the clock is about right.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request

from obverse.catalog.model import Oidc
from obverse.core.accounts import TOKEN_SIGN, Account
from obverse.core.errors import ObverseError, Refused
from obverse.server.errors import LOG, NotFound, NotSignedIn
from obverse.server.http.bodies import StrictRoute
from obverse.server.http.connections import block
from obverse.server.http.login import COOKIE, CSRF_HEADER, missing_header
from obverse.server.http.request_context import trace_of
from obverse.server.http.service import Service, service_of
from obverse.server.project import Host
from obverse.server.queries import Caller, Desk

ALGORITHMS = ("RS256", "ES256", "EdDSA")
KINDS = ("RSA", "EC", "OKP")
LEEWAY_S = 30
JWT_MAX = 8192


def named_by(token: str, oidc: Oidc, *, clock: Callable[[], float] = time.time) -> str | None:
    """The name of the account that the token stands for; None where it stands for nobody."""
    if len(token) > JWT_MAX or token.count(".") != 2:
        return None
    jwt, error_class = _joserfc()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # EdDSA has a newer name too
            claims = jwt.decode(token, keys(oidc.jwks), algorithms=list(ALGORITHMS)).claims
        jwt.JWTClaimsRegistry(
            now=int(clock()),
            leeway=LEEWAY_S,
            iss={"essential": True, "value": oidc.issuer},
            aud={"essential": True, "value": oidc.audience},
            exp={"essential": True},
        ).validate(claims)
    except (error_class, ValueError, TypeError, KeyError):
        return None
    name = claims.get(oidc.claim)
    if oidc.claim == "email" and claims.get("email_verified") is not True:
        return None
    return name if isinstance(name, str) and name else None


def keys(path: Path) -> Any:
    """The issuer's public keys; a shared secret among them is left out."""
    _, error_class = _joserfc()
    from joserfc.jwk import KeySet

    try:
        told = json.loads(path.read_text())["keys"]
        return KeySet.import_key_set({"keys": [key for key in told if key.get("kty") in KINDS]})
    except (OSError, ValueError, TypeError, KeyError, AttributeError, error_class):
        raise unreadable(path) from None


def unreadable(path: Path) -> Refused:
    return Refused(
        "oidc_keys_unreadable",
        "the issuer's keys cannot be read.",
        place=str(path),
        fix="Save the issuer's jwks_uri to the file that [serve.oidc] jwks names.",
    )


def _joserfc() -> tuple[Any, type[Exception]]:
    try:
        from joserfc import jwt
        from joserfc.errors import JoseError
    except ImportError:
        raise Refused(
            "extra_missing", "[serve.oidc] needs the package joserfc.", fix="pip install 'obverse[oidc]'"
        ) from None
    return jwt, JoseError


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
    """The caller, or one refusal for every reason; whoever fails too often has to wait. Who shows nothing guesses
    nothing:
    each browser that opens the page asks who is signed in, and many may share an address."""
    service = service_of(request)
    address = address_of(request)
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
    token = bearer(request)
    cookie = request.cookies.get(COOKIE, "")
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

    Every issuer that is declared here is asked, whichever project is named: how long it takes tells nothing of the
    project.
    """
    hosts = {other: desk.host(other) for other in desk.projects}

    def found(host: Host) -> Account | None:
        # before it is looked who is believed: an issuer that was struck from the file is nobody's
        known = host.accounts()
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
