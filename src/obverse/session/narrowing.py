"""Bounds out of what was released of units' own values: post-processing, like any reading of an answer."""

from __future__ import annotations

import math

from obverse.core.errors import invariant
from obverse.mechanisms.base import Additive
from obverse.plan.searched import chosen
from obverse.session.execution import Earlier
from obverse.session.learned_limits import noise_per_cap
from obverse.session.planning import Planned
from obverse.sql.google.searching import Found


def bounds_from(planned: Planned, answers: Earlier) -> Found:
    """The bounds of each aggregate that left them out."""
    import numpy as np

    found = {}
    for (search, _), (costed, answer) in zip(planned.question.searches, answers, strict=True):
        (mechanism,) = costed.mechanisms
        assert isinstance(mechanism, Additive)
        deviation = mechanism.stddev() * float(costed.measures[0].unit)
        levels, counts = np.array(answer.rows, dtype=np.float64).T
        invariant(levels.tolist() == list(search.scale.levels), "every level has its count, in order")
        noise = _noise(planned, float(counts.sum())) if deviation else 0.0
        found[search.name] = chosen(search, counts, deviation, noise)
    return found


def _noise(planned: Planned, units: float) -> float:
    """Of all cells together, for each 1 that the bounds reach. Discovered keys are between one and as many as can pass."""
    threshold = planned.costed.threshold
    return noise_per_cap(planned.costed, 1.0 if threshold is None else math.sqrt(max(1.0, units / threshold.threshold)))
