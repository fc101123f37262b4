"""Two-sided geometric noise: the pure-DP workhorse for counts and sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from obverse.core.errors import invariant
from obverse.core.loss import PureLoss
from obverse.core.rng import Rng
from obverse.mechanisms.base import Additive, Example, least, noise_too_large, outside, rounded_up
from obverse.mechanisms.enclosures import Enclosure, exp_minus, quotient
from obverse.mechanisms.samplers import SCALE_MAX, check_scale, discrete_laplace

if TYPE_CHECKING:
    from obverse.mechanisms.base import Vector


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Additive):
    """Add two-sided geometric noise to a vector of integers: P[z] is proportional to exp(-|z| / scale).

    Claim:   pure DP with epsilon = sensitivity / scale, for the unit and the neighbours of the sensitivity.
    Proof:   moving the vector by d changes the log-probability of an output by at most sum |d_i| / scale
             (Ghosh, Roughgarden, Sundararajan 2009). The sampler has exactly this law, and cutting the sum to 62
             bits is post-processing (samplers.py).
    Assumes: the exact vector is integer, within +-2**62, and has the stated L1 sensitivity.
    """

    name: ClassVar[str] = "discrete_laplace"
    sensitivity: Fraction | int
    scale: Fraction

    def __post_init__(self) -> None:
        invariant(self.sensitivity >= 0, "a sensitivity is never negative")
        check_scale(self.scale)

    @classmethod
    def for_epsilon(cls, sensitivity: Fraction | int, epsilon: Fraction) -> DiscreteLaplace:
        """The least noise whose loss is at most epsilon: scale = sensitivity / epsilon, rounded up to 52-bit terms."""
        invariant(sensitivity > 0 and epsilon > 0, "noise needs a positive sensitivity and a positive epsilon")
        scale = Fraction(sensitivity) / epsilon
        if scale > SCALE_MAX:
            raise noise_too_large()
        return cls(sensitivity, rounded_up(scale, 52))

    def loss(self) -> PureLoss:
        return PureLoss(Fraction(self.sensitivity) / self.scale)

    def noise(self, n: int, rng: Rng) -> Vector:
        return discrete_laplace(self.scale, n, rng)

    def mass(self, z: int) -> Enclosure:
        """(1 - q) / (1 + q) * q**|z| with q = exp(-1 / scale)."""
        low, high = exp_minus(1 / self.scale)
        power = exp_minus(abs(z) / self.scale)
        return (1 - high) / (1 + high) * power[0], (1 - low) / (1 + low) * power[1]

    def tail(self, h: int) -> Enclosure:
        """P[|Z| > h] = 2 q**(h + 1) / (1 + q)."""
        invariant(h >= 0, "a half-width is never negative")
        low, high = exp_minus(1 / self.scale)
        power = exp_minus((h + 1) / self.scale)
        return quotient((2 * power[0], 2 * power[1]), (1 + low, 1 + high))

    def stddev(self) -> float:
        """sqrt(2 q) / (1 - q), which is 1 / (sqrt(2) sinh(1 / (2 scale))); sqrt(2) * scale in the limit."""
        half = float(1 / (2 * self.scale))
        return 1 / (math.sqrt(2) * math.sinh(half)) if half < 700 else 0.0

    def interval(self, level: float) -> int:
        """The least h with P[|Z| <= h] >= level.

        Claim:   exactly the least.
        Proof:   the tail is compared with 1 - level in rational bounds. They are never equal: an equation between
                 exp(-(h + 1) / scale), exp(-1 / scale) and 1 with rational weights contradicts Lindemann and
                 Weierstrass. Bounds of 192 bits that did not separate them would be counted against us (h + 1).
        Assumes: nothing.
        """
        alpha = outside(level)
        q = math.exp(-1 / self.scale)
        decay = math.log(2 / (1 + q)) - (math.log(alpha.numerator) - math.log(alpha.denominator))
        return least(lambda h: self.tail(h)[1] <= alpha, int(float(self.scale) * decay) - 1)

    def scaled(self, factor: Fraction) -> DiscreteLaplace:
        return replace(self, scale=self.scale * factor)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example(cls(1, Fraction(1)), (0,), (1,), range(-40, 41)),
            Example(cls(3, Fraction(7, 2)), (5,), (2,), range(-100, 101)),
        )
