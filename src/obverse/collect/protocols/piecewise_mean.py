"""The piecewise mechanism on a grid: a window of places that moves with one's own, and now and then a place outside of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from obverse.collect.protocols.base import Coded, Estimated, Told, bytes_for, everyone, numbers_in, packed, tallied
from obverse.collect.protocols.means import averaged
from obverse.collect.randomness.coins import Coins, flips
from obverse.collect.randomness.odds import ONE, check_epsilon, epsilon_of, exp_down, most_odds, share
from obverse.core.errors import invariant
from obverse.core.rng import Rng

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Bits, Codes, Counts, Payloads

SIZE_MAX = 1 << 16


@dataclass(frozen=True, slots=True)
class PiecewiseMean:
    """For place i of 0 .. s, s = size - 1, one of the outputs 0 .. s + w - 1; the window is i .. i + w - 1, w = window.

    With probability near / 2**53 an output of the window, each alike, else one of the s others, each alike.

    Claim:   epsilon = ln((r / w) / ((1 - r) / s)) per report and person, r = near / 2**53, rounded up.
    Proof:   every output has probability r / w or (1 - r) / s, whatever the place is. The estimate: given i the output y has
             the mean r (i + (w - 1) / 2) + (1 - r) (T - w i) / s, where T = (0 + .. + (s + w - 1)) - (0 + .. + (w - 1)) is the
             sum of the outputs out of the window at i = 0; that is a i + c with a = r - (1 - r) w / s. So (y - c) / (a s) is
             unbiased for i / s. On a fine grid this is the law of Wang et al. 2019 if s / w = e**(epsilon / 2).
    Assumes: one report per person, or the losses of all of them added; r / w > (1 - r) / s.
    """

    name: ClassVar[str] = "piecewise_mean"
    told: ClassVar[Told] = "mean"
    coded: ClassVar[Coded] = "place"
    size: int
    window: int
    near: int

    def __post_init__(self) -> None:
        invariant(2 <= self.size <= SIZE_MAX, "a grid has from 2 to 2**16 places")
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
        near, inside, outside = coins.flip(self.near), coins.below(self.window), coins.below(self.size - 1)
        sent = code + inside if near else outside + (self.window if outside >= code else 0)
        return sent.to_bytes(self.length, "little")

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        import numpy as np

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
        first, width = self._first(), self._slope() * (self.size - 1)
        return [(output - first) / width for output in range(self.outputs)]

    def spread(self, code: int) -> Fraction:
        """The variance of the score of somebody at this place."""
        s, w, r, first = self.size - 1, self.window, share(self.near), self._first()
        inside = _squares(code + w, first) - _squares(code, first)
        outside = _squares(self.outputs, first) - inside
        return (r * inside / w + (1 - r) * outside / s) / (self._slope() * s) ** 2 - Fraction(code, s) ** 2

    def estimate(self, counts: Counts, n: int, codes: Codes) -> Estimated:
        return averaged(counts, n, self)

    def leverage(self) -> float:
        return float(self.scores()[-1])

    def probability(self, code: int, payload: bytes, seed: int = 0) -> Fraction:
        sent, r = int.from_bytes(payload, "little"), share(self.near)
        return r / self.window if code <= sent < code + self.window else (1 - r) / (self.size - 1)

    def payloads(self, seed: int = 0) -> Iterator[bytes]:
        return (sent.to_bytes(self.length, "little") for sent in range(self.outputs))

    def _first(self) -> Fraction:
        """The mean output of somebody at the first place."""
        w, r = self.window, share(self.near)
        total = Fraction(self.outputs * (self.outputs - 1) - w * (w - 1), 2)
        return r * Fraction(w - 1, 2) + (1 - r) * total / (self.size - 1)

    def _slope(self) -> Fraction:
        r = share(self.near)
        return r - (1 - r) * Fraction(self.window, self.size - 1)


def _squares(end: int, middle: Fraction) -> Fraction:
    """The sum of (y - middle)**2 over y from 0 to end - 1."""
    return Fraction(end * (end - 1) * (2 * end - 1), 6) - middle * end * (end - 1) + end * middle**2
