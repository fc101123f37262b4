"""Rigorous bounds of exponentials and logarithms in integer arithmetic: what decides where doubles cannot.

An Enclosure (lo, hi) is a pair of exact fractions with lo <= x <= hi for the number x that it stands for.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from obverse.core.errors import invariant
from obverse.core.numbers import sqrt_down, sqrt_up

Enclosure = tuple[Fraction, Fraction]

BITS = 192
RELATIVE_MAX = 1000
_PI_DIGITS = 314159265358979323846264338327950288419716939937510582097494
PI: Enclosure = (Fraction(_PI_DIGITS, 10**59), Fraction(_PI_DIGITS + 1, 10**59))


def exp_minus_scaled(gamma: Fraction, bits: int) -> tuple[int, int]:
    """Integers lo <= exp(-gamma) * 2**bits <= hi, a few units apart at most; equal when gamma is zero.

    Claim:   lo <= exp(-gamma) * 2**bits <= hi for every rational gamma >= 0.
    Proof:   for gamma >= bits, exp(-gamma) < 2**-bits. Otherwise divide gamma by 2**halvings, to below 1/8, and sum the
             series of its exponential, whose terms are positive: once with everything rounded down, once with
             everything rounded up. Each term is less than half the one before, so what follows the last term is below
             it, and the upper sum counts it twice. Squaring `halvings` times, outward, gives bounds of exp(gamma), and
             dividing 2**(bits + width) by them, outward, those of the reciprocal.
    Assumes: nothing.
    """
    invariant(gamma >= 0, "exp_minus is for non-negative exponents")
    if gamma == 0:
        return 1 << bits, 1 << bits
    if gamma >= bits:
        return 0, 1
    halvings = math.floor(gamma).bit_length() + 4
    width = bits + halvings + 16
    step_low = (gamma.numerator << (width - halvings)) // gamma.denominator
    step_high = step_low + 1
    low = high = sum_low = sum_high = 1 << width
    k = 0
    while high > 1:
        k += 1
        low = low * step_low // (k << width)
        high = -(-high * step_high // (k << width))
        sum_low += low
        sum_high += high
    sum_high += high
    for _ in range(halvings):
        sum_low = sum_low * sum_low >> width
        sum_high = -(-sum_high * sum_high >> width)
    return (1 << (bits + width)) // sum_high, -(-(1 << (bits + width)) // sum_low)


@lru_cache(maxsize=4096)
def exp_minus(gamma: Fraction, bits: int = BITS) -> Enclosure:
    """exp(-gamma), to about 2**-bits relative up to gamma = 1000; far beyond, between zero and next to nothing."""
    bits += 3 * min(math.ceil(gamma), RELATIVE_MAX) // 2 + 1
    lo, hi = exp_minus_scaled(gamma, bits)
    return Fraction(lo, 1 << bits), Fraction(hi, 1 << bits)


def exp_plus(gamma: Fraction, bits: int = BITS) -> Enclosure:
    """exp(gamma), to about 2**-bits relative, for gamma up to 1000."""
    lo, hi = exp_minus(gamma, bits)
    return 1 / hi, 1 / lo


def log_up(ratio: Fraction) -> Fraction:
    """A fraction not below ln(ratio) and hardly above it (2**-45 for ratios up to 1000), for ratio >= 1; zero for one.

    Claim:   exp(returned) >= ratio.
    Proof:   the returned candidate c was checked: the upper bound of exp(-c) is at most 1/ratio.
    Assumes: nothing; the double that starts the search may be as wrong as it likes.
    """
    invariant(ratio >= 1, "log_up is for ratios of at least one")
    if ratio == 1:
        return Fraction(0)
    near = math.log(ratio.numerator) - math.log(ratio.denominator)
    step = Fraction(1, 1 << 46)
    guess = max(Fraction(math.floor(near * (1 << 46)), 1 << 46) - step, Fraction(0))
    while exp_minus(guess)[1] * ratio > 1:
        guess += step
    return guess


def sqrt_of(number: Enclosure, bits: int = BITS) -> Enclosure:
    """The square root of a non-negative number."""
    return sqrt_down(number[0], bits), sqrt_up(number[1], bits)


def quotient(over: Enclosure, under: Enclosure) -> Enclosure:
    """over / under, for over >= 0 and under > 0."""
    invariant(over[0] >= 0 and under[0] > 0, "a quotient of positive numbers")
    return over[0] / under[1], over[1] / under[0]
