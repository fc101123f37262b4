"""The piecewise mechanism on a grid: a window of places that moves with one's own, and now and then a place outside of
it.

One bit for a mean: Duchi's two outputs, which are the one-bit mean too.

The hybrid mechanism: now piecewise, now one bit, by a coin. Better than either when epsilon is in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from obverse.collect.protocols.base import (
    Coded,
    Estimated,
    Told,
    averaged,
    bytes_for,
    everyone,
    numbers_in,
    packed,
    tallied,
)
from obverse.collect.protocols.direct import Direct
from obverse.collect.randomness.coins import (
    HALF,
    ONE,
    Coins,
    check_epsilon,
    epsilon_of,
    exp_down,
    flips,
    most_odds,
    share,
)
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads


SIZE_MAX = 1 << 24


@dataclass(frozen=True, slots=True)
class OneBitMean:
    """Place i of 0 .. size - 1 is rounded to one of the two ends, at random, and the end sent with probability kept /
    2**53.

    Claim:   epsilon = ln(p / (1 - p)) per report and person, p = kept / 2**53, rounded up.
    Proof:   randomized response on the end: Warner 1965. With x = i / (size - 1) the last end is sent with probability
             P = (1 - p) + x (2 p - 1), which is 1 / (E + 1) + x (E - 1) / (E + 1) for E = p / (1 - p): the law of
             Duchi, Jordan, Wainwright 2018 in one dimension and of Ding, Kulkarni, Yekhanin 2017. The score (bit - (1 -
             p)) / (2 p - 1) has mean x and variance P (1 - P) / (2 p - 1)**2.
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
        last = coins.below(self.size - 1) < code
        kept = coins.flip(self.kept)
        return bytes([last == kept])

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
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


PIECEWISE_SIZE_MAX = 1 << 16


