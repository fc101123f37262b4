"""Addresses of machines: whether only this one is reached at it, and which are a proxy's, whose word is taken."""

from __future__ import annotations

import ipaddress

from obverse.core.errors import Refused


def loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_proxies(told: str) -> None:
    """Addresses or networks with commas between them. Names would never match, and whoever is anybody is nobody's proxy."""
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
