"""Exact, vectorised samplers of integer noise: discrete Laplace and discrete Gaussian (Canonne, Kamath, Steinke 2020).

Candidates are drawn in batches and the first accepted ones are kept, so a call costs vector operations only and its
time hardly depends on the values (one draw takes as long as another).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.core.rng import Rng
from obverse.mechanisms.bernoulli import PREFIX_BITS, LazyUniform, bernoulli_exp, bernoulli_exp_ratio, prefixes
from obverse.mechanisms.enclosures import exp_minus_scaled

Vector = NDArray[np.int64]


SCALE_MAX = 2**46  # of a discrete Laplace, and of a discrete Gaussian's sigma
TERM_MAX = 2**52  # of the numerator and the denominator of a Laplace scale
NOISE_MAX = 2**63 - 1  # larger noise is cut to this; saturating_add shows why nobody can tell
BATCH = 2**14  # candidates at a time: the arrays stay in the cache
_STEPS_MAX = 2**10 - 1  # (steps + 1) * TERM_MAX fits into 62 bits


def geometric(n: int, rng: Rng) -> Vector:
    """n integers v >= 0 with P[v] = (1 - 1/e) exp(-v).

    Claim:   exactly this law, independently.
    Proof:   v is the number of k >= 1 with U < exp(-k), U uniform: P[v >= k] = exp(-k). With w the first 32 bits of U
             and T_k = floor(exp(-k) 2**32): w < T_k implies U < exp(-k), w > T_k implies the contrary, and where w
             is one of the T_k, LazyUniform counts from the same bits.
    Assumes: nothing.
    """
    table = np.array(_thresholds(), dtype=np.uint32)  # rising, from zero
    first = prefixes(n, rng)
    place = np.searchsorted(table, first, side="right")
    steps = len(table) - place
    for i in np.flatnonzero(table[place - 1] == first):
        uniform = LazyUniform(int(first[i]), PREFIX_BITS, rng)
        k = 0
        while uniform.below_exp(Fraction(k + 1)):
            k += 1
        steps[i] = k
    return steps


def discrete_laplace(scale: Fraction, n: int, rng: Rng) -> Vector:
    """n integers z with P[z] proportional to exp(-|z| / scale).

    Claim:   exactly this law, independently; beyond +-NOISE_MAX cut to it.
    Proof:   CKS 2020, Algorithm 2, with scale = t/s. A uniform u in [0, t) kept with probability exp(-u/t), plus t
             times a geometric v of ratio 1/e, is geometric x of ratio exp(-1/t). Its y = x // s is geometric of ratio
             exp(-s/t). With a fair sign, and (minus, 0) rejected so that zero is not counted twice, it has the law.
             No overflow: u < t <= 2**52, and v is at most 1023 in the vector arithmetic, so x < 2**62; larger v are
             computed in unbounded integers.
    Assumes: 0 < scale <= 2**46 with numerator and denominator at most 2**52.
    """
    check_scale(scale)
    t = scale.numerator
    s = scale.denominator
    rate = -math.expm1(-1) / (t * -math.expm1(-1 / t)) * (1 + math.exp(-s / t)) / 2
    return _fill(n, rate, lambda candidates: _laplace_batch(t, s, candidates, rng))


def discrete_gaussian(sigma_squared: Fraction, n: int, rng: Rng) -> Vector:
    """n integers z with P[z] proportional to exp(-z**2 / (2 sigma_squared)).

    Claim:   exactly this law, independently, up to an event of probability below exp(-2**17).
    Proof:   CKS 2020, Algorithm 3: with t = floor(sigma) + 1, a discrete Laplace y of scale t kept with probability
             exp(-gamma), gamma = (|y| - m)**2 / (2 sigma**2), m = sigma**2 / t. The doubles: let d = |y| - m and
             r = |d| / sigma. As m <= sigma, |y| <= sigma + |d|, so converting, subtracting and rounding err in d by at
             most 2**-52 (2 sigma + |d|), and in gamma by at most 2**-51 (2 r + r**2) + 2**-51 r**2 (squaring and
             dividing). Times exp(-gamma) = exp(-r**2 / 2) this is below 2**-48, within the 2**-41 of bernoulli_exp.
             The event is a candidate y that was cut to NOISE_MAX >= 2**17 t, whose gamma is no longer the right one.
    Assumes: 0 < sigma_squared < 2**92.
    """
    check_sigma_squared(sigma_squared)
    t = math.isqrt(sigma_squared.numerator // sigma_squared.denominator) + 1
    centre = sigma_squared / t
    double_variance = 2 * sigma_squared

    def batch(candidates: int) -> Vector:
        y = _laplace_batch(t, 1, candidates, rng)
        gamma = (np.abs(y).astype(np.float64) - float(centre)) ** 2 / float(double_variance)
        return y[bernoulli_exp(gamma, lambda i: (abs(int(y[i])) - centre) ** 2 / double_variance, rng)]

    return _fill(n, _gaussian_rate(sigma_squared, t), batch)


def saturating_add(exact: Vector, noise: Vector) -> Vector:
    """exact + noise, cut to +-(2**62 - 1).

    Claim:   equals adding the uncut noise and then cutting the sum, which is post-processing; nothing overflows.
    Proof:   let L = 2**62 - 1 and |exact| <= 2**62. The noise is first cut to [-L - exact, L - exact], whose ends fit
             into 64 bits; then the sum lies in [-L, L]. Noise that was cut to 2**63 - 1 before is at least L - exact,
             so both it and the uncut noise give L; likewise below.
    Assumes: every exact value lies within +-2**62.
    """
    invariant(exact.dtype == np.int64 and exact.ndim == 1, "an exact vector has 64-bit integers")
    invariant(bool(np.all((exact >= -(2**62)) & (exact <= 2**62))), "an exact value lies within 62 bits")
    limit = 2**62 - 1
    return exact + np.clip(noise, -limit - exact, limit - exact)


def check_scale(scale: Fraction) -> None:
    invariant(0 < scale <= SCALE_MAX, "a Laplace scale lies in (0, 2**46]")
    invariant(max(scale.numerator, scale.denominator) <= TERM_MAX, "a Laplace scale has terms of at most 52 bits")


def check_sigma_squared(sigma_squared: Fraction) -> None:
    invariant(0 < sigma_squared < SCALE_MAX**2, "sigma squared lies in (0, 2**92)")
    invariant(sigma_squared.denominator < 1 << 256, "sigma squared has a denominator of at most 256 bits")


@cache
def _thresholds() -> tuple[int, ...]:
    """T_k = floor(exp(-k) 2**32), rising, from the first that is zero."""
    found: list[int] = []
    while not found or found[-1] > 0:
        lo, hi = (bound >> 96 for bound in exp_minus_scaled(Fraction(len(found) + 1), PREFIX_BITS + 96))
        invariant(lo == hi, "96 more bits settle the floor")
        found.append(lo)
    return tuple(reversed(found))


def _laplace_batch(t: int, s: int, candidates: int, rng: Rng) -> Vector:
    """Those of the candidates that survive: independent discrete Laplace numbers of scale t/s."""
    u = rng.below(t, candidates)
    u = u[bernoulli_exp_ratio(u, t, rng)]
    v = geometric(len(u), rng)
    y = u + t * np.minimum(v, _STEPS_MAX)
    if s > 1:
        y //= s
    for i in np.flatnonzero(v > _STEPS_MAX):  # less than once in e**1023 draws
        y[i] = min((int(u[i]) + t * int(v[i])) // s, NOISE_MAX)
    negative = rng.bits(len(y))
    survivors: Vector = np.where(negative, -y, y)[~negative | (y > 0)]
    return survivors


def _gaussian_rate(sigma_squared: Fraction, t: int) -> float:
    """About the share of candidates that become Gaussian draws; only how many are drawn at a time depends on it."""
    sigma = math.sqrt(sigma_squared)
    mass = max(1.0, math.sqrt(2 * math.pi) * sigma) * math.exp(-sigma_squared / (2 * t * t))
    accepted = mass * math.tanh(1 / (2 * t))
    laplace = -math.expm1(-1) / (t * -math.expm1(-1 / t)) * (1 + math.exp(-1 / t)) / 2
    return min(1.0, accepted) * laplace


def _fill(n: int, rate: float, batch: Callable[[int], Vector]) -> Vector:
    """The first n numbers of as many batches as it takes."""
    out = np.empty(n, dtype=np.int64)
    filled = 0
    while filled < n:
        missing = (n - filled) / rate
        drawn = batch(min(BATCH, int(missing + 4 * missing**0.5) + 24))[: n - filled]
        out[filled : filled + len(drawn)] = drawn
        filled += len(drawn)
    return out
