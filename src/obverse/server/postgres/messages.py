"""Frames: one connection's bytes, in whole messages. Lengths are checked before anything is kept; slow clients are let
go.

What the server sends: each message as its bytes.

What a client sends: the bodies of its messages, read to values. Every length is checked before it is believed.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from obverse.core.errors import Refused
from obverse.server.postgres.types import SIZES


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result: its name and the OID of its type."""

    name: str
    oid: int


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def text(value: str) -> bytes:
    return value.replace("\0", " ").encode("utf-8", "replace") + b"\0"


AUTHENTICATION_OK = message(b"R", struct.pack("!I", 0))
PARSE_COMPLETE = message(b"1")
BIND_COMPLETE = message(b"2")
CLOSE_COMPLETE = message(b"3")
EMPTY_QUERY = message(b"I")
NO_DATA = message(b"n")
SUSPENDED = message(b"s")


def sasl(mechanisms: Iterable[str]) -> bytes:
    return message(b"R", struct.pack("!I", 10) + b"".join(text(name) for name in mechanisms) + b"\0")


def sasl_continue(said: bytes) -> bytes:
    return message(b"R", struct.pack("!I", 11) + said)


def sasl_final(said: bytes) -> bytes:
    return message(b"R", struct.pack("!I", 12) + said)


def parameter_status(name: str, value: str) -> bytes:
    return message(b"S", text(name) + text(value))


def backend_key(number: int, secret: int) -> bytes:
    return message(b"K", struct.pack("!II", number, secret))


def negotiate(minor: int, options: Sequence[str]) -> bytes:
    """The newest minor version that is spoken here, and options that are not known."""
    return message(b"v", struct.pack("!II", minor, len(options)) + b"".join(text(name) for name in options))


def ready(status: str) -> bytes:
    return message(b"Z", status.encode())


def complete(tag: str) -> bytes:
    return message(b"C", text(tag))


def error(fields: Mapping[str, str]) -> bytes:
    return message(b"E", _fields(fields))


def notice(said: str, *, severity: str = "NOTICE", sqlstate: str = "00000", detail: str = "") -> bytes:
    fields = {"S": severity, "V": severity, "C": sqlstate, "M": said}
    return message(b"N", _fields(fields | ({"D": detail} if detail else {})))


def _fields(fields: Mapping[str, str]) -> bytes:
    return b"".join(name.encode() + text(value) for name, value in fields.items()) + b"\0"


def parameters(oids: Sequence[int]) -> bytes:
    return message(b"t", struct.pack("!H", len(oids)) + b"".join(struct.pack("!I", oid) for oid in oids))


def row_description(fields: Sequence[Field], formats: Sequence[int]) -> bytes:
    """Columns belong to no table here: what is shown is noisy, or of the catalogue."""
    parts = [struct.pack("!H", len(fields))]
    for field, code in zip(fields, formats):
        parts.append(text(field.name) + struct.pack("!IhIhih", 0, 0, field.oid, SIZES.get(field.oid, -1), -1, code))
    return message(b"T", b"".join(parts))


def data_row(cells: Sequence[bytes | None]) -> bytes:
    parts = [struct.pack("!H", len(cells))]
    for cell in cells:
        parts.append(b"\xff\xff\xff\xff" if cell is None else struct.pack("!I", len(cell)) + cell)
    return message(b"D", b"".join(parts))


PARAMETERS_MAX = 1_000
NAME_MAX = 1_024


@dataclass(frozen=True, slots=True)
class Query:
    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    name: str
    text: str
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    shown: tuple[int, ...]  # formats of the result's columns


@dataclass(frozen=True, slots=True)
class Describe:
    kind: str  # S or P
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    portal: str
    rows_max: int  # 0: all


@dataclass(frozen=True, slots=True)
class Close:
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Plain:
    """A message without a body that matters: Sync, Flush, Terminate, or one that is refused."""

    kind: bytes


Request = Query | Parse | Bind | Describe | Execute | Close | Plain
ENDS = b"X"
IGNORED = b"dcf"  # of a COPY that was refused: they are passed over, as PostgreSQL does


def violation(what: str) -> Refused:
    return Refused("protocol_violation", what)


