"""Reports on the wire: the survey's id, the epoch, the payload, each of a fixed length; a batch is one after the other.

Tokens: one report each. The collector hands them out and knows its own again, without a list of who has which.

A token says nothing about its holder. The seed of a report comes from it: nobody chooses the hash of their own report.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.core.rng import Rng

NONCE_BYTES = MARK_BYTES = 16
TOKEN_BYTES = NONCE_BYTES + MARK_BYTES


@dataclass(frozen=True, slots=True)
class Mint:
    """Makes the tokens of one survey, and tells them from others.

    Claim:   who was not given a token cannot make one, but with chance 2**-128 for each try; two tokens do not tell
             whether they were given to the same person.
    Proof:   the mark is an HMAC-SHA-256, cut to 128 bits, of a fresh random nonce; nothing else is in a token.
    Assumes: the secret stays with the collector.
    """

    secret: bytes = field(repr=False)
    survey: bytes

    def issue(self, rng: Rng) -> bytes:
        nonce = rng.raw(NONCE_BYTES)
        return nonce + self._mark(nonce)

    def genuine(self, token: bytes) -> bool:
        nonce = token[:NONCE_BYTES]
        mark = token[NONCE_BYTES:]
        return len(token) == TOKEN_BYTES and hmac.compare_digest(mark, self._mark(nonce))

    def spent_mark(self, token: bytes) -> bytes:
        """What is remembered of a token that was used: it cannot be used again, and cannot be read off what is kept."""
        return hmac.new(self.secret, b"obverse spent\0" + self.survey + token, hashlib.sha256).digest()[:MARK_BYTES]

    @property
    def collector(self) -> str:
        """A name by which what this collector counted is known again; the secret cannot be read off it."""
        return hmac.new(self.secret, b"obverse collector\0" + self.survey, hashlib.sha256).digest()[:MARK_BYTES].hex()

    def _mark(self, nonce: bytes) -> bytes:
        return hmac.new(self.secret, b"obverse token\0" + self.survey + nonce, hashlib.sha256).digest()[:MARK_BYTES]


Rows = NDArray[np.uint8]


ID_BYTES = 8
EPOCH_BYTES = 2
HEAD_BYTES = ID_BYTES + EPOCH_BYTES
EPOCH_MAX = (1 << 8 * EPOCH_BYTES) - 1


@dataclass(frozen=True, slots=True)
class Frame:
    """How reports of one survey look."""

    survey: bytes  # the first bytes of the spec's hash
    payload: int  # bytes

    @property
    def length(self) -> int:
        return HEAD_BYTES + self.payload

    def framed(self, epoch: int, payload: bytes) -> bytes:
        invariant(0 <= epoch <= EPOCH_MAX and len(payload) == self.payload, "a report of this survey")
        return self.survey + epoch.to_bytes(EPOCH_BYTES, "little") + payload

    def framed_all(self, epoch: int, payloads: Rows) -> bytes:
        head = np.frombuffer(self.survey + epoch.to_bytes(EPOCH_BYTES, "little"), dtype=np.uint8)
        return np.concatenate([np.broadcast_to(head, (len(payloads), HEAD_BYTES)), payloads], axis=1).tobytes()

    def rows(self, batch: bytes) -> Rows | None:
        """The reports of a batch, one in a row; None where its length is not that of whole reports."""
        if len(batch) % self.length:
            return None
        return np.frombuffer(batch, dtype=np.uint8).reshape(-1, self.length)
