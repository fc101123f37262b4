"""Exact coins: events U < p for a uniform real U, decided lazily, so that doubles are fast and never decide wrongly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.core.rng import Rng
from obverse.mechanisms.enclosures import exp_minus_scaled

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Bits = NDArray[np.bool_]


PREFIX_BITS = 32  # bits of U that are drawn at first
MARGIN = 2.0**-40  # a double that stands for a probability is this close to it; see the proofs below
MORE_BITS = 64


class LazyUniform:
    """A uniform real U in [0, 1) of which only the first bits are drawn: prefix <= U * 2**bits < prefix + 1."""

    __slots__ = ("bits", "prefix", "rng")

    def __init__(self, prefix: int, bits: int, rng: Rng) -> None:
        self.prefix = prefix
        self.bits = bits
        self.rng = rng

    def below_exp(self, gamma: Fraction) -> bool:
        """Whether U < exp(-gamma)."""
        return self._below(lambda bits: exp_minus_scaled(gamma, bits))

    def below(self, p: Fraction) -> bool:
        """Whether U < p."""
        over = p.numerator
        under = p.denominator
        return self._below(lambda bits: ((over << bits) // under, -((-over << bits) // under)))

    def _below(self, bounds: Callable[[int], tuple[int, int]]) -> bool:
        """Draw more bits until the interval of U lies on one side; each try leaves a few in 2**bits undecided."""
        while True:
            lo, hi = bounds(self.bits)
            if self.prefix + 1 <= lo:
                return True
            if self.prefix >= hi:
                return False
            self.prefix = self.prefix << MORE_BITS | int.from_bytes(self.rng.raw(MORE_BITS // 8), "little")
            self.bits += MORE_BITS


def prefixes(n: int, rng: Rng) -> NDArray[np.uint32]:
    """The first 32 bits of n uniform reals."""
    return rng.words((n + 1) // 2).view(np.uint32)[:n]


def bernoulli_exp(gamma: Doubles, exact: Callable[[int], Fraction], rng: Rng) -> Bits:
    """One coin per entry, true with probability exp(-exact(i)).

    Claim:   entry i is true with probability exactly exp(-exact(i)), independently of the others.
    Proof:   the event is U < p with p = exp(-exact(i)) and U uniform. Its first 32 bits say that U is within 2**-33
             of `middle`. The double `near` is within MARGIN of p (Assumes). So where middle and near are further than
             2**-33 + MARGIN apart, comparing them decides the event; elsewhere LazyUniform does, from the same bits.
             A double enters only into *which way* the event is decided, never into its probability.
    Assumes: gamma[i] is non-negative and exp in doubles of -gamma[i] is within 2**-40 of exp(-exact(i)). numpy's exp
             is within 2**-50 (held by a test), so the caller must show that |exp(-gamma[i]) - exp(-exact(i))| is
             below 2**-41.
    """
    return _decide(np.exp(-gamma), lambda i, uniform: uniform.below_exp(exact(i)), rng)


def bernoulli_exp_ratio(numerators: Integers, denominator: int, rng: Rng) -> Bits:
    """One coin per entry, true with probability exp(-numerators[i] / denominator).

    Claim:   as bernoulli_exp with exact(i) = numerators[i] / denominator.
    Proof:   two conversions and a division err relatively by less than 2**-51 together, and x * exp(-x) <= 1/e, so
             exp of the double quotient is within 2**-52 of the truth, below the 2**-41 that bernoulli_exp asks for.
    Assumes: no numerator is negative.
    """
    invariant(0 < denominator < 1 << 900, "a denominator that a double can hold")
    gamma = numerators.astype(np.float64) / float(denominator)
    return bernoulli_exp(gamma, lambda i: Fraction(int(numerators[i]), denominator), rng)


def bernoulli(p: Fraction, n: int, rng: Rng) -> Bits:
    """n coins, each true with probability exactly p.

    Claim:   each coin is true with probability p, independently.
    Proof:   as bernoulli_exp; the double nearest to p is within 2**-54 of it.
    Assumes: nothing.
    """
    invariant(0 <= p <= 1, "a probability lies between zero and one")
    return _decide(np.full(n, float(p)), lambda _, uniform: uniform.below(p), rng)


def _decide(near: Doubles, exactly: Callable[[int, LazyUniform], bool], rng: Rng) -> Bits:
    """U < p for each entry, where near is within MARGIN of p and `exactly` settles what that leaves open."""
    first = prefixes(len(near), rng)
    gap = near - (first + 0.5) * 2.0**-PREFIX_BITS
    event = gap > 0
    for i in np.flatnonzero(np.abs(gap) <= 2.0 ** -(PREFIX_BITS + 1) + MARGIN):
        event[i] = exactly(int(i), LazyUniform(int(first[i]), PREFIX_BITS, rng))
    return event
