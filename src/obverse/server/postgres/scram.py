"""SCRAM-SHA-256 on the server's side (RFC 5802, RFC 7677). Pure: texts in, texts out.

Claim:   whoever does not know a token learns nothing from an exchange, not even whether the account or the project exists.
Proof:   every name has a salt and the same count of iterations; an unknown one is checked against keys of nobody, with as many
         computations, and fails at the same message with the same text.
Assumes: tokens are of 256 random bits and ASCII, which SASLprep leaves as they are; so keys are made without it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from obverse.core.accounts import ITERATIONS, Token
from obverse.core.errors import Refused
from obverse.server.errors import NotSignedIn

MECHANISM = "SCRAM-SHA-256"
CHECKED = 8  # so many tokens are checked at least, whoever asks
NONCE = re.compile(r"[!-+\--~]{1,512}")  # printable, no comma
FIRST = re.compile(r"(?P<header>(?P<binding>[ny]|p=[^,]*),(?P<as>a=[^,]*)?,)(?P<bare>n=(?P<name>[^,]*),r=(?P<nonce>[^,]*))")
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
    """server-final-message, and the id of the token that the client knows; or a refusal that is the same for every reason."""
    match = FINAL.fullmatch(_ascii(raw))
    if match is None:
        raise _malformed()
    proof, channel = _base64(match["proof"]), _base64(match["channel"])
    same = hmac.compare_digest(match["nonce"].encode(), offered.nonce.encode())
    if not same or channel != offered.first.header.encode() or len(proof) != 32:
        raise Refused("protocol_violation", "the client's last message does not belong to its first.")
    said = f"{offered.first.bare},{offered.text},{match['without']}".encode()
    found, known = b"", ""
    for id, stored, server in _keys(tokens):
        signature = hmac.digest(stored, said, "sha256")
        client = bytes(a ^ b for a, b in zip(proof, signature))
        if hmac.compare_digest(hashlib.sha256(client).digest(), stored):
            found, known = hmac.digest(server, said, "sha256"), id
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
