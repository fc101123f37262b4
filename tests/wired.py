"""A small project served on the wire, in a thread of its own; and a client that says exactly what a test wants it to
say.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from obverse.curator import accounts
from obverse.demo.hospital import hospital
from obverse.server.pg_catalog import catalog
from obverse.server.postgres.server import Caps, Serving, serve_wire
from obverse.server.project import Host
from obverse.server.queries import Desk
from obverse.testing import synthetic

T = TypeVar("T")
CATALOG = (Path(__file__).parent / "hostile" / "corpus.toml").read_text()
TOML = (
    CATALOG.replace("[budget]\nepsilon = 4.0", "[budget]\nepsilon = 100").replace(
        '[tables.people]\nsource', '[analysts.ana]\n[analysts.ben]\nepsilon = 0.3\n[tables.people]\nsource'
    )
    .replace('unit = "person_id"\n', 'unit = "person_id"\nrows_about = 200\n')
    .replace("limits = {", "rows_about = 1000\nlimits = {")
    + "\n[serve]\nrequests_per_minute = 100000\n"
)  # fmt: skip
# tests fail to sign in more often than people
ROOMY = Caps(failures_per_minute=10_000_000, texts_per_minute=10_000_000)
COUNT = "SELECT COUNT(*) AS n FROM people"


def made(folder: Path) -> Path:
    """The small hospital."""
    tables = dict(zip(("people", "visits", "clinics"), hospital(seed=5, people=200)))
    columns = {
        name: {column: np.ma.masked_array(values).tolist() for column, values in table.columns.items()}
        for name, table in tables.items()
    }
    return synthetic(columns, TOML, folder)


@dataclass
class Wired:
    """The server as tests see it."""

    project: Path
    host: Host
    desk: Desk
    serving: Serving
    loop: asyncio.AbstractEventLoop
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return self.serving.port

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def spent(self) -> str:
        """What the ledger counts, as a text that changes with any record of a charge."""
        ledger = self.call(self._ledger())
        return str(ledger)

    async def _ledger(self) -> object:
        def counted(host: Host) -> object:
            return host.clerk().ledger.spent(), sum(entry.kind == "charge" for entry in host.clerk().ledger.entries())

        return await self.loop.run_in_executor(self.host.threads, counted, self.host)

    def charges(self) -> int:
        return int(self.spent().rpartition(", ")[2].rstrip(")"))

    def another(self, **options: Any) -> Serving:
        """One more server in front of the same desk."""
        return self.call(serve_wire(self.desk, "127.0.0.1", 0, **options))

    def emptied(self, serving: Serving) -> None:
        """Once the server has noticed that nobody is connected any more."""
        ends = time.monotonic() + 60
        while serving.wire._guard._open:
            assert time.monotonic() < ends, "connections that ended are still counted"
            time.sleep(0.005)

    def login(self, user: str = "ana", port: int = 0, **more: str) -> Raw:
        client = Raw(port or self.port)
        found = client.sign_in(user, self.tokens[user], **more)
        assert found[-1] == (b"Z", b"I"), found
        return client


@contextmanager
def served(project: Path) -> Iterator[Wired]:
    tokens = {name: accounts.issue(project, name, "analyst").token for name in ("ana", "ben")}
    tokens["rev"] = accounts.issue(project, "rev", "reviewer").token
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    patience = pytest.MonkeyPatch()
    # what is slow here is the machine; tests of what is too slow set their own
    patience.setattr(catalog, "LIMIT_S", 60.0)

    async def start() -> Wired:
        host = Host(project)
        desk = Desk([host])
        serving = await serve_wire(desk, "127.0.0.1", 0, caps=ROOMY)
        return Wired(project, host, desk, serving, loop, tokens)

    wired = asyncio.run_coroutine_threadsafe(start(), loop).result(120)
    try:
        yield wired
    finally:
        wired.call(wired.serving.close())
        wired.call(wired.desk.stop(5.0))
        wired.host.close()
        patience.undo()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


Message = tuple[bytes, bytes]


class Raw:
    """Bytes to a server, and its messages."""

    def __init__(self, port: int, timeout_s: float = 20.0) -> None:
        self.sock: socket.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self.key = b""
        self.notices: list[str] = []

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with suppress(OSError):
            self.sock.close()

    def send(self, raw: bytes) -> None:
        # a server that has heard enough; what it said can still be read
        with suppress(BrokenPipeError, ConnectionResetError):
            self.sock.sendall(raw)

    def exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            part = self.sock.recv(size - len(found))
            if not part:
                raise EOFError
            found += part
        return found

    def message(self) -> Message:
        kind = self.exactly(1)
        (length,) = struct.unpack("!I", self.exactly(4))
        return kind, self.exactly(length - 4)

    def until(self, last: bytes = b"Z") -> list[Message]:
        """Messages to the first of that kind; or to the end of the connection."""
        found: list[Message] = []
        while not found or found[-1][0] not in last:
            try:
                found.append(self.message())
            except (EOFError, ConnectionError):
                found.append((b"", b""))
                break
        self.notices += [fields(body)["M"] for kind, body in found if kind == b"N"]
        return found

    def closed(self) -> bool:
        try:
            return self.sock.recv(1) == b""
        except ConnectionError:
            return True

    def startup(self, user: str = "ana", database: str = "hospital", version: int = 196608, **more: str) -> None:
        said = {"user": user, "database": database, **more}
        self.send(first(version, b"".join(texts(name, value) for name, value in said.items()) + b"\0"))

    def sign_in(self, user: str, password: str, database: str = "hospital", **more: str) -> list[Message]:
        """The whole start; what came after the exchange. An error ends it early."""
        self.startup(user, database, **more)
        begun = self.until(b"RE")
        if begun[-1][0] == b"E":
            return begun
        exchange = Client(password)
        self.send(frame(b"p", texts("SCRAM-SHA-256") + counted(exchange.first())))
        kind, body = self.message()
        if kind == b"E":
            return [(kind, body)]
        self.send(frame(b"p", exchange.final(body[4:])))
        found = self.until(b"ZE")
        if found[0][0] == b"R":
            assert exchange.trusts(found[0][1][4:])
        self.key = next((body for kind, body in found if kind == b"K"), b"")
        return found

    def query(self, text: str) -> list[Message]:
        self.send(frame(b"Q", texts(text)))
        return self.until()

    def rows(self, text: str) -> list[list[str | None]]:
        return data(self.query(text))

    def error(self, text: str) -> dict[str, str]:
        """The fields of the one error that a query gives."""
        errors = [fields(body) for kind, body in self.query(text) if kind == b"E"]
        assert len(errors) == 1, text
        return errors[0]

    def secure(self) -> None:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self.sock = context.wrap_socket(self.sock)


class Client:
    """SCRAM-SHA-256 on the client's side, after RFC 5802."""

    def __init__(self, password: str, nonce: str = "", header: str = "n,,", name: str = "") -> None:
        self.password = password
        self.header = header
        self.nonce = nonce or base64.b64encode(os.urandom(12)).decode()
        self.bare = f"n={name},r={self.nonce}"
        self.signature = b""

    def first(self) -> bytes:
        return (self.header + self.bare).encode()

    def final(self, server: bytes) -> bytes:
        said = dict(part.split("=", 1) for part in server.decode().split(","))
        salted = hashlib.pbkdf2_hmac("sha256", self.password.encode(), base64.b64decode(said["s"]), int(said["i"]))
        client = hmac.digest(salted, b"Client Key", "sha256")
        without = f"c={base64.b64encode(self.header.encode()).decode()},r={said['r']}"
        whole = f"{self.bare},{server.decode()},{without}".encode()
        proof = bytes(a ^ b for a, b in zip(client, hmac.digest(hashlib.sha256(client).digest(), whole, "sha256")))
        self.signature = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), whole, "sha256")
        return f"{without},p={base64.b64encode(proof).decode()}".encode()

    def trusts(self, said: bytes) -> bool:
        return said == b"v=" + base64.b64encode(self.signature)


