"""One bit for a mean: Duchi's two outputs, which are the one-bit mean too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from obverse.collect.protocols.base import Coded, Estimated, Told, everyone, numbers_in, packed, tallied
from obverse.collect.protocols.direct import Direct
from obverse.collect.protocols.means import averaged
from obverse.collect.randomness.coins import Coins, flips
from obverse.collect.randomness.odds import HALF, ONE, share
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

SIZE_MAX = 1 << 24


@dataclass(frozen=True, slots=True)
class OneBitMean:
    """Place i of 0 .. size - 1 is rounded to one of the two ends, at random, and the end sent with probability kept / 2**53.

    Claim:   epsilon = ln(p / (1 - p)) per report and person, p = kept / 2**53, rounded up.
    Proof:   randomized response on the end: Warner 1965. With x = i / (size - 1) the last end is sent with probability
             P = (1 - p) + x (2 p - 1), which is 1 / (E + 1) + x (E - 1) / (E + 1) for E = p / (1 - p): the law of Duchi,
             Jordan, Wainwright 2018 in one dimension and of Ding, Kulkarni, Yekhanin 2017. The score
             (bit - (1 - p)) / (2 p - 1) has mean x and variance P (1 - P) / (2 p - 1)**2.
    Assumes: one report per person, or the losses of all of them added.
    """

    name: ClassVar[str] = "one_bit_mean"
    told: ClassVar[Told] = "mean"
    coded: ClassVar[Coded] = "place"
    size: int
    kept: int

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= SIZE_MAX, "a grid has from 2 to 2**24 places")
        invariant(HALF < self.kept < ONE, "an end is rather kept than turned to the other")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> OneBitMean:
        return cls(size, Direct.fitted(2, epsilon).truth)

    @property
    def length(self) -> int:
        return 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (2,)

    def loss(self) -> Fraction:
        return Direct(2, self.kept).loss()

    def report(self, code: int, coins: Coins, seed: int = 0) -> bytes:
        invariant(0 <= code < self.size, "a place of the grid")
        last, kept = coins.below(self.size - 1) < code, coins.flip(self.kept)
        return bytes([last == kept])

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        import numpy as np

        invariant(bool(np.all(codes < self.size)), "places of the grid")
        last = rng.below(self.size - 1, len(codes)).view(np.uint64) < codes
        return packed((last == flips(self.kept, len(codes), rng)).astype(np.uint64), 1)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < 2

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        return everyone(payloads)

    def fold(self, payloads: Payloads) -> Counts:
        return tallied(payloads, 2)

    def scores(self) -> list[Fraction]:
        p = share(self.kept)
        return [(bit - (1 - p)) / (2 * p - 1) for bit in (0, 1)]

    def spread(self, code: int) -> Fraction:
        """The variance of the score of somebody at this place."""
        chance = self.probability(code, b"\x01")
        return chance * (1 - chance) / (2 * share(self.kept) - 1) ** 2

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        return averaged(counts, n, self)

    def leverage(self) -> float:
        return float(self.scores()[1])

    def probability(self, code: int, payload: bytes, seed: int = 0) -> Fraction:
        p = share(self.kept)
        chance = (1 - p) + Fraction(code, self.size - 1) * (2 * p - 1)
        return chance if payload[0] else 1 - chance

    def payloads(self, seed: int = 0) -> Iterator[bytes]:
        return iter((b"\x00", b"\x01"))
