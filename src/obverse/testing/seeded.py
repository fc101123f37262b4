"""The seeded twin of Rng, for tests only: the same draws from the same seed."""

from __future__ import annotations

import hashlib
import itertools

from obverse.core.rng import Rng


class SeededRng(Rng):
    """A stream of SHAKE-256 digests of (seed, request number). Never use it for a release."""

    __slots__ = ("_requests", "_seed")

    def __init__(self, seed: int) -> None:
        # Rng.__init__ is left out on purpose: it refuses seeds.
        self._seed = seed.to_bytes(16, "little", signed=True)
        self._requests = itertools.count()

    def raw(self, n: int) -> bytes:
        return hashlib.shake_256(self._seed + next(self._requests).to_bytes(8, "little")).digest(n)
