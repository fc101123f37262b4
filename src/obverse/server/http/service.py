"""Service: what all routes of one HTTP server share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from starlette.requests import Request

from obverse.server.http.login import Guesses, Logins
from obverse.server.observability import Metrics
from obverse.server.queries import Desk
from obverse.server.rate_limits import Buckets
from obverse.server.red_team import Trials
from obverse.server.survey_inbox import Inboxes

STRANGERS = 1200  # requests a minute of one address, to what is public


@dataclass(frozen=True, slots=True)
class Service:
    """A desk and what HTTP needs beside it; `secure`: cookies go over TLS alone."""

    desk: Desk
    logins: Logins
    inboxes: Inboxes
    secure: bool
    metrics: Metrics = field(default_factory=Metrics)
    guesses: Guesses = field(default_factory=Guesses)
    strangers: Buckets = field(default_factory=lambda: Buckets(STRANGERS))
    # in this process: on nobody's rows
    rehearsing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    trials: Trials = field(default_factory=Trials)

    async def stop(self, patience_s: float) -> None:
        """No more questions and reports; those that came are finished."""
        await self.inboxes.stop()
        # a trial's questions are refused too
        await asyncio.gather(self.desk.stop(patience_s), self.trials.stop(patience_s))


def service_for(desk: Desk, *, secure: bool) -> Service:
    return Service(desk, Logins(desk), Inboxes(desk), secure)


def service_of(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
