"""The nearest vector that never falls: noise that breaks a known order is averaged away."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def isotonic(values: Floats) -> Floats:
    """Least squares among vectors that do not fall.

    Claim:   the projection. Proof: two neighbours of which the first is above the second have one value in it; so runs of such
             blocks are pooled into their mean until none are left (Ayer et al. 1955, in any order). Assumes: nothing.
    """
    import numpy as np

    means, sizes = values.astype(np.float64), np.ones(len(values), dtype=np.int64)
    while len(means) > 1:
        starts = np.flatnonzero(np.concatenate([[True], means[1:] >= means[:-1]]))
        if len(starts) == len(means):
            break
        total = np.add.reduceat(means * sizes, starts)
        sizes = np.add.reduceat(sizes, starts)
        means = total / sizes
    return np.repeat(means, sizes)
