"""The wire server: connections accepted, signed in and held; cancel requests; one shadow catalogue for each project.

Who may connect: so many at once, in all, of one account and of one address before it is known; and failed logins.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import ssl
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from obverse.core.errors import ObverseError, Refused
from obverse.server.errors import NotSignedIn, TooMany
from obverse.server.http.connections import block
from obverse.server.observability import Notes
from obverse.server.pg_catalog.catalog import Shadow
from obverse.server.postgres import messages
from obverse.server.postgres import runner as runner_module
from obverse.server.postgres.dialogue import Dialogue
from obverse.server.postgres.errors import defect, error_fields, unforeseen
from obverse.server.postgres.messages import BUFFER, Frames, Gone, Incoming
from obverse.server.postgres.portals import Block, Holdings
from obverse.server.postgres.runner import Runner
from obverse.server.postgres.settings import REPORTED, fresh
from obverse.server.postgres.startup import Cancel, Start, fatal, signed_in, started
from obverse.server.queries import Caller, Desk
from obverse.server.rate_limits import Buckets


@dataclass(frozen=True, slots=True)
class Caps:
    """How many connections there may be at once, and how many logins may fail a minute."""

    in_all: int = 200
    of_account: int = 40
    strangers: int = 100  # in all, who have not signed in yet
    strangers_of_address: int = 20
    texts_per_minute: int = 6_000  # of one account, that are read at all; questions are counted by the desk as well
    failures_per_minute: int = 40  # of one address; a quarter of them at once


@dataclass(slots=True)
class Guard:
    """Counts what is there now."""

    caps: Caps = Caps()
    _open: int = 0
    _strangers: Counter[str] = field(default_factory=Counter)
    _accounts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _failures: Buckets | None = None

    @contextmanager
    def connection(self) -> Iterator[None]:
        """One more connection, of whomever."""
        self._check(self._open < self.caps.in_all)
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    @contextmanager
    def stranger(self, address: str) -> Iterator[None]:
        """Somebody who has not signed in yet."""
        key = block(address)
        self._check(self._strangers.total() < self.caps.strangers)
        self._check(self._strangers[key] < self.caps.strangers_of_address)
        self._strangers[key] += 1
        try:
            yield
        finally:
            self._strangers[key] -= 1
            if not self._strangers[key]:
                del self._strangers[key]

    @contextmanager
    def account(self, project: str, name: str) -> Iterator[None]:
        """One more connection of an account."""
        self._check(self._accounts[project, name] < self.caps.of_account)
        self._accounts[project, name] += 1
        try:
            yield
        finally:
            self._accounts[project, name] -= 1
            if not self._accounts[project, name]:
                del self._accounts[project, name]

    def admit(self, address: str) -> None:
        """Whether an address may try to sign in: not while too many of its tries failed."""
        self._buckets.check(block(address))

    def failed(self, address: str) -> None:
        with suppress(TooMany):
            self._buckets.take(block(address))

    @property
    def _buckets(self) -> Buckets:
        if self._failures is None:
            self._failures = Buckets(self.caps.failures_per_minute)
        return self._failures

    def _check(self, holds: bool) -> None:
        if not holds:
            raise Refused("too_many_connections", "too many connections.", fix="close some, or try again in a moment.")


LOGIN_S = 10.0  # from the first byte to a known account
LAST_S = 10.0  # for who reads an answer when the server stops
CAPS = Caps()
THREADS = 2  # in which texts are read
log = logging.getLogger("obverse.pgwire")


@dataclass(frozen=True, slots=True)
class Known:
    """A project's shadow, and the catalog that it was made from."""

    catalog: object
    shadow: Shadow


