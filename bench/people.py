"""People whose answers are collected: items drawn with a heavy head. Peers import this file in their own environments."""

from __future__ import annotations

from typing import Any

SEED = 20260
ITEMS, EPSILON = 1024, 1.0
SKETCH_ROWS, SKETCH_COLUMNS = 64, 1024  # as in pure-ldp's examples


def items(n: int, size: int) -> Any:
    """n items below `size`; item i in proportion to (i + 1) ** -1.1."""
    import numpy as np

    weights = np.arange(1, size + 1, dtype=np.float64) ** -1.1
    cumulated = np.cumsum(weights) / weights.sum()
    return np.searchsorted(cumulated[:-1], np.random.default_rng((SEED, n, size)).random(n), side="right")
