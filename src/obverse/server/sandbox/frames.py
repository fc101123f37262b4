"""Frames on a socket between processes: four bytes of length, then the content."""

from __future__ import annotations

import socket
import struct
from time import monotonic

LENGTH = struct.Struct("!I")
LONGEST = 1 << 30


def send(sock: socket.socket, content: bytes) -> None:
    sock.sendall(LENGTH.pack(len(content)) + content)


def receive(sock: socket.socket, deadline: float | None = None, longest: int = LONGEST) -> bytes:
    """The next frame. TimeoutError after the deadline (of the monotonic clock), EOFError when the other side is gone."""
    (length,) = LENGTH.unpack(_exactly(sock, LENGTH.size, deadline))
    if length > longest:
        raise EOFError("a frame that is too long")
    return _exactly(sock, length, deadline)


def _exactly(sock: socket.socket, wanted: int, deadline: float | None) -> bytes:
    parts, missing = [], wanted
    while missing:
        left = None if deadline is None else deadline - monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        sock.settimeout(left)
        try:
            part = sock.recv(min(missing, 1 << 20))
        except ConnectionError:
            raise EOFError("the other side is gone") from None
        if not part:
            raise EOFError("the other side is gone")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
