"""The Walsh-Hadamard transform on integers: exact, and in n log n."""

from __future__ import annotations

from typing import TYPE_CHECKING

from obverse.core.errors import invariant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


def walsh_hadamard(rows: Integers) -> Integers:
    """Each row times the matrix of (-1)**(number of ones in i & j); a new array.

    Claim:   exact, as long as the sum of a row's absolute values is below 2**63.
    Proof:   Sylvester: H of 2 h is (H, H; H, -H), so that a step adds and subtracts halves of runs of 2 h; no number met on
             the way exceeds that sum.
    Assumes: rows of a length that is a power of two.
    """
    import numpy as np

    n, length = rows.shape
    invariant(length & (length - 1) == 0, "a transform has a power of two of places")
    found, spare = rows.copy(), np.empty_like(rows)
    half = 1
    while half < length:
        runs, out = found.reshape(n, -1, 2, half), spare.reshape(n, -1, 2, half)
        np.add(runs[:, :, 0], runs[:, :, 1], out=out[:, :, 0])
        np.subtract(runs[:, :, 0], runs[:, :, 1], out=out[:, :, 1])
        found, spare, half = spare, found, 2 * half
    return found