class Body:
    """The bytes of one message, read from the front."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def number(self, kind: str) -> int:
        """An integer in network order: h and i signed, H and I not."""
        size = struct.calcsize(f"!{kind}")
        (found,) = struct.unpack(f"!{kind}", self.take(size))
        return int(found)

    def take(self, size: int) -> bytes:
        if size < 0 or self._at + size > len(self._raw):
            raise violation("a message is shorter than it says.")
        self._at += size
        return self._raw[self._at - size : self._at]

    def text(self) -> str:
        """A text that a zero byte ends."""
        end = self._raw.find(b"\0", self._at)
        if end < 0:
            raise violation("a text in a message has no end.")
        raw = self.take(end - self._at)
        self._at += 1
        return decoded(raw)

    def name(self) -> str:
        found = self.text()
        if len(found) > NAME_MAX:
            raise Refused("too_long", f"a name has at most {NAME_MAX} characters.")
        return found

    def count(self) -> int:
        found = self.number("H")
        if found > PARAMETERS_MAX:
            raise Refused("too_many_parameters", f"a question has at most {PARAMETERS_MAX} parameters.")
        return found

    def done(self) -> None:
        if self._at != len(self._raw):
            raise violation("a message is longer than it says.")


def decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("not_encodable", "this text is not UTF-8.", fix="set the client's encoding to UTF8.") from None


def read(kind: bytes, raw: bytes) -> Request:
    """One message after the start."""
    body = Body(raw)
    made: Request
    match kind:
        case b"Q":
            made = Query(body.text())
        case b"P":
            made = Parse(body.name(), body.text(), tuple(body.number("I") for _ in range(body.count())))
        case b"B":
            made = _bind(body)
        case b"D":
            made = Describe(_target(body), body.name())
        case b"C":
            made = Close(_target(body), body.name())
        case b"E":
            made = Execute(body.name(), max(0, body.number("i")))
        case b"S" | b"H" | b"X":
            made = Plain(kind)
        case b"F" | b"d" | b"c" | b"f" | b"p":
            return Plain(kind)
        case _:
            raise violation("this kind of message is not known.")
    body.done()
    return made


def _target(body: Body) -> str:
    found = body.take(1)
    if found not in (b"S", b"P"):
        raise violation("only statements and portals are described or closed.")
    return found.decode()


def _bind(body: Body) -> Bind:
    portal = body.name()
    statement = body.name()
    formats = tuple(body.number("H") for _ in range(body.count()))
    values = tuple(_value(body) for _ in range(body.count()))
    shown = tuple(body.number("H") for _ in range(body.count()))
    if any(code not in (0, 1) for code in (*formats, *shown)):
        raise violation("a format is text (0) or binary (1).")
    if len(formats) not in (0, 1, len(values)):
        raise violation("there are not as many formats as parameters.")
    return Bind(portal, statement, formats, values, shown)


def _value(body: Body) -> bytes | None:
    size = body.number("i")
    return None if size == -1 else body.take(size)


START_MAX = 10_000  # bytes of a first message
LOGIN_MAX = 4_096  # of a message before it is known who sends it
MESSAGE_MAX = 256 * 1024
BUFFER = 64 * 1024
PATIENCE_S = 30.0  # for the rest of a message that has begun, and for a reader that does not read
IDLE_S = 8 * 3600.0
KNOWN = b"QPBDCESHXFdcfp"


class Lost(Refused):
    """What comes next cannot be told apart any more: the connection ends."""


class Gone(ConnectionError):
    """The other side went away, or took too long: there is nobody to tell."""


class Incoming(asyncio.StreamReader):
    """A reader that knows whether bytes wait in it."""

    @property
    def waiting(self) -> bool:
        return bool(self._buffer)  # type: ignore[attr-defined]


class Frames:
    """Messages in and out. What is put is sent with the next flush, or when there is much of it."""

    def __init__(self, reader: Incoming, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._out = bytearray()
        self.tls = False
        peer = writer.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""

    async def first(self) -> bytes:
        """A first message, which has no kind. Whoever starts it must go on."""
        head = await self._exactly(4)
        (length,) = struct.unpack("!I", head)
        if not 8 <= length <= START_MAX:
            raise Lost("protocol_violation", "this is no start of a connection.")
        return await self._exactly(length - 4)

    async def message(self, most: int = MESSAGE_MAX) -> tuple[bytes, bytes]:
        """Kind and body of the next message."""
        kind = await self._exactly(1, IDLE_S)
        async with _patience():
            if kind not in KNOWN:
                raise Lost("protocol_violation", "this kind of message is not known.")
            (length,) = struct.unpack("!I", await self._exactly(4))
            if length < 4:
                raise Lost("protocol_violation", "a message is shorter than its own length.")
            if length - 4 > most:
                raise Lost("message_too_large", f"a message has at most {most} bytes.", fix="send less at a time.")
            return kind, await self._exactly(length - 4)

    async def _exactly(self, size: int, patience_s: float = PATIENCE_S) -> bytes:
        try:
            async with asyncio.timeout(patience_s):
                return await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, OSError, TimeoutError):
            raise Gone from None

    def put(self, *messages: bytes) -> None:
        for one in messages:
            self._out += one

    async def room(self) -> None:
        """Send what was put if there is much of it."""
        if len(self._out) >= BUFFER:
            await self.flush()

    async def flush(self) -> None:
        """Send what was put, and wait until the other side has taken most of it."""
        if not self._out:
            return
        try:
            self._writer.write(bytes(self._out))
            self._out.clear()
            async with asyncio.timeout(PATIENCE_S):
                await self._writer.drain()
        except (OSError, TimeoutError, RuntimeError):
            raise Gone from None

    async def start_tls(self, context: ssl.SSLContext) -> None:
        """Go on under TLS. Bytes that came before it could be anybody's, so there must be none."""
        if self._reader.waiting:
            raise Lost("protocol_violation", "bytes came before the answer to a request for TLS.")
        self._writer.write(b"S")
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._writer.drain()
                await self._writer.start_tls(context)
        except (OSError, TimeoutError, ssl.SSLError):
            raise Gone from None
        self.tls = True

    async def close(self) -> None:
        try:
            self._writer.close()
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()
        except (OSError, TimeoutError, RuntimeError, ssl.SSLError):
            self._writer.transport.abort()


class _patience:
    """So much time for a whole message, however slowly its bytes come."""

    def __init__(self) -> None:
        self._timeout = asyncio.timeout(PATIENCE_S)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(self, *error: object) -> None:
        try:
            await self._timeout.__aexit__(*error)  # type: ignore[arg-type]
        except TimeoutError:
            raise Gone from None
