"""The mean of places of a grid, from the scores of what was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from obverse.collect.protocols.base import Estimated, MeanProtocol

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Counts


def averaged(counts: Counts, n: int, protocol: MeanProtocol) -> Estimated:
    """The mean of scores, each unbiased for its sender, by how often each was sent.

    Claim:   unbiased; the variance is at least that of people fixed and coins fresh, on average, and more by the variance of
             people's own values over n: it is right for people drawn at random. It is never below what coins alone make of
             people with this mean: few reports, all alike, are not certain.
    Proof:   it is the empirical variance of a score over n. By the law of total variance that of a score of somebody drawn is
             the mean variance of people's scores plus the variance of their values. `least_spread` bounds the former.
    Assumes: one report per person.
    """
    import numpy as np

    known = np.array([float(score) for score in protocol.scores()])
    mean = float(counts @ known) / n
    spread = max(float(counts @ (known - mean) ** 2) / n, least_spread(protocol, mean))
    return Estimated(np.array([mean]), np.array([spread / n]))


def least_spread(protocol: MeanProtocol, mean: float) -> float:
    """The least that the variance of scores is on average, among people whose values have this mean, cut to [0, 1].

    Claim:   with x a value from 0 to 1, s the variance at an end and s + k x (1 - x) that at x: s, or s + k m (1 - m) for a
             mean m if k is negative.
    Proof:   variances of all three protocols are polynomials of degree two in x, the same at x and 1 - x. The mean of
             x (1 - x) lies between 0, if all are at an end, and m (1 - m), if all are at m.
    Assumes: nothing.
    """
    end, middle = protocol.spread(0), protocol.size // 2
    along = middle / (protocol.size - 1)
    bend = float(protocol.spread(middle) - end) / (along * (1 - along)) if along < 1 else 0.0
    held = min(max(mean, 0.0), 1.0)
    return float(end) + min(bend, 0.0) * held * (1 - held)
