"""Permanent answers: coins that a device always flips alike, from its key. Nothing is stored but the key.

Whoever asks the same thing twice gets a report of the same permanent answer, so that averaging many reports finds that answer,
which is randomized itself, and never the true one.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

from obverse.collect.protocols.base import LastingProtocol
from obverse.collect.randomness.coins import Coins
from obverse.core.errors import invariant

KEY_BYTES = 32
_SEED, _ANSWER, _BEYOND, _MARK = b"seed", b"answer", b"beyond", b"mark"


@dataclass(frozen=True, slots=True)
class Memo:
    """A device's permanent coins for one question; the salt names the question, so that two have nothing in common.

    Claim:   coins of different labels, salts or devices are independent and uniform to anyone who has not the key.
    Proof:   bytes are HMAC-SHA256 in counter mode under HMAC-SHA256(key, purpose, salt, label), every part led by its
             length; a pseudorandom function on different inputs.
    Assumes: HMAC-SHA256 is a pseudorandom function; the key is 32 bytes of the system's entropy that never leave the device.
    """

    key: bytes = field(repr=False)
    salt: bytes

    def __post_init__(self) -> None:
        invariant(len(self.key) == KEY_BYTES, "the key of permanent answers has 32 bytes")

    def coins(self, label: int) -> Coins:
        """The coins of one permanent answer, from the first on."""
        return Coins(_Stream(self._under(_ANSWER, label.to_bytes(8, "little"))).raw)

    def beyond(self) -> Coins:
        """The coins of a permanent answer that tells of no answer, for a device that has spent all it may."""
        return Coins(_Stream(self._under(_BEYOND, b"")).raw)

    def mark(self, label: int) -> bytes:
        """What is remembered of a label that was used; who has not the key cannot try out which it was."""
        return self._under(_MARK, label.to_bytes(8, "little"))

    def seed(self) -> int:
        """The device's own seed for this question, the same for ever."""
        return int.from_bytes(self._under(_SEED, b"")[:8], "little")

    def _under(self, *parts: bytes) -> bytes:
        told = b"".join(len(part).to_bytes(8, "little") + part for part in (self.salt, *parts))
        return hmac.digest(self.key, b"obverse memo\0" + told, "sha256")


def lasting_report(protocol: LastingProtocol, code: int, coins: Coins, memo: Memo) -> bytes:
    """One of many reports of a device: its permanent answer, randomized once more by fresh coins."""
    seed = memo.seed()
    permanent = protocol.permanent(code, memo.coins(protocol.label(code, seed)), seed)
    return protocol.instant(permanent, coins, seed)


class _Stream:
    """Bytes of HMAC-SHA256 in counter mode, one after the other."""

    __slots__ = ("block", "key", "left")

    def __init__(self, key: bytes) -> None:
        self.key, self.block, self.left = key, 0, b""

    def raw(self, n: int) -> bytes:
        while len(self.left) < n:
            self.left += hmac.digest(self.key, self.block.to_bytes(8, "little"), "sha256")
            self.block += 1
        found, self.left = self.left[:n], self.left[n:]
        return found
