"""All 2^n candidates at once: which databases of n bits agree with every answer? Bits of a word, and counts of ones in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from obverse.core.errors import invariant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PEOPLE_MAX = 26
CHUNK = 1 << 20


def consistent(subsets: NDArray[np.bool_], answers: NDArray[np.float64], error: float) -> NDArray[np.uint32]:
    """Every candidate, person i in bit i, whose sums are all within `error` of the answers.

    Proof of its worth (Dinur and Nissim): with all 2^n subsets answered, two candidates that agree within E differ from each
    other in at most 4E people: the sets where one exceeds the other would else tell them apart.
    """
    import numpy as np

    people = subsets.shape[1]
    invariant(people <= PEOPLE_MAX, "too many people to try every candidate")
    masks = subsets @ (np.uint32(1) << np.arange(people, dtype=np.uint32))
    least, most = np.ceil(answers - error - 1e-9), np.floor(answers + error + 1e-9)
    kept = []
    for start in range(0, 1 << people, CHUNK):
        alive = np.arange(start, min(start + CHUNK, 1 << people), dtype=np.uint32)
        for mask, low, high in zip(masks.astype(np.uint32), least, most):
            ones = np.bitwise_count(alive & mask)
            alive = alive[(ones >= low) & (ones <= high)]
            if not len(alive):
                break
        kept.append(alive)
    return np.concatenate(kept)


def bits_of(candidates: NDArray[np.uint32], people: int) -> NDArray[np.bool_]:
    """Candidates as rows of bits."""
    import numpy as np

    return np.asarray((candidates[:, None] >> np.arange(people, dtype=np.uint32)) & 1 == 1)
