"""Numbers for simulations on what was released: whoever has the release draws the same ones. Never noise."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

STEP, MIX = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of splitmix64
WORD = (1 << 64) - 1


class Draws:
    """Uniform numbers in [0, 1) that follow from what was measured alone (splitmix64)."""

    def __init__(self, measured: Sequence[Integers], what: str) -> None:
        digest = hashlib.sha256(what.encode())
        for values in measured:
            digest.update(values.astype("<i8").tobytes())
        self._state = int.from_bytes(digest.digest()[:8], "little")

    def uniform(self, n: int) -> Floats:
        import numpy as np

        x = np.uint64(self._state) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(STEP)
        self._state = (self._state + n * STEP) & WORD
        for shift, factor in zip((30, 27), MIX):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        return ((x ^ (x >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def noise(self, n: int, stddev: float, *, gaussian: bool) -> Floats:
        """Like the noise of a measurement, in doubles: to see how far what follows from it may be off."""
        import numpy as np

        u = 1 - self.uniform(n)
        if gaussian:
            found: Floats = stddev * np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * self.uniform(n))
            return found
        sign = np.where(self.uniform(n) < 0.5, -1.0, 1.0)
        return -sign * np.log(u) * stddev / 2**0.5
