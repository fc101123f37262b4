"""Half-widths of sums of independent noises: the only source of error bars, built from public figures and noisy
values.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Noise(NamedTuple):
    """Noise of one measure in real units: the scale of its continuous twin (Laplace's b, Gauss's sigma), and its
    step.
    """

    scale: float
    step: float


HALVINGS = 40  # of a search for an end; what is left of it stays inside the interval
NEWTON = 7  # steps towards a half-width, each of which about doubles the digits
NEAR = 1 + 1e-9  # what they reach is widened by this, and checked
RATIOS = 1024  # steps at which the width of a ratio's noise is known; between them it is that of the next
APART = 1.02  # scales closer than this are widened: a wider scale only widens the interval


def laplace_half_width(scales: list[Floats], level: float) -> Floats:
    """Smallest t with P[|sum of independent Laplaces| <= t] >= level, entry by entry.

    The characteristic function of the sum is a product of 1/(1 + b^2 s^2); its partial fractions make the sum a signed
    mixture of single Laplaces, so the tail is sum of A_i exp(-t / b_i) with A_i the product of b_i^2 / (b_i^2 - b_j^2).
    """
    b = np.sort(np.stack(np.broadcast_arrays(*scales)).astype(float), axis=0)[::-1].copy()
    largest = b[0].copy()
    b /= np.where(largest > 0, largest, 1.0)  # so that no square overflows or vanishes
    b[0] = 1.0
    for i in range(1, len(b)):
        b[i] = np.maximum(b[i], b[i - 1] * 1e-9)
    for i in range(len(b) - 2, -1, -1):
        b[i] = np.maximum(b[i], APART * b[i + 1])
    squares = b**2
    weights = np.ones_like(b)
    for i in range(len(b)):
        for j in range(len(b)):
            if i != j:
                weights[i] *= squares[i] / (squares[i] - squares[j])
    return np.asarray(_tail_end(b, weights, 1 - level) * largest, dtype=float)


def _tail_end(b: Floats, weights: Floats, alpha: float) -> Floats:
    """Where the tail sum of weights exp(-t / b) falls to alpha, or a little further out; the largest b is 1.

    The tail is convex and that of the largest noise alone lies below it, so Newton's steps from there rise towards the
    end without passing it. Where they did not arrive the end is found by halving.
    """
    end = np.full(b.shape[1:], -math.log(alpha))
    for _ in range(NEWTON):
        terms = weights * np.exp(-end / b)
        end = end + np.maximum((terms.sum(axis=0) - alpha) / (terms / b).sum(axis=0), 0.0)
    end = end * NEAR
    if not ((weights * np.exp(-end / b)).sum(axis=0) > alpha).any():
        return end
    low = np.zeros_like(end)
    high = b.sum(axis=0) * -math.log(alpha / (2 * len(b)))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        outside = (weights * np.exp(-middle / b)).sum(axis=0) > alpha
        low = np.where(outside, middle, low)
        high = np.where(outside, high, middle)
    return np.asarray(high)


def gaussian_half_width(scales: list[Floats], level: float) -> Floats:
    total = np.sqrt(sum(np.asarray(s, dtype=float) ** 2 for s in scales))
    return np.asarray(total * NormalDist().inv_cdf((1 + level) / 2), dtype=float)


def half_width(noises: list[tuple[Floats, Noise]], level: float, *, gaussian: bool) -> Floats:
    """A half-width that holds the sum of coefficient times integer noise with at least the stated level.

    Claim:   P[|sum c_i Z_i| <= t] >= level, Z_i independent integer noises, each worth a step.
    Proof:   Z_i can be drawn together with its continuous twin L_i of the same scale so that |Z_i - L_i| <= 1 step.
             Laplace: a two-sided geometric is floor(E) - floor(F) of two exponentials, and E - F is Laplace. Gauss: the
             tails interlace, P[N >= m + 1] <= P[Z >= m] <= P[N >= m - 1] (Canonne, Kamath, Steinke 2020, Prop. 25, and
             the sums that it compares). So the sums differ by at most the sum of |c_i| steps, which is added.
    Assumes: scales are those of the mechanisms.
    """
    scales = [coefficient * noise.scale for coefficient, noise in noises]
    apart = sum(coefficient * noise.step for coefficient, noise in noises)
    return (gaussian_half_width(scales, level) if gaussian else laplace_half_width(scales, level)) + apart


def ratio(
    top: Floats, bottom: Floats, noise: tuple[Noise, Noise], limit: float, level: float, *, gaussian: bool
) -> tuple[Floats, Floats]:
    """Fieller's interval for the ratio of two noisy sums, within [-limit, limit].

    The true ratio r makes top - r * bottom pure noise of scales (b_top, |r| b_bottom), so {r : |top - r bottom| <=
    q(r)} covers it with the stated level. q grows with |r|, so it is tabulated once on a grid and read from the right:
    between two points of the grid it is constant, and an end there is solved for. Where the bottom is surely positive,
    bottom times r outgrows q(r), so that each side has one end; the piece that it lies in is found by halving.
    """
    grid = np.linspace(0.0, limit, RATIOS + 1)
    widths = half_width([(np.ones_like(grid), noise[0]), (grid, noise[1])], level, gaussian=gaussian)

    safe = bottom > float(half_width([(np.asarray(1.0), noise[1])], level, gaussian=gaussian))
    above = top[safe]
    below = bottom[safe]
    # a lower end is the upper one, mirrored
    tops = np.concatenate((-above, above))
    bottoms = np.concatenate((below, below))
    middle = np.clip(tops / bottoms, -limit, limit)
    points = np.linspace(-limit, limit, 2 * RATIOS + 1)
    right = widths[
        np.minimum(np.maximum(np.arange(RATIOS, -RATIOS - 1, -1), np.arange(-RATIOS, RATIOS + 1) + 1), RATIOS)
    ]
    inner = np.searchsorted(points, middle, side="right") - 1  # right[i] is the width between points i and i + 1
    outer = np.full_like(inner, len(points) - 1)
    whole = points[-1] * bottoms - tops <= right[-1]
    while (outer - inner > 1).any():
        probe = (inner + outer) // 2
        beyond = points[probe] * bottoms - tops > right[probe]
        inner = np.where(beyond, inner, probe)
        outer = np.where(beyond, probe, outer)
    ends = np.where(whole, limit, np.clip((tops + right[inner]) / bottoms, points[inner], points[outer]))
    lower = np.full(top.shape, -float(limit))
    upper = np.full(top.shape, float(limit))
    lower[safe] = -ends[: len(above)]
    upper[safe] = ends[len(above) :]
    return lower, upper
