"""Tokens: one report each. The collector hands them out and knows its own again, without a list of who has which.

A token says nothing about its holder. The seed of a report comes from it: nobody chooses the hash of their own report.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from obverse.core.rng import Rng

NONCE_BYTES = MARK_BYTES = 16
TOKEN_BYTES = NONCE_BYTES + MARK_BYTES


@dataclass(frozen=True, slots=True)
class Mint:
    """Makes the tokens of one survey, and tells them from others.

    Claim:   who was not given a token cannot make one, but with chance 2**-128 for each try; two tokens do not tell whether
             they were given to the same person.
    Proof:   the mark is an HMAC-SHA-256, cut to 128 bits, of a fresh random nonce; nothing else is in a token.
    Assumes: the secret stays with the collector.
    """

    secret: bytes = field(repr=False)
    survey: bytes

    def issue(self, rng: Rng) -> bytes:
        nonce = rng.raw(NONCE_BYTES)
        return nonce + self._mark(nonce)

    def genuine(self, token: bytes) -> bool:
        nonce, mark = token[:NONCE_BYTES], token[NONCE_BYTES:]
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
