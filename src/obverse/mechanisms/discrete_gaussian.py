"""Discrete Gaussian noise: for many measures at once under zCDP."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from obverse.core.errors import invariant
from obverse.core.loss import ZcdpLoss
from obverse.core.rng import Rng
from obverse.mechanisms.base import Additive, Example, least, noise_too_large, outside, rounded_up
from obverse.mechanisms.enclosures import PI, Enclosure, exp_minus, quotient, sqrt_of
from obverse.mechanisms.samplers import SCALE_MAX, check_sigma_squared, discrete_gaussian

if TYPE_CHECKING:
    from obverse.mechanisms.base import Vector

SUMMED_MAX = 2**20  # up to this variance, tails are summed; above it, bounded by the continuous Gaussian's


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Additive):
    """Add discrete Gaussian noise to a vector of integers: P[z] is proportional to exp(-z**2 / (2 sigma_squared)).

    Claim:   zCDP with rho = sensitivity_squared / (2 sigma_squared), for the unit and neighbours of the sensitivity.
    Proof:   Canonne, Kamath, Steinke 2020. Move one entry by d and complete the square: the Renyi divergence of order
             a is a d**2 / (2 sigma**2) plus log(S / S0) / (a - 1), where S and S0 sum exp(-x**2 / (2 sigma**2)) over
             the integers moved by (1 - a) d and over the integers. S <= S0 by Poisson's formula, whose coefficients
             are positive. Entries add. The sampler has this law up to an event of probability below exp(-2**17), and
             cutting the sum to 62 bits is post-processing (samplers.py).
    Assumes: the exact vector is integer, within +-2**62; sensitivity_squared bounds the squared L2 norm of its move.
    """

    name: ClassVar[str] = "discrete_gaussian"
    sensitivity_squared: Fraction
    sigma_squared: Fraction

    def __post_init__(self) -> None:
        invariant(self.sensitivity_squared >= 0, "a sensitivity is never negative")
        check_sigma_squared(self.sigma_squared)

    @classmethod
    def for_rho(cls, sensitivity_squared: Fraction, rho: Fraction) -> DiscreteGaussian:
        """The least noise whose loss is at most rho: sigma**2 = sensitivity**2 / (2 rho), up to 100-bit terms."""
        invariant(sensitivity_squared > 0 and rho > 0, "noise needs a positive sensitivity and a positive rho")
        sigma_squared = Fraction(sensitivity_squared) / (2 * rho)
        if sigma_squared >= SCALE_MAX**2:
            raise noise_too_large()
        return cls(Fraction(sensitivity_squared), rounded_up(sigma_squared, 100))

    def loss(self) -> ZcdpLoss:
        return ZcdpLoss(self.sensitivity_squared / (2 * self.sigma_squared))

    def noise(self, n: int, rng: Rng) -> Vector:
        return discrete_gaussian(self.sigma_squared, n, rng)

    def mass(self, z: int) -> Enclosure:
        return quotient(exp_minus(Fraction(z * z) / (2 * self.sigma_squared)), _normalizer(self.sigma_squared))

    def tail(self, h: int) -> Enclosure:
        """P[|Z| > h], from above and, for variances that are summed, from below.

        Claim:   a rigorous enclosure.
        Proof:   summed: every term errs relatively by less than 2**-40 (its exponent is at most 800, with relative
                 error 2**-51) and so do quotients of sums of them; what lies beyond 40 sigma is below exp(-800) and
                 given to the tail. Large: with f(x) = exp(-x**2 / (2 sigma**2)), the f(z) beyond h add up to at most
                 the integral of f from h, and all of them to at least sqrt(2 pi) sigma (Poisson's formula), so the
                 tail is at most erfc(h / (sigma sqrt 2)); doubles err by less than 2**-40.
        Assumes: exp and erfc of the platform are accurate to 2**-45 relative.
        """
        invariant(h >= 0, "a half-width is never negative")
        slack = Fraction(1, 1 << 38)
        if self.sigma_squared <= SUMMED_MAX:
            near = Fraction(_summed_tail(self.sigma_squared, h))
            tiny = Fraction(1, 1 << 1000)
            return max(near * (1 - slack) - tiny, Fraction(0)), min(near * (1 + slack) + tiny, Fraction(1))
        near = Fraction(math.erfc(h / math.sqrt(2 * self.sigma_squared)))
        return Fraction(0), min(near * (1 + slack) + Fraction(1, 1 << 1000), Fraction(1))

    def stddev(self) -> float:
        """sigma, which bounds it (CKS 2020); below sigma = 4, where it is visibly less, the sum."""
        if self.sigma_squared >= 16:
            return math.sqrt(self.sigma_squared)
        weights = [(z, math.exp(-z * z / (2 * self.sigma_squared))) for z in range(1, 160)]
        return math.sqrt(2 * sum(z * z * w for z, w in weights) / (1 + 2 * sum(w for _, w in weights)))

    def interval(self, level: float) -> int:
        """The least h whose tail bound is at most 1 - level: at most one above the least h there is."""
        alpha = outside(level)
        return least(lambda h: self.tail(h)[1] <= alpha, math.ceil(2 * math.sqrt(self.sigma_squared)))

    def scaled(self, factor: Fraction) -> DiscreteGaussian:
        return replace(self, sigma_squared=self.sigma_squared * factor**2)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example(cls(Fraction(1), Fraction(2)), (0,), (1,), range(-20, 22)),
            Example(cls(Fraction(9), Fraction(30)), (0,), (-3,), range(-60, 61)),
        )


@lru_cache(maxsize=256)
def _normalizer(sigma_squared: Fraction) -> Enclosure:
    """The sum of exp(-z**2 / (2 sigma**2)) over all integers z.

    Claim:   a rigorous enclosure.
    Proof:   small sigma: the terms up to 80 are added in bounds; beyond, for sigma**2 < 16, they are below
             exp(-80 z / 32) and add up to less than exp(-200). Large: Poisson's formula gives sqrt(2 pi sigma**2)
             times the sum of exp(-2 pi**2 sigma**2 n**2) over all n, between 1 and 1 + 2**-400 for sigma**2 >= 16.
    Assumes: nothing.
    """
    if sigma_squared >= 16:
        low, high = sqrt_of((2 * PI[0] * sigma_squared, 2 * PI[1] * sigma_squared))
        return low, high * (1 + Fraction(1, 1 << 400))
    terms = [exp_minus(Fraction(z * z) / (2 * sigma_squared)) for z in range(1, 81)]
    beyond = 2 * exp_minus(Fraction(200))[1]
    low = sum((bound[0] for bound in terms), Fraction(0))
    high = sum((bound[1] for bound in terms), Fraction(0))
    return 1 + 2 * low, 1 + 2 * high + beyond


def _summed_tail(sigma_squared: Fraction, h: int) -> float:
    reach = math.isqrt(math.ceil(1600 * sigma_squared)) + 2
    if h >= reach:
        return 0.0
    weights = np.exp(-(np.arange(reach + 1, dtype=np.float64) ** 2) / float(2 * sigma_squared))
    beyond = float(np.sum(weights[h + 1 :]))
    return 2 * beyond / (1 + 2 * float(np.sum(weights[1:])))
