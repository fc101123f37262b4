"""A wire to a PostgreSQL server that can be cut at any request: before it, after it, or with it on its way."""

from __future__ import annotations

import os
import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal

Cut = Literal["before", "after", "late"]
LATE_S = 0.3


class Wire:
    """Listens beside the server, on a socket of its own, and passes everything on until it is told to cut.

    before: the request never reaches the server. after: the server has answered, and the answer is lost.
    late:   the client has lost the wire, and its request reaches the server a while later, or once it is released.
    """

    def __init__(self, address: str, folder: Path) -> None:
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        given = conninfo_to_dict(address)
        self._server = f"{given['host']}/.s.PGSQL.{given.get('port') or 5432}"
        self.address = make_conninfo(address, host=str(folder))
        self.requests: list[bytes] = []
        self._cut_at: tuple[int, Cut] | None = None
        self.stays_down = False
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(f"{folder}/{os.path.basename(self._server)}")
        self._listening.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, at: int, how: Cut, *, for_good: bool = False, soon: bool = True) -> None:
        """Cut at the request of this number from now on, counted from zero."""
        self.requests.clear()
        self.soon = soon
        self.released = threading.Event()
        self.arrived = threading.Event()
        self._cut_at = (at, how)
        self.stays_down = False
        self._for_good = for_good

    def mend(self) -> None:
        self.requests.clear()
        self._cut_at = None
        self.stays_down = False

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        if self.stays_down:
            client.close()
            return
        with socket.socket(socket.AF_UNIX) as server, client:
            server.connect(self._server)
            lost = threading.Event()
            done = threading.Event()
            threading.Thread(target=self._answers, args=(server, client, lost, done), daemon=True).start()
            with suppress(OSError):
                self._pass_on(client, server, lost, done)
            for end in (client, server):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)  # closing alone would not end what another thread still reads

    def _pass_on(
        self, client: socket.socket, server: socket.socket, lost: threading.Event, done: threading.Event
    ) -> None:
        """Pass requests on until the one at which the wire is cut."""
        size = _exactly(client, 4)
        server.sendall(_exactly(client, struct.unpack("!I", size)[0] - 4, size))
        while True:
            request = _request(client)
            self.requests.append(request)
            how = self._now()
            if how is None:
                server.sendall(request)
                continue
            if how == "before":
                return
            done.clear()
            lost.set()
            if how == "late":
                client.shutdown(socket.SHUT_RDWR)
                self.released.wait(LATE_S if self.soon else None)
            server.sendall(request)
            done.wait(60)
            self.arrived.set()
            return

    def _now(self) -> Cut | None:
        if self._cut_at is None or len(self.requests) - 1 != self._cut_at[0]:
            return None
        how = self._cut_at[1]
        self._cut_at = None
        self.stays_down = self._for_good
        return how

    def _answers(
        self, server: socket.socket, client: socket.socket, lost: threading.Event, done: threading.Event
    ) -> None:
        with suppress(OSError):
            while True:
                head = _exactly(server, 5)
                message = _exactly(server, struct.unpack("!I", head[1:])[0] - 4, head)
                if head[:1] == b"Z":
                    done.set()  # before the client hears of it, whose next request waits for an answer of its own
                if not lost.is_set():
                    client.sendall(message)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


def _request(client: socket.socket) -> bytes:
    """All messages up to one that asks for an answer: a simple query, or a sync."""
    said = b""
    while True:
        head = _exactly(client, 5)
        said += _exactly(client, struct.unpack("!I", head[1:])[0] - 4, head)
        if head[:1] in b"QS":
            return said


def _exactly(source: socket.socket, size: int, so_far: bytes = b"") -> bytes:
    wanted = len(so_far) + size
    while len(so_far) < wanted:
        part = source.recv(wanted - len(so_far))
        if not part:
            raise OSError("ended")
        so_far += part
    return so_far
