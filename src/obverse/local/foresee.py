"""Before anybody is asked: how many people a share takes to be seen, what a survey will err by, and what it sends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from obverse.local.choose import deviation
from obverse.local.discover import MISSED, people_for
from obverse.local.estimate import MALICE, worst_shift
from obverse.local.protocols import WordProtocol
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
    visible = sigmas() * found
    if isinstance(spec.protocol, WordProtocol):
        visible = spec.protocol.visible(people, 1 - SEEN, MISSED)
    frame, leverage = spec.frame.length, spec.protocol.leverage()
    central = math.sqrt(2) / (float(spec.protocol.loss()) * people)
    return Foreseen(people, found, visible, frame, leverage, worst_shift(spec, MALICE), central)


def people_needed(spec: Spec, share: float) -> int:
    """How many people it takes to tell a share from none, with one chance in twenty of missing it, or of seeing too much."""
    if isinstance(spec.protocol, WordProtocol):
        return people_for(spec.protocol, share)
    return math.ceil((sigmas() * deviation(spec.protocol, 1) / share) ** 2)


def sigmas() -> float:
    return 2 * NormalDist().inv_cdf(SEEN)
