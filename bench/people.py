"""People whose answers are collected: items drawn with a heavy head.

Peers import this file in their own environments.
"""

from __future__ import annotations

from typing import Any

SEED = 20260
ITEMS = 1024
EPSILON = 1.0
# as in pure-ldp's examples
SKETCH_ROWS = 64
SKETCH_COLUMNS = 1024


def items(n: int, size: int) -> Any:
    """n items below `size`; item i in proportion to (i + 1) ** -1.1."""
    import numpy as np

    weights = np.arange(1, size + 1, dtype=np.float64) ** -1.1
    cumulated = np.cumsum(weights) / weights.sum()
    return np.searchsorted(cumulated[:-1], np.random.default_rng((SEED, n, size)).random(n), side="right")


def words(n: int) -> tuple[list[str], Any]:
    """2,000 made-up words of 2 to 6 letters, the most frequent first, and which of them each of n people has."""
    import numpy as np

    generator = np.random.default_rng(SEED)
    made = dict.fromkeys(["ab"])
    while len(made) < 2000:
        made["".join(map(chr, generator.integers(97, 123, generator.integers(2, 7))))] = None
    return list(made), items(n, len(made))
