"""Reports of surveys on their way in: those that come together are written together, shuffled, before any is
acknowledged.

Each sender learns which of their own reports counted, and nothing of those that others sent. Nothing of who sent them,
or when, is kept: no address, no time, no order. A crash loses reports that were not acknowledged, and their tokens can
be used again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from obverse.collect.collector import Submitted
from obverse.collect.project import collection_in
from obverse.server.errors import Stopping, TooMany
from obverse.server.project import Host
from obverse.server.queries import Desk

WAIT_S = 1.0  # at most one file a second, however many send
WAITING_MAX = 5_000
Reasons = Sequence[str | None]  # for each report why it was not counted; None where it was


@dataclass(slots=True)
class Inbox:
    """Reports of one survey that are not written yet."""

    waiting: list[Submitted] = field(default_factory=list)
    written: asyncio.Task[Reasons] | None = None


class Inboxes:
    """One for each survey; used in one event loop."""

    def __init__(self, desk: Desk, wait_s: float = WAIT_S) -> None:
        self._desk = desk
        self._wait_s = wait_s
        self._boxes: dict[tuple[str, str], Inbox] = {}
        self._writing: dict[tuple[str, str], asyncio.Lock] = {}
        self._unwritten: Counter[tuple[str, str]] = Counter()  # those on their way to the disk too
        self._stopping = asyncio.Event()

    async def put(self, project: str, survey: str, reports: list[Submitted]) -> Reasons:
        """Returns when they are written down: for each why it was not counted, if it was not."""
        if self._stopping.is_set():
            raise Stopping()
        box = self._boxes.setdefault((project, survey), Inbox())
        if self._unwritten[project, survey] + len(reports) > WAITING_MAX:
            raise TooMany(self._wait_s)
        self._unwritten[project, survey] += len(reports)
        start = len(box.waiting)
        box.waiting += reports
        if box.written is None:
            box.written = asyncio.create_task(self._write(project, survey, box))
        return (await asyncio.shield(box.written))[start : start + len(reports)]

    async def stop(self) -> None:
        """Write what waits, now."""
        self._stopping.set()
        tasks = [box.written for box in self._boxes.values() if box.written is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _write(self, project: str, survey: str, box: Inbox) -> Reasons:
        try:
            async with asyncio.timeout(self._wait_s):
                await self._stopping.wait()
        except TimeoutError:
            pass
        del self._boxes[project, survey]  # who comes now waits in another
        try:
            async with self._writing.setdefault((project, survey), asyncio.Lock()):
                return await self._desk.work(project, lambda host: _added(host, survey, box.waiting))
        finally:
            self._unwritten[project, survey] -= len(box.waiting)


def _added(host: Host, survey: str, reports: list[Submitted]) -> Reasons:
    """Opened anew each time, so that retention is kept however long a server runs."""
    collection = collection_in(host.path, survey)
    try:
        return collection.add_each(reports)
    finally:
        collection.close()
