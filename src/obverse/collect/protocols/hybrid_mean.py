"""The hybrid mechanism: now piecewise, now one bit, by a coin. Better than either when epsilon is in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from obverse.collect.protocols.base import Coded, Estimated, Told, bytes_for, everyone, numbers_in, packed, tallied
from obverse.collect.protocols.means import averaged
from obverse.collect.protocols.one_bit_mean import OneBitMean
from obverse.collect.protocols.piecewise_mean import PiecewiseMean
from obverse.collect.randomness.coins import Coins, flips
from obverse.collect.randomness.odds import ONE, exp_down, share
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

THRESHOLD = Fraction(61, 100)  # below, one bit alone is best


@dataclass(frozen=True, slots=True)
class HybridMean:
    """A report of `piecewise` with probability odds / 2**53, else one of `one_bit`; which of them, the report says.

    Claim:   the larger epsilon of the two per report and person.
    Proof:   Wang et al. 2019: the coin does not depend on the place, and given it the report is one of the two. Scores of both
             are unbiased; the variance of their mixture is the mean of both.
    Assumes: one report per person, or the losses of all of them added; both are of one grid.
    """

    name: ClassVar[str] = "hybrid_mean"
    told: ClassVar[Told] = "mean"
    coded: ClassVar[Coded] = "place"
    piecewise: PiecewiseMean
    one_bit: OneBitMean
    odds: int

    def __post_init__(self) -> None:
        invariant(self.piecewise.size == self.one_bit.size, "both are of one grid")
        invariant(0 <= self.odds < ONE, "odds are a probability")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> HybridMean:
        odds = round((1 - 1 / exp_down(epsilon / 2)) * ONE) if epsilon > THRESHOLD else 0
        return cls(PiecewiseMean.fitted(size, epsilon), OneBitMean.fitted(size, epsilon), odds)

    @property
    def size(self) -> int:
        return self.one_bit.size

    @property
    def outputs(self) -> int:
        """Those of `piecewise` first, then two bits."""
        return self.piecewise.outputs + 2

    @property
    def first(self) -> int:
        """The first output that is ever sent."""
        return 0 if self.odds else self.piecewise.outputs

    @property
    def length(self) -> int:
        return bytes_for(self.outputs)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.outputs,)

    def loss(self) -> Fraction:
        return max(self.piecewise.loss(), self.one_bit.loss())

    def report(self, code: int, coins: Coins, seed: int = 0) -> bytes:
        chosen, many, bit = coins.flip(self.odds), self.piecewise.report(code, coins), self.one_bit.report(code, coins)
        sent = int.from_bytes(many, "little") if chosen else self.piecewise.outputs + bit[0]
        return sent.to_bytes(self.length, "little")

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        import numpy as np

        many, bit = (numbers_in(part.reports(codes, rng)) for part in (self.piecewise, self.one_bit))
        sent = np.where(flips(self.odds, len(codes), rng), many, bit + np.uint64(self.piecewise.outputs))
        return packed(sent, self.length)

    def valid(self, payloads: Payloads) -> Bits:
        numbers = numbers_in(payloads)
        found: Bits = (numbers >= self.first) & (numbers < self.outputs)
        return found

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        return everyone(payloads)

    def fold(self, payloads: Payloads) -> Counts:
        return tallied(payloads, self.outputs)

    def scores(self) -> list[Fraction]:
        return self.piecewise.scores() + self.one_bit.scores()

    def spread(self, code: int) -> Fraction:
        """The variance of the score of somebody at this place."""
        chance = share(self.odds)
        return chance * self.piecewise.spread(code) + (1 - chance) * self.one_bit.spread(code)

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        return averaged(counts, n, self)

    def leverage(self) -> float:
        return float(max(self.scores()[self.first :]))

    def probability(self, code: int, payload: bytes, seed: int = 0) -> Fraction:
        sent, many, chance = int.from_bytes(payload, "little"), self.piecewise.outputs, share(self.odds)
        if sent < many:
            return chance * self.piecewise.probability(code, sent.to_bytes(self.piecewise.length, "little"))
        return (1 - chance) * self.one_bit.probability(code, bytes([sent - many]))

    def payloads(self, seed: int = 0) -> Iterator[bytes]:
        return (sent.to_bytes(self.length, "little") for sent in range(self.first, self.outputs))
