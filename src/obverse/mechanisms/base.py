"""What a mechanism is: one immutable value that samples and states its own loss, so that the two cannot drift apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import Refused, invariant
from obverse.core.loss import Loss
from obverse.core.numbers import exact as exact_number
from obverse.core.rng import Rng
from obverse.mechanisms.enclosures import Enclosure
from obverse.mechanisms.samplers import saturating_add

Vector = NDArray[np.int64]


class Mechanism(Protocol):
    """From a vector of exact integers to a vector of released integers, at a stated loss."""

    __slots__ = ()

    name: ClassVar[str]

    def loss(self) -> Loss:
        """The loss of one call of sample, whatever the length of the vector."""
        ...

    def sample(self, exact: Vector, rng: Rng) -> Vector:
        """The release. Whole vectors, never one value at a time."""
        ...

    def draws(self, exact: Sequence[int], times: int, rng: Rng) -> Vector:
        """The first released number of `times` independent calls of sample on the same exact vector."""
        ...

    def probability(self, exact: Sequence[int], output: int) -> Enclosure:
        """The probability that the first released number is `output`, rigorously bounded."""
        ...

    def scaled(self, factor: Fraction) -> Self:
        """The same mechanism with `factor` times the noise (and the loss that goes with it)."""
        ...

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """What the conformance suite runs on."""
        ...


@dataclass(frozen=True, slots=True)
class Example:
    """A mechanism, two exact vectors that neighbouring databases may give, and outputs that hold nearly all mass."""

    mechanism: Mechanism
    left: tuple[int, ...]
    right: tuple[int, ...]
    outputs: range


@runtime_checkable
class Additive(Mechanism, Protocol):
    """A mechanism that adds independent integer noise Z, symmetric about zero, to every entry."""

    __slots__ = ()

    def noise(self, n: int, rng: Rng) -> Vector:
        """n independent copies of Z."""
        ...

    def mass(self, z: int) -> Enclosure:
        """P[Z = z], rigorously bounded."""
        ...

    def tail(self, h: int) -> Enclosure:
        """P[|Z| > h], rigorously bounded."""
        ...

    def stddev(self) -> float:
        """The standard deviation of Z."""
        ...

    def interval(self, level: float) -> int:
        """A half-width h with P[|Z| <= h] >= level; never too small, and the least where the tail is known exactly."""
        ...

    def sample(self, exact: Vector, rng: Rng) -> Vector:
        return saturating_add(exact, self.noise(len(exact), rng))

    def draws(self, exact: Sequence[int], times: int, rng: Rng) -> Vector:
        return self.sample(np.full(times, exact[0], dtype=np.int64), rng)

    def probability(self, exact: Sequence[int], output: int) -> Enclosure:
        return self.mass(output - exact[0])


def outside(level: float) -> Fraction:
    """One minus a confidence level, which is taken as its decimal text says."""
    level_exactly = exact_number(level)
    invariant(0 < level_exactly < 1, "a confidence level lies strictly between zero and one")
    return 1 - level_exactly


def least(holds: Callable[[int], bool], guess: int) -> int:
    """The least h >= 0 where a monotone predicate holds, searched outward from a guess."""
    # fails at low (or low is -1), holds at high
    low = -1
    high = max(guess, 0)
    step = 1
    while not holds(high):
        low = high
        high = high + step
        step = 2 * step
    step = 1
    while high - step > low and holds(high - step):
        high = high - step
        step = 2 * step
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def noise_too_large() -> Refused:
    return Refused(
        "noise_too_large",
        "the noise that this privacy needs does not fit into 64-bit integers",
        why="its scale, in steps of the grid, would exceed 2**46",
        fix="Allow a larger epsilon, lower the bounds or the limits, or use a coarser grid.",
    )


def rounded_up(number: Fraction, bits: int) -> Fraction:
    """The number itself if its terms have at most `bits` bits, else a dyadic number hardly above it that has."""
    limit = 1 << bits
    if number.numerator <= limit and number.denominator <= limit:
        return number
    shift = min(bits, bits - (number.numerator.bit_length() - number.denominator.bit_length()) - 1)
    invariant(shift >= 0, "the number is too large for its bits")
    return Fraction(-(-(number.numerator << shift) // number.denominator), 1 << shift)
