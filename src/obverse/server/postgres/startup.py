"""The start of a connection: TLS, who wants which project, or a request to cancel. Nothing is believed yet.

SCRAM-SHA-256 on the server's side (RFC 5802, RFC 7677). Pure: texts in, texts out.

Claim:   whoever does not know a token learns nothing from an exchange, not even whether the account or the project
         exists.
Proof:   every name has a salt and the same count of iterations; an unknown one is checked against keys of nobody, with
         as many computations, and fails at the same message with the same text.
Assumes: tokens are of 256 random bits and ASCII, which SASLprep leaves as they are; so keys are made without it.

Signing in by SCRAM: a token of the project is the password. Strangers meet the same exchange as everybody.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import os
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace

from obverse.core.accounts import ITERATIONS, NAME_MAX, Account, Token, wire_salt
from obverse.core.errors import ObverseError, Refused
from obverse.server.errors import NotSignedIn
from obverse.server.postgres import messages
from obverse.server.postgres.messages import LOGIN_MAX, Body, Frames, violation
from obverse.server.postgres.settings import from_options
from obverse.server.project import Host
from obverse.server.queries import Caller, Desk

MECHANISM = "SCRAM-SHA-256"
CHECKED = 8  # so many tokens are checked at least, whoever asks
NONCE = re.compile(r"[!-+\--~]{1,512}")  # printable, no comma
FIRST = re.compile(
    r"(?P<header>(?P<binding>[ny]|p=[^,]*),(?P<as>a=[^,]*)?,)(?P<bare>n=(?P<name>[^,]*),r=(?P<nonce>[^,]*))"
)
FINAL = re.compile(r"(?P<without>c=(?P<channel>[^,]*),r=(?P<nonce>[^,]*)),p=(?P<proof>[^,]*)")


@dataclass(frozen=True, slots=True)
class First:
    """What the client said first."""

    header: str
    bare: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Offer:
    """What the server answered, and what it was the answer to."""

    first: First
    nonce: str
    salt: bytes

    @property
    def text(self) -> str:
        return f"r={self.nonce},s={base64.b64encode(self.salt).decode()},i={ITERATIONS}"


def read_first(raw: bytes) -> First:
    """client-first-message. Channel binding is not offered, so a client may say y or n to it, and no more."""
    match = FIRST.fullmatch(_ascii(raw))
    if match is None:
        raise _malformed()
    if match["binding"].startswith("p"):
        raise Refused("protocol_violation", "the client binds a channel, which was not offered.")
    if match["as"]:
        raise Refused("protocol_violation", "one cannot sign in as somebody else.")
    if not NONCE.fullmatch(match["nonce"]):
        raise _malformed()
    return First(match["header"], match["bare"], match["nonce"])


def offer(first: First, salt: bytes, nonce: str = "") -> Offer:
    """server-first-message; `nonce` is for tests."""
    return Offer(first, first.nonce + (nonce or base64.b64encode(os.urandom(18)).decode()), salt)


def finish(offered: Offer, raw: bytes, tokens: Sequence[Token]) -> tuple[str, str]:
    """server-final-message, and the id of the token that the client knows; or a refusal that is the same for every
    reason.
    """
    match = FINAL.fullmatch(_ascii(raw))
    if match is None:
        raise _malformed()
    proof = _base64(match["proof"])
    channel = _base64(match["channel"])
    same = hmac.compare_digest(match["nonce"].encode(), offered.nonce.encode())
    if not same or channel != offered.first.header.encode() or len(proof) != 32:
        raise Refused("protocol_violation", "the client's last message does not belong to its first.")
    said = f"{offered.first.bare},{offered.text},{match['without']}".encode()
    found = b""
    known = ""
    for id, stored, server in _keys(tokens):
        signature = hmac.digest(stored, said, "sha256")
        client = bytes(a ^ b for a, b in zip(proof, signature))
        if hmac.compare_digest(hashlib.sha256(client).digest(), stored):
            found = hmac.digest(server, said, "sha256")
            known = id
    if not found:
        raise NotSignedIn()
    return "v=" + base64.b64encode(found).decode(), known


def _keys(tokens: Sequence[Token]) -> list[tuple[str, bytes, bytes]]:
    """The keys to check, filled up with those of nobody."""
    known = [(token.id, bytes.fromhex(token.stored_key), bytes.fromhex(token.server_key)) for token in tokens]
    return known + [("", os.urandom(32), os.urandom(32)) for _ in range(CHECKED - len(known))]


def _ascii(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _malformed() from None
    if not text.isprintable():
        raise _malformed()
    return text


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _malformed() from None


def _malformed() -> Refused:
    return Refused("protocol_violation", "this is no message of SCRAM-SHA-256.")


SSL_REQUEST = 80877103
GSSENC_REQUEST = 80877104
CANCEL_REQUEST = 80877102
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
    major = code >> 16
    minor = code & 0xFFFF
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
        frames.put(messages.negotiate(0, unknown))
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


OURS = os.urandom(32)


async def signed_in(frames: Frames, desk: Desk, start: Start) -> Caller:
    """Who it is; or one refusal, after the whole exchange, for every reason not to let them in."""
    frames.put(messages.sasl([MECHANISM]))
    await frames.flush()
    body = Body(await _said(frames))
    mechanism = body.text()
    size = body.number("i")
    if mechanism != MECHANISM or size < 0:
        raise violation("only SCRAM-SHA-256 is spoken here, without binding of a channel.")
    first = read_first(body.take(size))
    body.done()
    salt, tokens, caller = await _known(desk, start)
    offered = offer(first, salt)
    frames.put(messages.sasl_continue(offered.text.encode()))
    await frames.flush()
    final, token = finish(offered, await _said(frames), tokens)
    if caller is None:
        raise NotSignedIn()
    frames.put(messages.sasl_final(final.encode()), messages.AUTHENTICATION_OK)
    return replace(caller, token=token)


async def _said(frames: Frames) -> bytes:
    kind, raw = await frames.message(LOGIN_MAX)
    if kind != b"p":
        raise violation("a message of the exchange was expected.")
    return raw


async def _known(desk: Desk, start: Start) -> tuple[bytes, Sequence[Token], Caller | None]:
    """Salt and tokens of a name. A project that is not here has salts that follow from another's secret, on every
    server alike,
    or from this process's own where that one cannot be opened; and no tokens."""
    read: list[bytes] = []

    def found(host: Host) -> tuple[Account | None, Sequence[Token]]:
        ledger = host.clerk().ledger
        read.append(ledger.service_secret())
        account = host.accounts().get(start.user)
        live = () if account is None else account.live(desk.clock())
        numbers = [*(token.record for token in live), *[0] * (CHECKED - len(live))]  # as many for a stranger
        return account, [
            token.with_keys(note) for token, note in zip(live, [ledger.note(number) for number in numbers])
        ]

    known = await desk.looked_up(start.database, found)
    secret = (*read, OURS)[0]
    if known is None:
        secret = hmac.digest(secret, b"project\0" + start.database.encode("utf-8", "surrogatepass"), "sha256")
    salt = wire_salt(secret, start.user)
    account, tokens = known or (None, ())
    return salt, tokens, None if account is None else Caller(start.database, account.name, account.role)


def fatal(error: ObverseError) -> ObverseError:
    """As it is told before somebody is known: without what would help nobody but a stranger."""
    error.why = "" if isinstance(error, NotSignedIn) else error.why
    return error
