"""Reports that no honest device sends but by a rare chance: bit vectors with far too many ones, or far too few.

They count, because some coins could have made them, and because whoever knows the rule stays below it; what crafted reports can
do is bounded by `leverage` all the same. The flag tells the curator that somebody tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.collect.protocols import CountMean, LocalProtocol, MemoisedUnary, Rappor, Unary
from obverse.collect.randomness.odds import share

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Payloads

RARE = 1e-9  # the chance that an honest report is flagged, at most


@dataclass(frozen=True, slots=True)
class Ones:
    """How many bits of an honest report are set: from `least` to `most`, but with chance RARE. They follow `head` bytes."""

    head: int
    least: int
    most: int


def honest_ones(protocol: LocalProtocol) -> Ones | None:
    """None for protocols whose reports are not vectors of independent bits.

    Claim:   an honest report lies outside with a chance of at most RARE.
    Proof:   its bits are independent coins. By Hoeffding (1956) a sum of coins of mean m strays no further than as many coins
             of mean m each, beyond w with a chance of at most exp(-bits KL(w / bits, m)); both sides are given half of RARE.
    Assumes: one report for itself; those of one permanent answer stray together.
    """
    if isinstance(protocol, Unary):
        return _between(0, protocol.size, float(share(protocol.own)), float(share(protocol.other)), 1, 1)
    if isinstance(protocol, MemoisedUnary):
        return _between(0, protocol.size, float(protocol.own), float(protocol.other), 1, 1)
    if isinstance(protocol, CountMean):
        return _between(protocol.head, protocol.columns, float(protocol.own), 1 - float(protocol.own), 1, 1)
    if isinstance(protocol, Rappor):
        return _between(protocol.head, protocol.bits, float(protocol.own), float(protocol.other), 1, protocol.hashes)
    return None


def odd_reports(protocol: LocalProtocol, payloads: Payloads) -> int:
    """How many of these payloads are flagged."""
    import numpy as np

    honest = honest_ones(protocol)
    if honest is None or not len(payloads):
        return 0
    ones = np.bitwise_count(payloads[:, honest.head :]).sum(axis=1, dtype=np.int64)
    return int(np.count_nonzero((ones < honest.least) | (ones > honest.most)))


def _between(head: int, bits: int, own: float, other: float, fewest: int, largest: int) -> Ones:
    """From where to where the ones go, if from `fewest` to `largest` bits are one's own."""
    low, high = (other + (own - other) * held / bits for held in (fewest, largest))
    far = math.log(2 / RARE) / bits
    most = next((w for w in range(math.ceil(high * bits), bits) if _distance((w + 1) / bits, high) > far), bits)
    least = next((w for w in range(math.floor(low * bits), 0, -1) if _distance((w - 1) / bits, low) > far), 0)
    return Ones(head, least, most)


def _distance(seen: float, mean: float) -> float:
    """Kullback-Leibler, of coins."""
    return sum(x * math.log(x / y) for x, y in ((seen, mean), (1 - seen, 1 - mean)) if x > 0)
