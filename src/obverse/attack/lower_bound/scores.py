"""Scores of outputs, learned from two samples: high where the left one is likelier. Their tails are events.

A small logistic regression, by Newton's steps: which of two samples an output comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


STEPS = 25
SETTLED = 1e-6
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
    both = np.concatenate((left, right))
    low, high = np.quantile(both, [CLIPPED, 1 - CLIPPED], axis=0)
    features = _features(both, low, high)
    mean = features.mean(axis=0)
    scale = features.std(axis=0)
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
    return Logistic(low=low, high=high, mean=mean, scale=scale, weights=weights[:-1])


def _features(outputs: Floats, low: Floats, high: Floats) -> Floats:
    """Each column, its distance from the middle and its square; products of two columns while they are few."""
    columns = np.clip(outputs, low, high)
    centred = columns - (low + high) / 2
    parts = [columns, np.abs(centred), centred**2]
    width = columns.shape[1]
    if 2 <= width <= PRODUCTS_MAX:
        parts.append(np.column_stack([centred[:, i] * centred[:, j] for i, j in combinations(range(width), 2)]))
    return np.concatenate(parts, axis=1)


Score = Callable[[Floats], Floats]


BINS = 256
ATOMS_MAX = 4096  # distinct rows up to which each is a cell of its own
COLUMNS_MAX = 16  # that are looked at one by one
PAIRED_MAX = 6  # columns up to which differences of two are looked at
TRAINED_MAX = 100_000  # outputs of a side that a regression sees


@dataclass(frozen=True, slots=True)
class Column:
    """One number of the output."""

    place: int

    def __call__(self, outputs: Floats) -> Floats:
        return outputs[:, self.place]


@dataclass(frozen=True, slots=True)
class Combined:
    """The sum of all numbers of the output, or the difference of two of them."""

    plus: tuple[int, ...]
    minus: tuple[int, ...] = ()

    def __call__(self, outputs: Floats) -> Floats:
        found: Floats = outputs[:, list(self.plus)].sum(axis=1) - outputs[:, list(self.minus)].sum(axis=1)
        return found


@dataclass(frozen=True, slots=True)
class Histogram:
    """The estimated log-likelihood ratio of the cell that a number falls into: cells of equal mass, common values
    alone.
    """

    of: Score
    edges: Floats
    ratios: Floats

    def __call__(self, outputs: Floats) -> Floats:
        return self.ratios[np.searchsorted(self.edges, self.of(outputs), side="right")]


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of scores: the likelihood ratio itself, where the numbers of an output are independent."""

    parts: tuple[Score, ...]

    def __call__(self, outputs: Floats) -> Floats:
        found: Floats = sum((part(outputs) for part in self.parts[1:]), start=self.parts[0](outputs))
        return found


@dataclass(frozen=True, slots=True)
class Atoms:
    """The estimated log-likelihood ratio of each whole output that was seen; zero for others."""

    ratios: dict[bytes, float]

    def __call__(self, outputs: Floats) -> Floats:
        keys = _rows(outputs)
        distinct, place = np.unique(keys, return_inverse=True)
        known = np.array([self.ratios.get(key.tobytes(), 0.0) for key in distinct])
        return known[place]


def learned(left: Floats, right: Floats) -> Iterator[tuple[str, Score]]:
    """Scores with their names, for outputs that are rows of numbers."""
    width = left.shape[1]
    single = [Column(place) for place in range(width)]
    for column in single[:COLUMNS_MAX]:
        yield (f"output[{column.place}]" if width > 1 else "output"), column
    bins = [histogram(column, left, right) for column in single]
    if width > 1:
        together = Combined(tuple(range(width)))
        yield "sum of the output", together
        yield "likelihood ratio, number by number", Total(tuple(bins))
    else:
        yield "likelihood ratio", bins[0]
    for i, j in combinations(range(width if width <= PAIRED_MAX else 0), 2):
        yield f"likelihood ratio of output[{i}] - output[{j}]", histogram(Combined((i,), (j,)), left, right)
    yield "logistic regression", fitted(left[:TRAINED_MAX], right[:TRAINED_MAX])
    keys, place = np.unique(np.concatenate((_rows(left), _rows(right))), return_inverse=True)
    if len(keys) <= ATOMS_MAX:
        ratios = _log_ratios(place[: len(left)], place[len(left) :], len(keys))
        yield "likelihood ratio of the whole output", Atoms({key.tobytes(): float(r) for key, r in zip(keys, ratios)})


def histogram(of: Score, left: Floats, right: Floats) -> Histogram:
    """Cells from both samples, so that what only one of them has gets a cell too."""
    one = of(left)
    other = of(right)
    grid = np.linspace(0, 1, BINS // 2, endpoint=False)[1:]
    cuts = np.unique(
        np.concatenate((np.quantile(one, grid, method="higher"), np.quantile(other, grid, method="higher")))
    )
    edges = np.unique(np.concatenate((cuts, np.nextafter(cuts, np.inf))))  # a value that is a cut may be an atom
    cells = [np.searchsorted(edges, side, side="right") for side in (one, other)]
    return Histogram(of, edges, _log_ratios(cells[0], cells[1], len(edges) + 1))


def _log_ratios(left: NDArray[np.int64], right: NDArray[np.int64], cells: int) -> Floats:
    """With one output more in each cell, so that rare cells say little."""
    a, b = (np.bincount(side, minlength=cells) + 1.0 for side in (left, right))
    found: Floats = np.log(a / len(left)) - np.log(b / len(right))
    return found


def _rows(outputs: Floats) -> NDArray[np.void]:
    """Each row as one value that can be compared; minus zero is zero."""
    plain = np.ascontiguousarray(outputs + 0.0)
    found: NDArray[np.void] = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1])))[:, 0]
    return found