@dataclass(frozen=True, slots=True)
class PiecewiseMean:
    """For place i of 0 .. s, s = size - 1, one of the outputs 0 .. s + w - 1; the window is i .. i + w - 1, w = window.

    With probability near / 2**53 an output of the window, each alike, else one of the s others, each alike.

    Claim:   epsilon = ln((r / w) / ((1 - r) / s)) per report and person, r = near / 2**53, rounded up.
    Proof:   every output has probability r / w or (1 - r) / s, whatever the place is. The estimate: given i the output
             y has the mean r (i + (w - 1) / 2) + (1 - r) (T - w i) / s, where T = (0 + .. + (s + w - 1)) - (0 + .. + (w
             - 1)) is the sum of the outputs out of the window at i = 0; that is a i + c with a = r - (1 - r) w / s. So
             (y - c) / (a s) is unbiased for i / s. On a fine grid this is the law of Wang et al. 2019 if s / w =
             e**(epsilon / 2).
    Assumes: one report per person, or the losses of all of them added; r / w > (1 - r) / s.
    """

    name: ClassVar[str] = "piecewise_mean"
    told: ClassVar[Told] = "mean"
    coded: ClassVar[Coded] = "place"
    size: int
    window: int
    near: int

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= PIECEWISE_SIZE_MAX, "a grid has from 2 to 2**16 places")
        invariant(1 <= self.window < self.size, "a window has fewer outputs than the grid has places")
        invariant(0 < self.near < ONE and self._slope() > 0, "outputs of the window are sent more often than others")

    @classmethod
    def fitted(cls, size: int, epsilon: Fraction) -> PiecewiseMean:
        check_epsilon(epsilon)
        window = max(1, min(round((size - 1) / exp_down(epsilon / 2)), size - 1))
        weight = exp_down(epsilon) * window
        least = ONE * window // (window + size - 1)  # at which all outputs are sent alike
        fits = lambda near: near <= least or cls(size, window, near).loss() <= epsilon  # noqa: E731
        return cls(size, window, most_odds(weight / (weight + size - 1), fits))

    @property
    def outputs(self) -> int:
        return self.size - 1 + self.window

    @property
    def length(self) -> int:
        return bytes_for(self.outputs)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.outputs,)

    def loss(self) -> Fraction:
        return epsilon_of(Fraction(self.near * (self.size - 1), (ONE - self.near) * self.window))

    def report(self, code: int, coins: Coins, seed: int = 0) -> bytes:
        invariant(0 <= code < self.size, "a place of the grid")
        near = coins.flip(self.near)
        inside = coins.below(self.window)
        outside = coins.below(self.size - 1)
        sent = code + inside if near else outside + (self.window if outside >= code else 0)
        return sent.to_bytes(self.length, "little")

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        invariant(bool(np.all(codes < self.size)), "places of the grid")
        n = len(codes)
        inside = rng.below(self.window, n).view(np.uint64) + codes
        outside = rng.below(self.size - 1, n).view(np.uint64)
        outside += np.uint64(self.window) * (outside >= codes)
        return packed(np.where(flips(self.near, n, rng), inside, outside), self.length)

    def valid(self, payloads: Payloads) -> Bits:
        return numbers_in(payloads) < self.outputs

    def agrees(self, payloads: Payloads, seeds: Codes) -> Bits:
        return everyone(payloads)

    def fold(self, payloads: Payloads) -> Counts:
        return tallied(payloads, self.outputs)

    def scores(self) -> list[Fraction]:
        first = self._first()
        width = self._slope() * (self.size - 1)
        return [(output - first) / width for output in range(self.outputs)]

    def spread(self, code: int) -> Fraction:
        """The variance of the score of somebody at this place."""
        s = self.size - 1
        w = self.window
        r = share(self.near)
        first = self._first()
        inside = _squares(code + w, first) - _squares(code, first)
        outside = _squares(self.outputs, first) - inside
        return (r * inside / w + (1 - r) * outside / s) / (self._slope() * s) ** 2 - Fraction(code, s) ** 2

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        return averaged(counts, n, self)

    def leverage(self) -> float:
        return float(self.scores()[-1])

    def probability(self, code: int, payload: bytes, seed: int = 0) -> Fraction:
        sent = int.from_bytes(payload, "little")
        r = share(self.near)
        return r / self.window if code <= sent < code + self.window else (1 - r) / (self.size - 1)

    def payloads(self, seed: int = 0) -> Iterator[bytes]:
        return (sent.to_bytes(self.length, "little") for sent in range(self.outputs))

    def _first(self) -> Fraction:
        """The mean output of somebody at the first place."""
        w = self.window
        r = share(self.near)
        total = Fraction(self.outputs * (self.outputs - 1) - w * (w - 1), 2)
        return r * Fraction(w - 1, 2) + (1 - r) * total / (self.size - 1)

    def _slope(self) -> Fraction:
        r = share(self.near)
        return r - (1 - r) * Fraction(self.window, self.size - 1)


def _squares(end: int, middle: Fraction) -> Fraction:
    """The sum of (y - middle)**2 over y from 0 to end - 1."""
    return Fraction(end * (end - 1) * (2 * end - 1), 6) - middle * end * (end - 1) + end * middle**2


THRESHOLD = Fraction(61, 100)  # below, one bit alone is best


@dataclass(frozen=True, slots=True)
class HybridMean:
    """A report of `piecewise` with probability odds / 2**53, else one of `one_bit`; which of them, the report says.

    Claim:   the larger epsilon of the two per report and person.
    Proof:   Wang et al. 2019: the coin does not depend on the place, and given it the report is one of the two. Scores
             of both are unbiased; the variance of their mixture is the mean of both.
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
        chosen = coins.flip(self.odds)
        many = self.piecewise.report(code, coins)
        bit = self.one_bit.report(code, coins)
        sent = int.from_bytes(many, "little") if chosen else self.piecewise.outputs + bit[0]
        return sent.to_bytes(self.length, "little")

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
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
        sent = int.from_bytes(payload, "little")
        many = self.piecewise.outputs
        chance = share(self.odds)
        if sent < many:
            return chance * self.piecewise.probability(code, sent.to_bytes(self.piecewise.length, "little"))
        return (1 - chance) * self.one_bit.probability(code, bytes([sent - many]))

    def payloads(self, seed: int = 0) -> Iterator[bytes]:
        return (sent.to_bytes(self.length, "little") for sent in range(self.first, self.outputs))
