"""The start of a connection: TLS, who wants which project, or a request to cancel. Nothing is believed yet."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass

from obverse.core.accounts import NAME_MAX
from obverse.core.errors import Refused
from obverse.server.postgres import replies
from obverse.server.postgres.frames import Frames
from obverse.server.postgres.requests import Body, violation
from obverse.server.postgres.settings import from_options

SSL_REQUEST, GSSENC_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102
MAJOR = 3
ROUNDS = 3  # requests for encryption before the start itself


@dataclass(frozen=True, slots=True)
class Start:
    """Who a client says it is, what project it wants, and the settings it starts with."""

    user: str
    database: str
    settings: dict[str, str]


@dataclass(frozen=True, slots=True)
class Cancel:
    number: int
    secret: int


async def started(frames: Frames, context: ssl.SSLContext | None, tls_required: bool) -> Start | Cancel:
    """Read on until the start; a client that must use TLS and does not is sent away before any password."""
    for _ in range(ROUNDS):
        body = Body(await frames.first())
        code = body.number("I")
        if code == SSL_REQUEST and not frames.tls:
            body.done()
            if context is None:
                frames.put(b"N")
                await frames.flush()
            else:
                await frames.start_tls(context)
            continue
        if code == GSSENC_REQUEST:
            body.done()
            frames.put(b"N")
            await frames.flush()
            continue
        if code == CANCEL_REQUEST:
            found = Cancel(body.number("I"), body.number("I"))
            body.done()
            return found
        if not frames.tls and (tls_required or not is_loopback(frames.address)):
            raise Refused("tls_required", "connect with TLS.", fix="sslmode=require")
        return _start(frames, body, code)
    raise violation("too many requests for encryption.")


def _start(frames: Frames, body: Body, code: int) -> Start:
    major, minor = code >> 16, code & 0xFFFF
    if major != MAJOR:
        raise Refused("unsupported_construct", "only version 3 of the protocol is spoken here.")
    said: dict[str, str] = {}
    while True:
        name = body.text()
        if not name:
            break
        said[name] = body.text()
    body.done()
    unknown = [name for name in said if name.startswith("_pq_.")]
    if minor or unknown:
        frames.put(replies.negotiate(0, unknown))
    if said.pop("replication", "false").lower() not in ("", "false", "off", "no", "0"):
        raise Refused("not_a_client", "there is no replication here.")
    user = said.pop("user", "")
    database = said.pop("database", "") or user
    if not user or len(user) > NAME_MAX or len(database) > NAME_MAX or not (user + database).isprintable():
        raise Refused("not_a_client", "this is no name of a user or project.")
    options = from_options(said.pop("options", ""))
    settings = {name.lower(): value for name, value in said.items() if name not in unknown}
    return Start(user, database, {**settings, **options})


def is_loopback(address: str) -> bool:
    """Whether nobody is between the two ends but this machine."""
    try:
        return not address or ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False

