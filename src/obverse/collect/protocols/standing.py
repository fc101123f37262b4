"""Reports of one permanent answer have coins in common: what that adds to the variance of a share."""

from __future__ import annotations

from dataclasses import replace

from obverse.collect.protocols.base import Estimated


def with_standing(found: Estimated, own: float, other: float, scale: float) -> Estimated:
    """The estimate, with the part of its variance that is of coins which a device keeps: permanent ones, and its hash.

    `own` is the variance of the chance that a report of somebody with the item supports it, over what the device keeps; `other`
    that of somebody else. Both are divided by `scale`.
    """
    import numpy as np

    lean = (own - other) / scale
    return replace(found, standing=other / scale + np.clip(found.value, 0.0, 1.0) * lean, lean=lean)


def repeated(found: Estimated, times: int) -> Estimated:
    """Shares from reports of which one device sent up to `times`.

    Claim:   the variance is at least that of all coins, fresh and kept, with people's answers fixed.
    Proof:   what a report counts has a variance W over fresh coins, and its chance given what the device keeps has a variance
             B over that; one report has W + B. A device's k reports have k W, and for their chances at most k times the sum
             of their B (Cauchy and Schwarz), whether they are of one permanent answer or of several. As k <= times, all n
             reports together have at most n W + times n B, which is `times` - 1 times n B more than if all were of
             different devices.
    Assumes: devices keep coins of their own, and no device sent more.
    """
    more = times - 1
    return replace(found, variance=found.variance + more * found.standing, tilt=found.tilt + more * found.lean)
