"""Signing in to the page: a password, then a signed cookie; and limits on those who guess.

A cookie carries the number of the record that last changed the account, so that any change of it (a token, a
suspension, a password) makes every cookie void, on all servers at once; and the token that it was given for, with which
it expires. Nothing is kept here.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from time import monotonic

from itsdangerous import BadData, URLSafeTimedSerializer

from obverse.core.accounts import Account
from obverse.core.errors import Refused
from obverse.ledger.ledger import ChainLedger
from obverse.server.errors import NotSignedIn, TooMany
from obverse.server.http.connections import block
from obverse.server.project import Host
from obverse.server.queries import Caller, Desk
from obverse.server.rate_limits import Buckets

COOKIE = "obverse"
LASTS_S = 12 * 3600
AT_ONCE = 2  # hashes take 64 MB each
# failures a minute; a quarter of it at once
OF_ADDRESS = 60
OF_NAME = 20
PASSWORD_MAX = 1024
CSRF_HEADER = "X-Obverse"
SALT = "obverse session"


class Guesses:
    """Failed attempts, by address and by name. In memory, by each server for itself."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._addresses = Buckets(OF_ADDRESS, clock=clock)
        self._names = Buckets(OF_NAME, clock=clock)

    def check(self, address: str, name: str = "") -> None:
        """Refuse whoever has failed too often of late."""
        for buckets, who in self._both(address, name):
            buckets.check(who)

    def failed(self, address: str, name: str = "") -> None:
        for buckets, who in self._both(address, name):
            try:
                buckets.take(who)
            except TooMany:
                continue

    def forgiven(self, address: str, name: str = "") -> None:
        """What was counted beforehand was no failure."""
        for buckets, who in self._both(address, name):
            buckets.give_back(who)

    def _both(self, address: str, name: str) -> list[tuple[Buckets, str]]:
        return [(self._addresses, block(address)), *([(self._names, name)] if name else [])]


class Logins:
    """Passwords checked and cookies signed, for each project with the secret of its own ledger."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._hashing = asyncio.Semaphore(AT_ONCE)

    async def with_password(self, project: str, name: str, password: str) -> str:
        """A signed session. Unknown projects, names and passwords all take one hash and one look into a ledger."""
        async with self._hashing:
            made = await self._desk.looked_up(project, lambda host: _checked(host, name, password))
        if made is None:
            raise NotSignedIn()
        await self._desk.account(Caller(project, name, made[0].role))
        return made[1]

    async def for_caller(self, caller: Caller) -> str:
        """A signed session for somebody whom a token has just named."""
        account = await self._desk.account(caller)
        return await self._desk.work(caller.project, lambda host: _signed(host, account, caller.token))

    async def caller(self, project: str, cookie: str) -> Caller:
        """Whose session it is, as long as the account is what it was."""
        found = await self._desk.looked_up(project, lambda host: _signed_by(host, cookie))
        if found is None:
            raise NotSignedIn()
        account, token = found
        return Caller(project, account.name, account.role, token)


def missing_header() -> Refused:
    return Refused(
        "header_missing",
        "a request by cookie that changes anything needs a header of its own.",
        why="so that no other page can send it in your name.",
        fix=f"send {CSRF_HEADER}: 1.",
    )


def _checked(host: Host, name: str, password: str) -> tuple[Account, str] | None:
    ledger = host.clerk().ledger
    account = host.accounts().get(name)
    hashed = "" if account is None or account.password is None else ledger.note(account.password)
    if not _verified(hashed, password) or account is None:
        return None
    return account, _signed(host, account)


def _signed(host: Host, account: Account, token: str = "") -> str:
    """For the account as it was when its password or token was looked at: a change meanwhile voids the session."""
    return str(_signer(host.clerk().ledger).dumps([host.name, account.name, account.epoch, token]))


def _signed_by(host: Host, cookie: str) -> tuple[Account, str] | None:
    """The account, and the token that the session was given for, where it was one."""
    ledger = host.clerk().ledger
    try:
        project, name, epoch, token = _signer(ledger).loads(cookie, max_age=LASTS_S)
    except (BadData, ValueError, TypeError):
        return None
    account = host.accounts().get(name)
    return (account, token) if account is not None and (project, epoch) == (host.name, account.epoch) else None


def _signer(ledger: ChainLedger) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(ledger.service_secret(), salt=SALT)


def _verified(hashed: str, password: str) -> bool:
    """Whether the password is the hashed one; without a hash, the same work and no."""
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        return PasswordHasher().verify(hashed or _dummy(), password) and bool(hashed)
    except (Argon2Error, InvalidHashError):
        return False


@functools.cache
def _dummy() -> str:
    """A hash of nothing that anybody knows, made once."""
    import secrets

    from obverse.curator.accounts import hashed_password

    return hashed_password(secrets.token_hex(32))