def frame(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def first(code: int, body: bytes = b"") -> bytes:
    return struct.pack("!II", len(body) + 8, code) + body


def texts(*values: str) -> bytes:
    return b"".join(value.encode() + b"\0" for value in values)


def counted(value: bytes | None) -> bytes:
    return struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value


def parse(text: str, name: str = "", types: tuple[int, ...] = ()) -> bytes:
    return frame(
        b"P", texts(name, text) + struct.pack("!H", len(types)) + b"".join(struct.pack("!I", oid) for oid in types)
    )


def bind(
    values: tuple[bytes | None, ...] = (),
    name: str = "",
    portal: str = "",
    formats: tuple[int, ...] = (),
    shown: int = 0,
) -> bytes:
    head = texts(portal, name) + struct.pack("!H", len(formats)) + b"".join(struct.pack("!H", code) for code in formats)
    return frame(
        b"B", head + struct.pack("!H", len(values)) + b"".join(map(counted, values)) + struct.pack("!HH", 1, shown)
    )


def execute(portal: str = "", most: int = 0) -> bytes:
    return frame(b"E", texts(portal) + struct.pack("!I", most))


def describe(kind: str = "P", name: str = "") -> bytes:
    return frame(b"D", kind.encode() + texts(name))


SYNC = frame(b"S")


def fields(body: bytes) -> dict[str, str]:
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}


def data(messages: list[Message]) -> list[list[str | None]]:
    """The rows among the messages, as texts."""
    return [
        [None if cell is None else cell.decode() for cell in cells(body)] for kind, body in messages if kind == b"D"
    ]


def cells(body: bytes) -> Iterator[bytes | None]:
    (count,) = struct.unpack("!H", body[:2])
    at = 2
    for _ in range(count):
        (size,) = struct.unpack("!i", body[at : at + 4])
        yield None if size < 0 else body[at + 4 : at + 4 + size]
        at += 4 + max(0, size)


def columns(messages: list[Message]) -> list[tuple[str, int]]:
    """Names and types of the first description of rows."""
    body = next(body for kind, body in messages if kind == b"T")
    (count,) = struct.unpack("!H", body[:2])
    at = 2
    found = []
    for _ in range(count):
        end = body.index(b"\0", at)
        found.append((body[at:end].decode(), struct.unpack("!I", body[end + 7 : end + 11])[0]))
        at = end + 19
    return found


def kinds(messages: list[Message]) -> str:
    return b"".join(kind for kind, _ in messages).decode()


def tag(messages: list[Message]) -> str:
    return next(body for kind, body in messages if kind == b"C")[:-1].decode()


def sqlstates(messages: list[Message]) -> list[str]:
    return [fields(body)["C"] for kind, body in messages if kind == b"E"]