class Wire:
    """All connections of one server."""

    def __init__(
        self, desk: Desk, context: ssl.SSLContext | None, notes: Notes, *, caps: Caps = CAPS, tls_required: bool = False
    ) -> None:
        self._desk = desk
        self._context = context
        self._notes = notes
        self._tls_required = tls_required
        self._guard = Guard(caps)
        self._texts = Buckets(caps.texts_per_minute)
        self._dialogues: dict[int, tuple[int, Dialogue]] = {}
        self._shadows: dict[str, Known] = {}
        self._renewing = asyncio.Lock()
        self._held: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="reading")

    def accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert isinstance(reader, Incoming)
        task = asyncio.get_running_loop().create_task(self._serve(Frames(reader, writer)))
        self._held.add(task)
        task.add_done_callback(self._held.discard)

    async def close(self) -> None:
        """End all connections; whoever is being answered has the answer first."""
        answering = {task for _, dialogue in self._dialogues.values() if (task := dialogue.end()) is not None}
        for task in self._held - answering:
            task.cancel()
        if answering:
            await asyncio.wait(answering, timeout=LAST_S)
        for task in self._held:
            task.cancel()
        if self._held:
            await asyncio.wait(list(self._held), timeout=5.0)
        for known in self._shadows.values():
            known.shadow.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _serve(self, frames: Frames) -> None:
        try:
            with self._guard.connection():
                await self._connection(frames)
        except ObverseError as error:
            await self._end(frames, error)
        except (Gone, asyncio.CancelledError):
            pass
        except Exception as error:
            log.error("a connection met a defect: %s", defect(error))
            await self._end(frames, unforeseen())
        finally:
            await frames.close()

    async def _end(self, frames: Frames, error: ObverseError) -> None:
        with contextlib.suppress(Gone):
            frames.put(messages.error(error_fields(fatal(error), fatal=True)))
            await frames.flush()

    async def _connection(self, frames: Frames) -> None:
        with self._guard.stranger(frames.address):
            try:
                async with asyncio.timeout(LOGIN_S):
                    start = await started(frames, self._context, self._tls_required)
                    if isinstance(start, Cancel):
                        self._cancel(frames, start)
                        return
                    caller = await self._sign_in(frames, start)
            except TimeoutError:
                raise Gone from None
        with self._guard.account(caller.project, caller.name):
            await self._hold(frames, start, caller)

    async def _sign_in(self, frames: Frames, start: Start) -> Caller:
        self._guard.admit(frames.address)
        project = start.database if start.database in self._desk.projects else ""
        try:
            with self._notes.of(project, "/login") as trace:
                trace.caller = caller = await signed_in(frames, self._desk, start)
            return caller
        except NotSignedIn:
            self._guard.failed(frames.address)
            raise

    async def _hold(self, frames: Frames, start: Start, caller: Caller) -> None:
        block = Block(fresh(caller.name, start.settings))
        await self._renewed(caller)
        budget = await self._desk.budget(caller)
        with self._numbered() as (number, secret):
            renewed = partial(self._renewed, caller)
            runner = Runner(self._desk, caller, block, Holdings(), renewed, number, self._texts, self._notes)
            dialogue = Dialogue(frames, runner)
            self._dialogues[number] = (secret, dialogue)
            frames.put(*(messages.parameter_status(said, block.settings[name]) for name, said in REPORTED.items()))
            frames.put(
                messages.backend_key(number, secret), messages.notice(runner_module.welcome(caller.name, budget))
            )
            await dialogue.hold()

    @contextlib.contextmanager
    def _numbered(self) -> Iterator[tuple[int, int]]:
        """A number and a secret for a connection; neither tells how many there are."""
        number = secrets.randbelow(2**31 - 1) + 1
        while number in self._dialogues:
            number = secrets.randbelow(2**31 - 1) + 1
        try:
            yield number, secrets.randbits(32)
        finally:
            self._dialogues.pop(number, None)

    def _cancel(self, frames: Frames, asked: Cancel) -> None:
        """A request to cancel is never answered; a wrong one counts as a failed login of its address."""
        self._guard.admit(frames.address)
        secret, dialogue = self._dialogues.get(asked.number, (None, None))
        if dialogue is None or secret is None or not secrets.compare_digest(str(secret), str(asked.secret)):
            self._guard.failed(frames.address)
            return
        dialogue.cancel()

    async def _renewed(self, caller: Caller) -> Shadow:
        """The project's shadow; made again when its catalog is another one."""
        known = self._shadows.get(caller.project)
        if known is not None and known.catalog is self._desk.host(caller.project).catalog:
            return known.shadow
        async with self._renewing:
            catalog = self._desk.host(caller.project).catalog
            known = self._shadows.get(caller.project)
            if known is None or known.catalog is not catalog:
                views = await self._desk.tables(caller)
                loop = asyncio.get_running_loop()
                shadow = await loop.run_in_executor(self._threads, Shadow, caller.project, views, self._threads)
                self._shadows[caller.project] = known = Known(catalog, shadow)
            return known.shadow


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that listens, and its connections."""

    server: asyncio.Server
    wire: Wire

    @property
    def port(self) -> int:
        return int(self.server.sockets[0].getsockname()[1])

    def stop_listening(self) -> None:
        """Take no new connection; those that are there stay."""
        self.server.close()

    async def close(self) -> None:
        self.stop_listening()
        await self.wire.close()


async def serve_wire(
    desk: Desk,
    host: str,
    port: int,
    ssl_context: ssl.SSLContext | None = None,
    *,
    notes: Notes | None = None,
    caps: Caps = CAPS,
    tls_required: bool = False,
) -> Serving:
    """Listen. Without TLS only this machine is served; `tls_required` holds it to TLS too."""
    wire = Wire(desk, ssl_context, notes or Notes(), caps=caps, tls_required=tls_required)
    loop = asyncio.get_running_loop()

    def connected() -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(Incoming(limit=BUFFER, loop=loop), wire.accepted, loop=loop)

    return Serving(await loop.create_server(connected, host, port), wire)
