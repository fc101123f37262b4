"""How far a weighted sum of many independent noises may stray to one side: bounds that hold, from a few figures of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from obverse.core.errors import invariant
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SHIFT_RISK = 0.05


@dataclass(frozen=True, slots=True)
class Spread:
    """Of the coefficients of a sum, entry by entry: the sum of squares, the largest square, the sum of magnitudes."""

    squares: Floats
    largest: Floats
    magnitudes: Floats


def one_sided(spread: Spread, mechanism: Additive, risk: float) -> Floats:
    """t >= 0 with P[sum of coefficient times noise > t] <= risk, for independent noises of one mechanism; likewise below -t.

    `intervals.half_width` is exact for two or three noises; dozens of like ones are what this is for.
    """
    import numpy as np

    invariant(0 < risk < 1, "a risk lies between zero and one")
    match mechanism:
        case DiscreteLaplace():
            return np.maximum(_laplace(spread, float(mechanism.scale), risk), 0)
        case DiscreteGaussian():
            return np.maximum(_gaussian(spread, math.sqrt(mechanism.sigma_squared), risk), 0)
        case _:
            invariant(mechanism.stddev() == 0, "error bars are known for Laplace and Gaussian noise")
            return np.zeros_like(spread.squares)


def _gaussian(spread: Spread, sigma: float, risk: float) -> Floats:
    """The lesser of two bounds.

    Claim:   P[sum c_i Z_i > t] <= risk for discrete Gaussian Z_i.
    Proof:   one: Z_i can be drawn together with a Gaussian of the same sigma at most one step away
             (intervals.half_width). The other: E exp(s Z) <= exp(s**2 sigma**2 / 2) (Canonne, Kamath, Steinke 2020), so
             Chernoff's bound is that of the Gaussian sum.
    Assumes: nothing.
    """
    import numpy as np

    sigmas = sigma * np.sqrt(spread.squares)
    coupled = sigmas * NormalDist().inv_cdf(1 - risk) + spread.magnitudes
    return np.minimum(coupled, sigmas * math.sqrt(-2 * math.log(risk)))


def _laplace(spread: Spread, scale: float, risk: float) -> Floats:
    """From the continuous sum to the integer one.

    Claim:   P[S > t] <= risk for S the sum of c_i Z_i, Z_i discrete Laplace.
    Proof:   Z is floor(E) - floor(F) of two exponentials of mean `scale`, and E - F is Laplace. Floors are independent
             of the fractions, so the Laplace sum L is S + D with D independent of S, symmetric, and each term of D
             within its coefficient: P[S > t] P[D >= -d] <= P[L > t - d]. With d = 0 the factor is at least a half;
             with d = sqrt(2 sum c_i**2 ln(1 / r)) it is at least 1 - r (Hoeffding 1963). The lesser of both is taken.
    Assumes: nothing.
    """
    import numpy as np

    unit = scale * np.sqrt(spread.largest)
    number = np.maximum(spread.squares / spread.largest, 1.0)
    shift = np.sqrt(-2 * math.log(SHIFT_RISK) * spread.squares)
    return np.minimum(unit * _tail(number, risk / 2), unit * _tail(number, risk * (1 - SHIFT_RISK)) + shift)


def _tail(number: Floats, risk: float) -> Floats:
    """t with P[L > t] <= risk for L a sum of Laplaces of scales c_i <= 1 with sum c_i**2 = number >= 1.

    Claim:   for every s in (0, 1), P[L > t] <= exp(-s t) (1 - s**2)**-m min(1, D / s), m = number, where
             D = 1 / (2 sqrt(pi (m - 3/4))); the returned t makes this the risk for a well chosen s.
    Proof:   E exp(s L) is the product of 1 / (1 - c_i**2 s**2), at most (1 - s**2)**-m, as -ln(1 - x s**2) is convex in
             x and zero at zero. That is Chernoff's bound. Moreover P[L > t] = E exp(s L) times the integral of
             exp(-s y) f(y) beyond t, f the density tilted by exp(s y), at most exp(-s t) max f / s. Its characteristic
             function is at most the product of 1 / (1 + c_i**2 u**2) in magnitude, hence at most (1 + u**2)**-m
             (ln(1 + x u**2) is concave in x), and max f is at most its integral over 2 pi, which is
             gamma(m - 1/2) / (2 sqrt(pi) gamma(m)) <= D (Kershaw 1983).
    Assumes: nothing; s may be chosen as roughly as one likes.
    """
    import numpy as np

    density = 1 / (2 * np.sqrt(math.pi * (number - 0.75)))
    need = np.full_like(number, -math.log(risk))
    for _ in range(3):
        s = _slope(need / number)
        need = np.log(np.minimum(1.0, density / s)) - math.log(risk)
    return np.asarray((need - number * np.log1p(-(s**2))) / s)


@cache
def _slopes() -> tuple[Floats, Floats]:
    """Where 2 y / (1 - y) + ln(1 - y), with y = s**2, takes which value: there Chernoff's bound is best."""
    import numpy as np

    s = 1 - np.geomspace(1.0, 1e-9, 4001)[1:]
    return 2 * s**2 / (1 - s**2) + np.log1p(-(s**2)), s


def _slope(need: Floats) -> Floats:
    import numpy as np

    values, slopes = _slopes()
    return np.clip(np.interp(need, values, slopes), 1e-6, 1 - 1e-9)
