"""Least squares on the box [0, 1]^n by accelerated projection: secret bits from subset sums, at scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

STEPS_MAX = 2000
STILL = 1e-4  # of a bit: a largest move after which hardly anything is rounded differently


def bits_by_least_squares(subsets: NDArray[np.bool_], answers: Numbers) -> NDArray[np.bool_]:
    """The x in [0, 1]^n that comes closest to the answers, rounded."""
    return box_least_squares(*_normal(subsets, answers)) > 0.5


def box_least_squares(overlaps: Numbers, wanted: Numbers) -> Numbers:
    """Nesterov's steps, projected to the box, and begun anew where they overshoot."""
    import numpy as np

    steepest = _steepest(overlaps)
    x = np.full(len(wanted), 0.5)
    ahead, momentum = x, 1.0
    for _ in range(STEPS_MAX):
        moved = np.clip(ahead - (overlaps @ ahead - wanted) / steepest, 0, 1)
        if (ahead - moved) @ (moved - x) > 0:
            momentum = 1.0
        later = (1 + (1 + 4 * momentum * momentum) ** 0.5) / 2
        ahead = moved + (momentum - 1) / later * (moved - x)
        still = np.abs(moved - x).max(initial=0.0) < STILL
        x, momentum = moved, later
        if still:
            break
    return np.asarray(x)


def _normal(subsets: NDArray[np.bool_], answers: Numbers) -> tuple[Numbers, Numbers]:
    """The normal equations, so that a step costs n^2 however many answers there are.

    What all subsets have in common is taken out, and put back as one equation of ordinary weight: it would else make the sum of
    all bits a thousand times steeper than each of them, and the steps as much smaller.
    """
    import numpy as np

    rows = subsets.astype(np.float32)  # sums of up to 2^24 ones are exact
    mean, middle = subsets.mean(axis=0), float(answers.mean())
    overlaps = (rows.T @ rows).astype(np.float64) - len(rows) * np.outer(mean, mean)
    wanted = rows.T @ (answers - middle).astype(np.float32).astype(np.float64)
    length = float(mean @ mean)
    weight = float(np.trace(overlaps)) / len(mean) / length if length else 0.0
    return overlaps + weight * np.outer(mean, mean), wanted + weight * middle * mean


def _steepest(overlaps: Numbers) -> float:
    """A little more than the largest eigenvalue, by powers from a fixed start."""
    import numpy as np

    vector = np.cos(np.arange(len(overlaps)))
    size = 1.0
    for _ in range(40):
        vector = overlaps @ vector
        size = float(np.linalg.norm(vector))
        if size == 0:
            return 1.0
        vector /= size
    return 1.05 * size
