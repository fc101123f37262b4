"""Connections over HTTP: how long one may keep us waiting, and how many one address may have.

Addresses of machines: whether only this one is reached at it, and which are a proxy's, whose word is taken.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from obverse.core.errors import Refused

NETWORK = 64  # bits of an address of IPv6; whoever has one has all addresses that begin with them


def loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_proxies(told: str) -> None:
    """Addresses or networks with commas between them.

    Names would never match, and whoever is anybody is nobody's proxy.
    """
    for part in filter(None, told.split(",")):
        try:
            anybody = ipaddress.ip_network(part.strip()).prefixlen == 0
        except ValueError:
            anybody = True
        if anybody:
            raise Refused(
                "bad_proxy",
                f"{part.strip()!r} is not the address of a proxy.",
                why="what it says of others' addresses is believed, so it has to be known by its own.",
                fix="Write --behind-proxy 10.0.0.5, or a network such as 10.0.0.0/28.",
            )


def proxied(address: str, told: str) -> bool:
    """Whether an address is one of those that `check_proxies` let pass."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return any((mapped or found) in ipaddress.ip_network(part.strip()) for part in filter(None, told.split(",")))


def block(address: str) -> str:
    """An address of IPv4, by whichever socket it came; or the network of one of IPv6, of which one household has
    2**64.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((int(found), NETWORK), strict=False))
    return str(found)


HEAD_S = 15.0  # within which a request's head has to come
READ_S = 60.0  # within which a client has to read on
OF_ADDRESS = 250  # connections at once; CONNECTIONS_MAX of `run` are there for all
SPARE = 50  # more of one address that are not requests yet, such as those that have not shaken hands over TLS
TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 38\r\n"
    b"Retry-After: 15\r\nConnection: close\r\n\r\ntoo many connections from this address"
)


class Listener(socket.socket):
    """Counts connections from their first packet on: of one that shakes no hands over TLS no protocol ever hears."""

    def __init__(self, family: int, proxies: str) -> None:
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._proxies = proxies
        self._open = Counter[str]()

    def accept(self) -> tuple[socket.socket, Any]:
        taken, address = super().accept()
        who = _counted(address[0], self._proxies)
        if who and self._open[who] >= OF_ADDRESS + SPARE:
            taken.close()
            raise ConnectionAbortedError
        self._open[who] += 1
        return Accepted(taken, lambda: self._left(who)), address

    def _left(self, who: str) -> None:
        self._open[who] -= 1
        if not self._open[who]:
            del self._open[who]


class Accepted(socket.socket):
    """A connection that tells when it is closed."""

    def __init__(self, taken: socket.socket, left: Callable[[], None]) -> None:
        family = taken.family
        kind = taken.type
        protocol = taken.proto
        super().__init__(family, kind, protocol, fileno=taken.detach())
        self._told_left = left

    def close(self) -> None:
        open_still = self.fileno() != -1
        super().close()
        if open_still:
            self._told_left()


class Punctual(H11Protocol):
    """Connections on which no whole head comes in time, or whose replies are not read, are closed; and those too many.

    uvicorn alone would wait for ever: its time for an idle connection ends with the first byte of the next request, or
    of a body that was refused before it came.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._due: asyncio.TimerHandle | None = None  # when a request has to be whole
        self._read: asyncio.TimerHandle | None = None  # when what was sent has to be read
        self.came_from = ""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._due = self.loop.call_later(HEAD_S, self._late)
        self.came_from = self._counted_by()
        if self.came_from and sum(other.came_from == self.came_from for other in self._others()) >= OF_ADDRESS:
            transport.write(TOO_MANY)
            transport.close()
            self._let_go()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self._due is None:
            self._due = self.loop.call_later(HEAD_S, self._late)
        elif not idle and self._due is not None:
            self._due.cancel()
            self._due = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._let_go()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._read is not None:
            self._read.cancel()
            self._read = None

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._let_go()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._due, self._read):
            if timer is not None:
                timer.cancel()

    def _late(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
        self._let_go()

    def _let_go(self) -> None:
        """Soon, whether or not the rest is read: closing waits for that."""
        self._read = self._read or self.loop.call_later(READ_S, self.transport.abort)

    def _counted_by(self) -> str:
        proxies = str(self.config.forwarded_allow_ips) if self.config.proxy_headers else ""
        return _counted(self.client[0] if self.client else "", proxies)

    def _others(self) -> Iterator[Punctual]:
        return (one for one in self.connections if isinstance(one, Punctual) and one is not self)


def _counted(address: str, proxies: str) -> str:
    """What an address's connections are counted by; those of a proxy, which come from many, by nothing."""
    return "" if proxied(address, proxies) else block(address)
