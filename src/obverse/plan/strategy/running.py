"""How far the columns of weighted running sums lie apart."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=8)
def gap(weights: tuple[int, ...]) -> int:
    """The largest squared L2 norm of the difference of two columns of different cells.

    Claim:   it is exact, or not less where whole numbers of 64 bits would not hold it.
    Proof:   column j is the weights moved down by j and cut off. Of columns j and k = j + d it is |column j|^2 + |column k|^2
             less twice the sum of w[i] w[i + d] over the rows of column k; all pairs are looked at.
    Assumes: the weights are not negative.
    """
    import numpy as np

    squares = sum(weight * weight for weight in weights)
    if squares >= 1 << 60:
        return 2 * squares  # as far apart as two columns without a common row
    line = np.array(weights, dtype=np.int64)
    length = np.cumsum(line**2)[::-1]  # of column j
    most = 0
    for d in range(1, len(line)):
        shared = np.cumsum(line[: len(line) - d] * line[d:])[::-1]
        most = max(most, int((length[: len(line) - d] + length[d:] - 2 * shared).max()))
    return most
