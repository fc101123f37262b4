"""Routes that need no account: counted by address, in memory, so that nobody takes all of the server."""

from __future__ import annotations

from starlette.requests import Request

from obverse.server.http.addresses import block
from obverse.server.http.bodies import StrictRoute
from obverse.server.http.callers import address_of
from obverse.server.http.service import service_of


class PublicRoute(StrictRoute):
    """A route for everybody."""

    async def before(self, request: Request) -> None:
        service_of(request).strangers.take(block(address_of(request)))
