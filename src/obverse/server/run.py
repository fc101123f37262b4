"""Running a service: projects opened, both servers started, and an orderly stop that loses nothing that was charged."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import logging
import resource
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import uvicorn

from obverse.core.errors import Refused
from obverse.server.http.app import create_app
from obverse.server.http.connections import Listener, Punctual, check_proxies, loopback
from obverse.server.http.routes import pages
from obverse.server.http.service import service_for
from obverse.server.observability import Log, Notes, Redacted
from obverse.server.project import Host
from obverse.server.queries import Desk
from obverse.server.sandbox import landlock, seccomp

HEAD_MAX = 16_384
KEEP_ALIVE_S = 15
CONNECTIONS_MAX = 1000
PATIENCE_S = 60.0
BACKLOG = 512
FILES_MAX = 65_536
WIRE = "obverse.server.postgres"


class Listening(Protocol):
    """A server that listens."""

    @property
    def port(self) -> int: ...

    def stop_listening(self) -> None: ...

    async def close(self) -> None: ...


class Wire(Protocol):
    """What starts the PostgreSQL wire."""

    def __call__(
        self, desk: Desk, host: str, port: int, ssl_context: ssl.SSLContext | None, *, notes: Notes
    ) -> Awaitable[Listening]: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a service listens. `proxies`: whose word on TLS and addresses is taken."""

    host: str = "127.0.0.1"
    port: int = 8000
    wire_port: int | None = 5433
    certificate: Path | None = None
    key: Path | None = None
    proxies: str = ""

    @property
    def tls(self) -> bool:
        return self.certificate is not None

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"


@dataclass(frozen=True, slots=True)
class Started:
    """What is told once everything listens."""

    address: str
    wire: str
    projects: tuple[str, ...]


class Quiet(uvicorn.Server):
    """Signals are ours: the desk has to stop before connections are let go."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def checked(settings: Settings) -> Settings:
    """Refuse to send tokens in the clear."""
    if (settings.certificate is None) != (settings.key is None):
        raise Refused(
            "tls_incomplete", "TLS needs a certificate and its key.", fix="Give both --tls-cert and --tls-key."
        )
    if not settings.tls and not settings.proxies and not loopback(settings.host):
        raise Refused(
            "tls_needed",
            f"{settings.host} can be reached by others, and there is no TLS.",
            why="tokens and answers would go over the network in the clear.",
            fix="Give --tls-cert and --tls-key; or --behind-proxy ADDRESS, where a proxy there speaks TLS.",
        )
    check_proxies(settings.proxies)
    tls_context(settings)
    return settings


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    if settings.certificate is None or settings.key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError):
        raise Refused(
            "tls_unreadable", "the certificate and its key cannot be read.", fix="They are PEM files."
        ) from None
    return context


@contextmanager
def opened(projects: Sequence[Path], taken: Sequence[str] = ()) -> Iterator[list[Host]]:
    """All projects, each under a name of its own, that is none of those `taken`."""
    hosts: list[Host] = []
    try:
        for path in projects:
            hosts.append(Host(path))
            name = hosts[-1].name
            if name in (*taken, *(host.name for host in hosts[:-1])):
                raise Refused(
                    "project_twice", f"two projects are called {name!r}.", fix="Give one another [project] name."
                )
            if "/" in name:
                raise Refused("bad_name", f"{name!r} cannot be part of an address.", fix="Leave out the slash.")
        yield hosts
    finally:
        for host in hosts:
            host.close()


def run(projects: Sequence[Path], settings: Settings, started: Callable[[Started], None]) -> None:
    """Serve until SIGTERM or SIGINT."""
    checked(settings)
    landlock.required()
    seccomp.private_memory()
    _all_files()
    logging.basicConfig(handlers=[Redacted(Log())], level=logging.WARNING, force=True)
    with opened(projects) as hosts:
        asyncio.run(_until_stopped(hosts, settings, started))


def _all_files() -> None:
    """As many files as the system lets us have: each connection is one, and what shells are given is few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, FILES_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _until_stopped(hosts: Sequence[Host], settings: Settings, started: Callable[[Started], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with serving(hosts, settings) as told:
        started(told)
        await stop.wait()


@asynccontextmanager
async def serving(hosts: Sequence[Host], settings: Settings) -> AsyncIterator[Started]:
    """Both servers while the block lasts; then no new connection is taken, and what runs is finished."""
    secure = settings.tls or bool(settings.proxies)
    pages.files()  # checked and packed before anybody waits for them
    desk = Desk(hosts)
    service = service_for(desk, secure=secure)
    notes = Notes(service.metrics, Log())
    server = Quiet(_configured(create_app(desk, tls=secure, log=notes.log, service=service), settings))
    listener = _listener(settings)
    http = asyncio.create_task(server.serve(sockets=[listener]))
    wire: Listening | None = None
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        wire = await _wired(desk, settings, notes)
        place = "" if wire is None else _place(settings.host, wire.port)
        yield Started(f"{settings.scheme}://{_place(*listener.getsockname()[:2])}", place, desk.projects)
    finally:
        server.should_exit = True
        if wire is not None:
            wire.stop_listening()
        await asyncio.gather(http, service.stop(PATIENCE_S), return_exceptions=True)
        if wire is not None:
            await wire.close()


def _configured(app: Any, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=Punctual,
        ws="none",
        lifespan="off",
        loop="asyncio",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(PATIENCE_S),
        limit_concurrency=CONNECTIONS_MAX,
        h11_max_incomplete_event_size=HEAD_MAX,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies or None,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )


def _listener(settings: Settings) -> socket.socket:
    """Bound here, so that a taken address is a refusal like any other.

    The socket names its protocol: only then does asyncio send each part of a reply at once (TCP_NODELAY), 40 ms sooner.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = Listener(family, settings.proxies)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(BACKLOG)
        return listener
    except OSError:
        listener.close()
        raise cannot_listen(settings.port) from None


def cannot_listen(port: int) -> Refused:
    return Refused(
        "cannot_listen", f"port {port} is taken, or the address is not one of this machine.", fix="Choose another."
    )


async def _wired(desk: Desk, settings: Settings, notes: Notes) -> Listening | None:
    """The PostgreSQL wire server, where this installation has it."""
    serve_wire = _wire_server()
    if serve_wire is None or settings.wire_port is None:
        return None
    try:
        return await serve_wire(desk, settings.host, settings.wire_port, tls_context(settings), notes=notes)
    except OSError:
        raise cannot_listen(settings.wire_port) from None


def _wire_server() -> Wire | None:
    there = importlib.util.find_spec(WIRE)
    if there is None or there.origin is None:
        return None
    found: Wire = importlib.import_module(f"{WIRE}.server").serve_wire
    return found


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
