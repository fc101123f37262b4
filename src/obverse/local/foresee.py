"""Before anybody is asked: how many people a share takes to be seen, what a survey will err by, and what it sends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from obverse.local.choose import deviation
from obverse.local.estimate import MALICE, worst_shift
from obverse.local.spec import Spec

SEEN = 0.95  # chance of seeing it


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What `obverse collect plan` prints."""

    people: int
    deviation: float  # of a rare item's share
    visible: float  # the least share that such a survey sees nearly always
    bytes: int
    leverage: float
    worst_shift: float
    central: float  # deviation of the same share if one trusted curator added the noise, at the same epsilon


def foresee(spec: Spec, people: int) -> Foreseen:
    found = deviation(spec.protocol, people)
    frame, leverage = spec.frame.length, spec.protocol.leverage()
    central = math.sqrt(2) / (float(spec.protocol.loss()) * people)
    return Foreseen(people, found, sigmas() * found, frame, leverage, worst_shift(spec, MALICE), central)


def people_needed(spec: Spec, share: float) -> int:
    """How many people it takes to tell a share from none, with one chance in twenty of missing it, or of seeing too much."""
    return math.ceil((sigmas() * deviation(spec.protocol, 1) / share) ** 2)


def sigmas() -> float:
    return 2 * NormalDist().inv_cdf(SEEN)
