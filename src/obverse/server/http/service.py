"""Service: what all routes of one HTTP server share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from starlette.requests import Request

from obverse.server.desk import Desk
from obverse.server.http.login import Guesses, Logins
from obverse.server.metrics import Metrics
from obverse.server.rate_limits import Buckets
from obverse.server.survey_inbox import Inboxes
from obverse.server.trials import Trials

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
    rehearsing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))  # in this process: on nobody's rows
    trials: Trials = field(default_factory=Trials)

    async def stop(self, patience_s: float) -> None:
        """No more questions and reports; those that came are finished."""
        await self.inboxes.stop()
        await asyncio.gather(self.desk.stop(patience_s), self.trials.stop(patience_s))  # a trial's questions are refused too


def service_for(desk: Desk, *, secure: bool) -> Service:
    return Service(desk, Logins(desk), Inboxes(desk), secure)


def service_of(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
