"""Randomness: every request is one read of the operating system's entropy, and nothing is kept between requests.

No state means nothing to repeat: a forked child, a second thread, a restored snapshot cannot meet bytes that were
handed out before. Reading whole vectors at once is what makes it fast; a buffer would save half a microsecond.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from obverse.core.errors import Refused, invariant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]
    Integers = NDArray[np.int64]
    Bits = NDArray[np.bool_]

BELOW_MAX = 2**62


class Rng:
    """Uniform bits from the operating system, and what follows from them exactly. Has no seed."""

    __slots__ = ()

    def __init__(self) -> None:
        seeds = sorted(name for name in os.environ if name.startswith("OBVERSE_") and "SEED" in name)
        if seeds:
            raise Refused(
                "seed_in_production",
                f"the environment sets {seeds[0]}, and noise from a seed can be subtracted by whoever knows it",
                fix=f"Unset {seeds[0]}. Tests take their seeded twin from obverse.testing.",
            )

    def raw(self, n: int) -> bytes:
        """n fresh bytes; the only source, and the only thing a twin for tests replaces."""
        return os.urandom(n)

    def numbers(self, n: int, width: int) -> NDArray[Any]:
        """n uniform numbers of `width` bits: 8, 16, 32 or 64."""
        import numpy as np

        return np.frombuffer(self.raw(n * width // 8), dtype=f"u{width // 8}")

    def words(self, n: int) -> Words:
        """n words of 64 uniform bits."""
        return self.numbers(n, 64)

    def bits(self, n: int) -> Bits:
        """n fair coins."""
        import numpy as np

        return np.unpackbits(self.numbers((n + 7) // 8, 8), count=n).view(np.bool_)

    def key(self) -> bytes:
        """32 fresh bytes, for a keyed hash."""
        return self.raw(32)

    def below(self, bound: int, n: int) -> Integers:
        """n integers, exactly uniform on 0 .. bound - 1.

        A word w of the narrowest sufficient width is kept when it is below the largest multiple of `bound` that the
        width holds; then w mod bound is uniform, because each remainder has the same number of words.
        """
        import numpy as np

        invariant(1 <= bound <= BELOW_MAX, "a uniform bound lies between 1 and 2**62")
        width = 16 if bound <= 1 << 12 else 32 if bound <= 1 << 28 else 64  # rejects few, and reads little
        limit = ((1 << width) // bound) * bound
        keep_rate = limit / (1 << width)
        out = np.empty(n, dtype=np.int64)
        filled = 0
        while filled < n:
            missing = n - filled
            drawn = missing if keep_rate == 1 else int(missing / keep_rate + 3 * missing**0.5) + 8
            words = self.numbers(drawn, width)
            if limit < 1 << width:
                words = words[words < limit]
            words = words[:missing]
            out[filled : filled + len(words)] = words - words // bound * bound
            filled += len(words)
        return out
