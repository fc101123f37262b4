"""The dialogue with a client that signed in: simple and extended queries, errors that skip to Sync, blocks and their
status.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from obverse.core.errors import InvariantBroken, ObverseError, Refused
from obverse.server.errors import NotSignedIn, Stopping, Suspended
from obverse.server.postgres import messages
from obverse.server.postgres import messages as r
from obverse.server.postgres.errors import defect, error_fields, unforeseen
from obverse.server.postgres.messages import Field, Frames, Gone, Lost
from obverse.server.postgres.parameters import bound
from obverse.server.postgres.portals import Portal, Rows, Told
from obverse.server.postgres.runner import Runner
from obverse.server.postgres.statements import Kind
from obverse.server.postgres.types import encoded

T = TypeVar("T")
log = logging.getLogger("obverse.pgwire")
ENDING = (NotSignedIn, Suspended, Stopping, Lost)  # after which the connection is closed


class Dialogue:
    """One connection from its first ReadyForQuery to its end."""

    def __init__(self, frames: Frames, runner: Runner) -> None:
        self._frames = frames
        self._runner = runner
        self._block = runner.block
        self._held = runner.held
        # an answer was given: what fails now was not free
        self._skipping = False
        self._sent = ""
        self._given = False
        self._running: asyncio.Future[object] | None = None
        self._cancelled = False
        # nothing is asked; and nothing more will be
        self._between = True
        self._ending = False
        self._holding: asyncio.Task[None] | None = None

    def end(self) -> asyncio.Task[None] | None:
        """Take nothing more. What still has to be waited for, where something that was asked is not answered yet."""
        self._ending = True
        return None if self._between else self._holding

    def cancel(self) -> None:
        """Stop waiting for what runs; asked for by another connection that knows the secret."""
        if self._running is not None and not self._running.done():
            self._cancelled = True
            self._running.cancel()

    async def hold(self) -> None:
        """Until the client goes, or has to."""
        frames = self._frames
        self._holding = asyncio.current_task()
        frames.put(messages.ready(self._block.status))
        await frames.flush()
        while not (self._ending and self._between):
            kind = b""
            self._sent = ""
            self._given = False
            try:
                kind, raw = await frames.message()
                self._between = False
                if kind == r.ENDS:
                    return
                if kind == b"S":
                    await self._sync()
                    continue
                if self._skipping:
                    continue
                await self._answer(r.read(kind, raw))
                await frames.room()
            except ObverseError as error:
                if await self._failed(error, kind):
                    return
            except (Gone, asyncio.CancelledError):
                raise
            except Exception as error:
                log.error("a statement met a defect: %s", defect(error))
                await self._failed(unforeseen(), kind)

    async def _failed(self, error: ObverseError, kind: bytes) -> bool:
        """Tell an error. Whether the connection ends with it."""
        if isinstance(error, InvariantBroken):
            log.error("a statement met a defect: %s", defect(error))
            error = unforeseen()
        fatal = isinstance(error, ENDING)
        self._frames.put(messages.error(error_fields(error, self._sent, fatal=fatal, free=not self._given)))
        self._block.fail()
        if kind == b"Q":
            await self._ready()
        else:
            self._skipping = True
            await self._frames.flush()
        return fatal

    async def _ready(self) -> None:
        """Everything was answered."""
        self._block.rest()
        self._frames.put(messages.ready(self._block.status))
        await self._frames.flush()
        self._between = True

    async def _sync(self) -> None:
        self._skipping = False
        if self._block.status == "I":
            self._held.portals.clear()
        await self._ready()

    async def _answer(self, request: r.Request) -> None:
        match request:
            case r.Query(text):
                await self._query(text)
            case r.Parse():
                await self._parse(request)
            case r.Bind():
                prepared = self._held.prepared(request.statement)
                portal = Portal(prepared, bound(request, prepared.types), request.shown)
                if prepared.statement is not None:
                    self._block.check(prepared.statement)
                self._held.bind(request.portal, portal)
                self._frames.put(messages.BIND_COMPLETE)
            case r.Describe(kind, name):
                await self._describe(kind, name)
            case r.Execute(name, rows_max):
                await self._execute(self._held.portal(name), rows_max)
            case r.Close(kind, name):
                self._held.forget(kind, name)
                self._frames.put(messages.CLOSE_COMPLETE)
            case r.Plain(kind):
                await self._plain(kind)

    async def _plain(self, kind: bytes) -> None:
        if kind == b"H":
            await self._frames.flush()
        elif kind == b"F":
            raise Refused("unsupported_construct", "functions are not called by message.", fix="write a SELECT.")
        elif kind == b"p":
            raise r.violation("nobody asked for a password.")

    async def _query(self, text: str) -> None:
        self._sent = text
        statements = await self._runner.read(text)
        if not statements:
            self._frames.put(messages.EMPTY_QUERY)
        for statement in statements:
            found = await self._stoppable(self._runner.run(statement))
            # and a setting after it changes nothing of that
            self._given = self._given or statement.kind is Kind.QUESTION
            if found.fields is not None:
                codes = (0,) * len(found.fields)
                self._frames.put(messages.row_description(found.fields, codes))
                await self._send(found.fields, codes, found.rows)
            self._finished(found)
        if self._block.status == "I":
            self._held.portals.clear()
        await self._ready()

    async def _parse(self, request: r.Parse) -> None:
        self._sent = request.text
        statements = await self._runner.read(request.text)
        if len(statements) > 1:
            raise Refused("parse_error", "a prepared statement is one statement.", fix="send them one by one.")
        statement = statements[0] if statements else None
        if statement is not None:
            self._block.check(statement)
        self._held.prepare(request.name, await self._stoppable(self._runner.prepare(statement, request.types)))
        self._frames.put(messages.PARSE_COMPLETE)

    async def _describe(self, kind: str, name: str) -> None:
        portal = None if kind == "S" else self._held.portal(name)
        prepared = self._held.prepared(name) if portal is None else portal.prepared
        if prepared.statement is not None:
            self._sent = prepared.statement.text
            self._block.check(prepared.statement)
        values = None if portal is None else portal.values
        fields = await self._stoppable(self._runner.describe(prepared, values))
        if portal is None:
            self._frames.put(messages.parameters(prepared.types))
        if fields is None:
            self._frames.put(messages.NO_DATA)
            return
        codes = (0,) * len(fields) if portal is None else portal.codes(len(fields))
        told = Told(fields, self._block.settings.intervals)
        if portal is None:
            self._held.tell(name, told)
        else:
            portal.described = told
        self._frames.put(messages.row_description(fields, codes))

    async def _execute(self, portal: Portal, most: int) -> None:
        """Run a portal once; every further call reads on in what was drawn."""
        statement = portal.prepared.statement
        if statement is None:
            self._frames.put(messages.EMPTY_QUERY)
            return
        self._sent = statement.text
        first = portal.found is None
        if portal.found is None:
            await self._fits(portal)
            portal.found = await self._stoppable(self._runner.run(statement, portal.values))
        found = portal.found
        self._given = statement.kind is Kind.QUESTION
        if found.fields is None:
            self._finished(found)
            return
        portal.fits(found.fields)
        begun = portal.at
        await self._send(found.fields, portal.codes(len(found.fields)), portal.next(most))
        count = portal.at - begun
        ended = portal.ended
        portal.let_go()
        if not ended or (most and count == most):
            self._held.hold()
            if first:
                self._frames.put(*found.notices)
            self._frames.put(messages.SUSPENDED)
            return
        tag = found.tag if statement.kind not in (Kind.QUESTION, Kind.CATALOGUE) else f"SELECT {count}"
        self._finished(Rows(found.fields, (), tag, found.notices if first else ()))

    async def _fits(self, portal: Portal) -> None:
        """What the client could not read is refused before it is charged."""
        statement = portal.prepared.statement
        told = portal.told
        if statement is None or statement.kind is not Kind.QUESTION:
            return
        if told is not None and told.intervals == self._block.settings.intervals:
            portal.fits(told.fields)
        elif told is not None or len(portal.formats) > 1:
            fields = await self._stoppable(self._runner.describe(portal.prepared, portal.values))
            portal.fits(fields or ())

    async def _send(self, fields: Sequence[Field], codes: Sequence[int], rows: object) -> None:
        for row in rows:  # type: ignore[attr-defined]
            cells = [encoded(value, field.oid, code) for value, field, code in zip(row, fields, codes)]
            self._frames.put(messages.data_row(cells))
            await self._frames.room()

    def _finished(self, found: Rows) -> None:
        self._frames.put(*found.notices, messages.complete(found.tag))

    async def _stoppable(self, work: Awaitable[T]) -> T:
        """Wait for work that a cancel request may end."""
        running = asyncio.ensure_future(work)
        self._running = running  # type: ignore[assignment]
        self._cancelled = False
        try:
            return await running
        except asyncio.CancelledError:
            if not self._cancelled:
                running.cancel()
                raise
            raise cancelled() from None
        finally:
            self._running = None


def cancelled() -> Refused:
    """One text, whenever it comes: whether a question was charged by then is not told apart."""
    return Refused(
        "cancelled",
        "canceling statement due to user request.",
        why="if the question was charged by then, it stays charged.",
        fix="the same question again is free once it was charged and answered.",
    )
