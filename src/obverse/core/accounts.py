"""Who may reach a service: accounts, their roles and tokens, as the ledger remembers them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from obverse.core.errors import Refused

Role = Literal["curator", "analyst", "reviewer"]
ROLES: tuple[Role, ...] = get_args(Role)
STOPPED_MAX = 3  # questions killed at the limit, after which an analyst waits for the curator
ITERATIONS = 4096  # enough for secrets of 256 bits; the client pays for more
TOKEN_SIGN = "obv_"
KEY_DIGITS = 64  # of a key of SCRAM-SHA-256, as it is written
NAME_MAX = 128


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept: never itself, but hashes of it. `stored_key` and `server_key` are those of SCRAM (RFC
    5802).

    Who has these two can play the server to a client that does not look at certificates, and be that client from then
    on. So they lie beside the chain, in the note of `record`, and are empty here until they are wanted.
    """

    id: str
    hash: str = field(repr=False)
    expires: int  # seconds since 1970
    stored_key: str = field(default="", repr=False)
    server_key: str = field(default="", repr=False)
    record: int = 0

    def with_keys(self, note: str) -> Token:
        """With the keys of its note; those of a record that was written before there were such notes stand in
        itself.
        """
        return self if self.stored_key else replace(self, stored_key=note[:KEY_DIGITS], server_key=note[KEY_DIGITS:])


@dataclass(frozen=True, slots=True)
class Account:
    """One account. `epoch` is the number of the record that last changed it: what was signed before is void."""

    name: str
    role: Role
    tokens: Mapping[str, Token] = field(default_factory=dict)
    suspended: str = ""  # why, where it is
    stopped: int = 0  # questions killed at the limit since the curator last looked
    password: int | None = None  # the record whose note holds its hash
    epoch: int = 0

    @property
    def barred(self) -> bool:
        return bool(self.suspended) or self.stopped >= STOPPED_MAX

    def live(self, now_s: float) -> tuple[Token, ...]:
        """Tokens that have not expired."""
        return tuple(token for token in self.tokens.values() if now_s < token.expires)

    def held(self, plain: str, now_s: float) -> str:
        """The id of a token where it is one of this account's, else nothing; every one of them is compared."""
        digest = token_hash(plain)
        found = ""
        for token in self.live(now_s):
            found = token.id if hmac.compare_digest(token.hash, digest) else found
        return found

    def with_token(self, token: Token) -> Account:
        return replace(self, tokens={**self.tokens, token.id: token})

    def without_token(self, id: str) -> Account:
        """Without one token, or without any."""
        return replace(self, tokens={name: token for name, token in self.tokens.items() if id and name != id})


def fresh_token(expires: int, salt: bytes) -> tuple[str, Token]:
    """A token of 256 bits, to be shown once, and what is kept of it."""
    plain = TOKEN_SIGN + base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()
    stored, server = scram_keys(plain, salt)
    return plain, Token(
        id=secrets.token_hex(4),
        hash=token_hash(plain),
        expires=expires,
        stored_key=stored.hex(),
        server_key=server.hex(),
    )


def wire_salt(secret: bytes, name: str) -> bytes:
    """The salt of a name's tokens.

    Every name has one, known or not, and always the same: it tells nothing of either.
    """
    return hmac.digest(secret, b"salt\0" + name.encode("utf-8", "surrogatepass"), "sha256")[:16]


def token_hash(plain: str) -> str:
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def scram_keys(password: str, salt: bytes, iterations: int = ITERATIONS) -> tuple[bytes, bytes]:
    """StoredKey and ServerKey of RFC 5802 under SHA-256."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client = hmac.digest(salted, b"Client Key", "sha256")
    return hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256")


def check_name(name: str) -> str:
    if not name.isprintable() or not 0 < len(name) <= NAME_MAX or name != name.strip() or set(name) & set("./\\:?#%"):
        raise Refused("bad_name", "not a name for an account", fix="Use letters and digits, such as ana.")
    return name
