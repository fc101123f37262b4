"""Hashes that every client computes alike: of texts to 64 bits, and of these with a seed to a few symbols.

No promise rests on them: a report is private whatever the hash is. Estimates rest on their spreading items evenly.
"""

from __future__ import annotations

import hashlib
import unicodedata
from typing import TYPE_CHECKING

from obverse.core.errors import invariant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

WORD = (1 << 64) - 1
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
SYMBOLS_MAX = 1 << 32


def canonical(text: str) -> bytes:
    """The bytes of a text: UTF-8 of its composed form (NFC), so that one word has one hash on every keyboard."""
    return unicodedata.normalize("NFC", text).encode()


def digest_word(kind: str, *parts: bytes) -> int:
    """64 bits of SHA-256, of a purpose and parts that each are led by their length; least significant byte first."""
    hashed = hashlib.sha256(f"obverse {kind}\0".encode())
    for part in parts:
        hashed.update(len(part).to_bytes(8, "little"))
        hashed.update(part)
    return int.from_bytes(hashed.digest()[:8], "little")


def item_key(text: str) -> int:
    return digest_word("item", canonical(text))


def mix(word: int) -> int:
    """A bijection of 64-bit words in which each bit depends on all (the finisher of splitmix64)."""
    word = (word + _STEP) & WORD
    word = ((word ^ word >> 30) * _FIRST) & WORD
    word = ((word ^ word >> 27) * _SECOND) & WORD
    return word ^ word >> 31


def symbol(seed: int, item: int, symbols: int) -> int:
    """Which of `symbols` symbols the seed's hash gives to an item below 2**32.

    Over random seeds two items are hashed independently, each to 32 uniform bits (multiply, add, shift; Dietzfelbinger 1996).
    """
    factor = mix(seed)
    return (((factor * item + mix(factor)) & WORD) >> 32) * symbols >> 32


def key_symbol(seed: int, key: int, symbols: int) -> int:
    """Which of `symbols` symbols the seed's hash gives to a key of 64 bits."""
    return (mix(mix(seed) ^ key) >> 32) * symbols >> 32


def mixed(words: Words) -> Words:
    """`mix` of many."""
    import numpy as np

    found = words + np.uint64(_STEP)
    found ^= found >> np.uint64(30)
    found *= np.uint64(_FIRST)
    found ^= found >> np.uint64(27)
    found *= np.uint64(_SECOND)
    found ^= found >> np.uint64(31)
    return found


def symbols_of(seeds: Words, items: Words, symbols: int) -> Words:
    """`symbol` of many, seeds and items broadcast against each other."""
    import numpy as np

    invariant(2 <= symbols <= SYMBOLS_MAX, "a hash has from 2 to 2**32 symbols")
    factors = mixed(seeds)
    found = factors * items
    found += mixed(factors)
    found >>= np.uint64(32)
    found *= np.uint64(symbols)
    found >>= np.uint64(32)
    return found


def key_symbols_of(seeds: Words, keys: Words, symbols: int) -> Words:
    """`key_symbol` of many, seeds and keys broadcast against each other."""
    import numpy as np

    invariant(2 <= symbols <= SYMBOLS_MAX, "a hash has from 2 to 2**32 symbols")
    found = mixed(mixed(seeds) ^ keys)
    found >>= np.uint64(32)
    found *= np.uint64(symbols)
    found >>= np.uint64(32)
    return found
