"""Addresses of machines: whether only this one is reached at it, and which are a proxy's, whose word is taken."""

from __future__ import annotations

import ipaddress

from obverse.core.errors import Refused

NETWORK = 64  # bits of an address of IPv6; whoever has one has all addresses that begin with them


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


def proxied(address: str, told: str) -> bool:
    """Whether an address is one of those that `check_proxies` let pass."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return any((mapped or found) in ipaddress.ip_network(part.strip()) for part in filter(None, told.split(",")))


def block(address: str) -> str:
    """An address of IPv4, by whichever socket it came; or the network of one of IPv6, of which one household has 2**64."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((int(found), NETWORK), strict=False))
    return str(found)
