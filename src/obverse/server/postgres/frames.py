"""Frames: one connection's bytes, in whole messages. Lengths are checked before anything is kept; slow clients are let go."""

from __future__ import annotations

import asyncio
import ssl
import struct

from obverse.core.errors import Refused

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
        self._reader, self._writer = reader, writer
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
