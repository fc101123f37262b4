"""A fast source of uniform bytes for making many reports at once: AES-256 in counter mode, keyed afresh for every
request.

For simulations, and for a trusted server that makes reports of many people. Devices, and the noise of every answer over
data, read the operating system's entropy (`Rng`) and never this. It needs the extra `collect`; without it, and for
short requests, the bytes are the operating system's own.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from obverse.core.rng import Rng

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Cipher = Callable[[bytes], Any]

KEY_BYTES = 48  # 32 of a key, 16 of the first counter
SHORT = 1 << 12  # up to here a key costs more than the bytes
PER_KEY = 1 << 24
BLOCK = bytes(1 << 16)  # zeros; a block and its cipher text stay in the cache


class Stream(Rng):
    """Uniform bytes from AES-256-CTR; each request, and each 16 MiB of it, has a key of its own from the operating
    system.

    Claim:   whoever does at most T steps tells q requests from uniform bytes with an advantage of at most k A + k
             2**-89, k the keys that were used (at least one for each request, one for each 16 MiB) and A the advantage
             of T steps against AES-256 as a permutation under one secret key. So a report that is epsilon private with
             uniform coins is epsilon private with these against all who cannot break AES-256 (computational, Mironov et
             al. 2009).
    Proof:   under one key at most 2**20 different counters are encrypted, of which no two are the same; exchanging the
             cipher for a random permutation costs A, and that for a random function 2**40 / 2**129 (the switching
             lemma). Keys are independent, so they add up (hybrids).
    Assumes: os.urandom is uniform; memory of this process is not read by others while a request is served.

    Nothing is kept between requests, as in `Rng`: a forked child, a second thread, a copy or a restored snapshot finds
    no key and no counter to go on from.
    """

    __slots__ = ()

    def raw(self, n: int) -> bytes:
        """n fresh bytes."""
        return os.urandom(n) if n <= SHORT or _cipher() is None else self.numbers(n, 8).tobytes()

    def numbers(self, n: int, width: int) -> NDArray[Any]:
        """n uniform numbers of `width` bits."""
        import numpy as np

        length = n * width // 8
        cipher = _cipher()
        if length <= SHORT or cipher is None:
            return np.frombuffer(os.urandom(length), dtype=f"u{width // 8}")
        found = np.empty(n, dtype=f"u{width // 8}")
        whole = found.view(np.uint8)
        for start in range(0, length, PER_KEY):
            _fill(whole[start : start + PER_KEY], cipher(os.urandom(KEY_BYTES)))
        return found


def _fill(out: NDArray[np.uint8], stream: Any) -> None:
    zeros = memoryview(BLOCK)
    for start in range(0, len(out), len(BLOCK)):
        part = out[start : start + len(BLOCK)]
        stream.update_into(zeros[: len(part)], part.data)


@cache
def _cipher() -> Cipher | None:
    """What makes a stream of 48 bytes; nothing where the extra is not installed."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return None
    return lambda secret: Cipher(algorithms.AES(secret[:32]), modes.CTR(secret[32:])).encryptor()
