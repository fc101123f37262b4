"""A small logistic regression, by Newton's steps: which of two samples an output comes from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS, SETTLED = 25, 1e-6
RIDGE = 1e-4  # of the mean curvature: separable samples must not run away
CLIPPED = 0.0005  # of the samples, at either end: heavy tails must not steer the weights
PRODUCTS_MAX = 8  # columns up to which products of two are features


@dataclass(frozen=True, slots=True)
class Logistic:
    """Log-odds that an output comes from the left sample, linear in features of the output."""

    low: Floats
    high: Floats
    mean: Floats
    scale: Floats
    weights: Floats

    def __call__(self, outputs: Floats) -> Floats:
        found: Floats = (_features(outputs, self.low, self.high) - self.mean) / self.scale @ self.weights
        return found


def fitted(left: Floats, right: Floats) -> Logistic:
    """Maximum likelihood with a little ridge. Only the choice of an event rests on it, never its count."""
    import numpy as np

    both = np.concatenate((left, right))
    low, high = np.quantile(both, [CLIPPED, 1 - CLIPPED], axis=0)
    features = _features(both, low, high)
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1.0
    x = np.column_stack(((features - mean) / scale, np.ones(len(both))))
    y = np.concatenate((np.ones(len(left)), np.zeros(len(right))))
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        curved = x * (chance * (1 - chance))[:, None]
        hessian = curved.T @ x
        ridge = RIDGE * max(float(np.trace(hessian)) / len(weights), 1e-9)
        step = np.linalg.solve(hessian + ridge * np.eye(len(weights)), x.T @ (y - chance) - ridge * weights)
        step *= min(1.0, 5 / max(float(np.abs(step).max()), 1e-12))
        weights += step
        if float(np.abs(step).max()) < SETTLED:
            break
    return Logistic(low, high, mean, scale, weights[:-1])


def _features(outputs: Floats, low: Floats, high: Floats) -> Floats:
    """Each column, its distance from the middle and its square; products of two columns while they are few."""
    import numpy as np

    columns = np.clip(outputs, low, high)
    centred = columns - (low + high) / 2
    parts = [columns, np.abs(centred), centred**2]
    width = columns.shape[1]
    if 2 <= width <= PRODUCTS_MAX:
        parts.append(np.column_stack([centred[:, i] * centred[:, j] for i, j in combinations(range(width), 2)]))
    return np.concatenate(parts, axis=1)
