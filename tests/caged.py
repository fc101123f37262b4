"""Questions that would never end, and the caged process that one of them runs in."""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from obverse.server.sandbox import protocol
from obverse.server.sandbox.pool import PING, Child
from obverse.server.sandbox.worker import DONE

BOMBS = {
    "time": "SELECT COUNT(*) AS m0, 0 AS k FROM range(10000000000) a, range(10000) b WHERE hash(a.range, b.range) = 7",
    "long texts": "SELECT CAST(SUM(LENGTH(repeat('x', CAST(1500000000 + i AS INTEGER)))) AS BIGINT) AS m0, 0 AS k"
                  " FROM range(99) r(i)",
    "a long list": "SELECT CAST(LEN(list(i)) AS BIGINT) AS m0, 0 AS k FROM range(2000000000) r(i)",
}  # fmt: skip


def pid_of(child: Child) -> int:
    """The process that answers: the kernel says who sent a message to whoever asks for it."""
    child.sock.settimeout(60)
    child.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    protocol.send(child.sock, PING)
    said, [(_, kind, credentials)], _, _ = child.sock.recvmsg(protocol.LENGTH.size + len(DONE), socket.CMSG_SPACE(12))
    child.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    assert (said[protocol.LENGTH.size :], kind) == (DONE, socket.SCM_CREDENTIALS)
    return struct.unpack("3i", credentials)[0]  # type: ignore[no-any-return]


@contextmanager
def watched(pid: int) -> Iterator[Callable[[], float]]:
    """Waits until the process has ended, and gives the time; the kernel wakes whoever watches it."""
    held = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(held, select.POLLIN)

    def ended() -> float:
        assert poll.poll(60_000), "the process that ran it is gone"
        return time.monotonic()

    try:
        assert not poll.poll(0), "it waits for its question"
        yield ended
    finally:
        os.close(held)
