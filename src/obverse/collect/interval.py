"""Intervals about shares: all shares under which noise would hardly make what was reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Doubles, Estimated


def interval(found: Estimated, wide: float) -> tuple[Doubles, Doubles]:
    """The least and the greatest share that lie at most `wide` deviations of their own, and half a report, from the estimate.

    Claim:   of direct response by 50 and by 200 people, 2 to 50 options and epsilon 0.1 to 8, an interval of 95 % covers every
             share with at least 94.5 %. For other protocols, and further in the tails, it is as near as the normal law is.
    Proof:   Wilson 1927 for binary answers: a share f is tested with the variance that noise has under f, which is
             A + tilt f - bend f**2, not with that of the estimate, which is next to nothing where few reports came by chance.
             Counts are whole, so half a report is added as the normal law needs it (Yates 1934). Coverage by enumeration:
             tests/unit/collect/test_interval.py.
    Assumes: the variance is linear in the share but for who was sampled; shares beyond [0, 1] vary as the nearest share does.
    """
    import numpy as np

    known = np.clip(found.value, 0.0, 1.0)
    none = found.variance - found.tilt * known + found.bend * known**2  # the variance of a share of nothing
    high = _upper(found.value + found.grain, wide**2, none, found.tilt, found.bend)
    all_ = none + found.tilt - found.bend
    low = 1 - _upper(1 - found.value + found.grain, wide**2, all_, 2 * found.bend - found.tilt, found.bend)
    return low, high


def _upper(centre: Doubles, square: float, none: Doubles, tilt: Doubles | float, bend: Doubles | float) -> Doubles:
    """The greatest f with (f - centre)**2 <= square * variance(f): a quadratic within [0, 1], beyond it plain deviations."""
    import numpy as np

    beyond = centre + np.sqrt(square * np.maximum(none + tilt - bend, 0.0))
    below = centre + np.sqrt(square * np.maximum(none, 0.0))
    half = centre + square * tilt / 2
    under = half**2 - (1 + square * bend) * (centre**2 - square * none)
    root = (half + np.sqrt(np.maximum(under, 0.0))) / (1 + square * bend)
    found: Doubles = np.where(beyond >= 1, beyond, np.where((under >= 0) & (root >= 0), np.minimum(root, 1.0), below))
    return found
