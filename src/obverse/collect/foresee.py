"""Before anybody is asked: how many people a share takes to be seen, what a survey will err by, and what it sends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from obverse.collect.choose import deviation, variances
from obverse.collect.discover import MISSED, people_for
from obverse.collect.estimate import MALICE, worst_shift
from obverse.collect.protocols import WordProtocol
from obverse.collect.spec import Spec
from obverse.core.errors import Refused

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


def people_needed(spec: Spec, share: float) -> int | None:
    """How many people it takes to tell a share from none, with one chance in twenty of missing it, or of seeing too much.

    None where no number does: what hashes leave is larger than that, however many there are.
    """
    if not 0 < share <= 1:
        raise Refused("bad_parameter", "a share lies between 0 and 1.", fix="Write a share such as 0.01.")
    if isinstance(spec.protocol, WordProtocol):
        return people_for(spec.protocol, share)
    alone, floor = variances(spec.protocol, 1)
    left = (share / sigmas()) ** 2 - floor
    return math.ceil(alone / left) if left > 0 else None


def needed_words(needed: int | None, what: str) -> str:
    """The same for people."""
    if needed is None:
        return f"no number of them sees a {what}: what shares a hash hides it. Name another protocol, or more people"
    return f"{needed:,} are needed to see a {what}"


def sigmas() -> float:
    return 2 * NormalDist().inv_cdf(SEEN)
