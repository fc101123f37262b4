"""Last bits: events by the size of a real number and the place of its last bit, where floating-point noise leaves its
trace.

Reachable outputs: what the textbook's floating-point Laplace noise, added to a true value, can give at all (Mironov).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from obverse.attack.lower_bound.events import Candidates, numbers

if TYPE_CHECKING:
    from obverse.attack.lower_bound.scores import Floats


# Of u below and above the truth: a uniform double is a multiple of 2^-53, twice of it one of 2^-52. numpy has one of
# each.
GRAINS = ((52, 52), (53, 53), (52, 53))
WHOLE_MAX = 2.0**53
CHOOSING_MAX = 100_000  # outputs of a side that choose


@dataclass(frozen=True, slots=True)
class Supposed:
    """What an attacker supposes of the noise: epsilon, and perhaps the true values of both sides."""

    epsilon: float
    truths: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Sampler:
    """The truth plus or minus scale * log(u), where u is a whole multiple of 2^-grain, with a grain below and one
    above.
    """

    truth: float
    scale: float
    grains: tuple[int, int]

    def reaches(self, outputs: Floats) -> NDArray[np.bool_]:
        """Whether one of the three likeliest u gives exactly the output."""
        below = outputs < self.truth
        steps = np.where(below, 2.0 ** self.grains[0], 2.0 ** self.grains[1])
        sign = np.where(below, self.scale, -self.scale)
        with np.errstate(over="ignore"):  # of a scale near zero
            nearest = np.rint(np.exp(-np.abs(outputs - self.truth) / self.scale) * steps)
        found = np.zeros(len(outputs), dtype=np.bool_)
        for step in (-1, 0, 1):
            found |= self.truth + sign * np.log(np.clip(nearest + step, 1, steps) / steps) == outputs
        return found


@dataclass(frozen=True, slots=True)
class Reached:
    """Outputs that the noise can give around one true value, and cannot around the other."""

    here: Sampler
    there: Sampler

    @property
    def words(self) -> str:
        here = self.here
        there = self.there
        bits = f"uniform to {here.grains[0]} bits below, {here.grains[1]} above"
        noise = f"floating-point Laplace noise of scale {here.scale:g} ({bits})"
        return f"{noise} reaches the output from {here.truth:g} and not from {there.truth:g}"

    def hits(self, samples: NDArray[np.generic]) -> int:
        outputs = _finite(samples)
        return int(np.count_nonzero(self.here.reaches(outputs) & ~self.there.reaches(outputs)))


def reachable(left: NDArray[np.generic], right: NDArray[np.generic], supposed: Supposed) -> list[Candidates]:
    """Events of single real numbers: around the truths that are supposed, and around the whole numbers next to the
    medians.
    """
    if left[0].size > 1 or (left.dtype.kind in "biu" and right.dtype.kind in "biu") or not supposed.epsilon > 0:
        return []
    sides = _finite(left[:CHOOSING_MAX]), _finite(right[:CHOOSING_MAX])
    medians = [float(np.rint(np.median(side))) + 0.0 for side in sides]  # never minus zero
    pairs = {(medians[0], medians[1])} | ({supposed.truths} if supposed.truths else set())
    family: list[Reached] = []
    hits: list[list[int]] = []
    for (here, there), grains in product(sorted(pairs), GRAINS):
        scale = abs(here - there) / supposed.epsilon
        if 0 < scale < math.inf and max(abs(here), abs(there)) < WHOLE_MAX:
            one = Sampler(here, scale, grains)
            other = Sampler(there, scale, grains)
            reached = [(one.reaches(side), other.reaches(side)) for side in sides]
            family += [Reached(one, other), Reached(other, one)]
            hits += [[int((a & ~b).sum()) for a, b in reached], [int((b & ~a).sum()) for a, b in reached]]
    if not family:
        return []
    counts = np.array(hits, dtype=np.float64)
    return [Candidates(counts[:, 0], counts[:, 1], (len(sides[0]), len(sides[1])), lambda i: family[i])]


def _finite(samples: NDArray[np.generic]) -> Floats:
    return numbers(samples)[:, 0]


Places = NDArray[np.int64]


# beyond the powers of two of doubles, and of their last bits
LEAST = -1200
MOST = 1200
LOOK = 1 << 12  # more than there are powers of two between them
MANTISSA = 53
COMMON = 1e-3  # sizes and places that fewer outputs have bound no event
COLUMNS_MAX = 16  # numbers of an output that are looked at
Range = tuple[int, int]  # both ends included
ALL: Range = (LEAST, MOST)


@dataclass(frozen=True, slots=True)
class LastBits:
    """Outputs of some sizes, whose last bits stand at some places, or end in so many zeros.

    A number of size e lies from 2^(e-1) to below 2^e; its last bit stands at place p if it is an odd multiple of 2^p.
    Zero is smaller than all others, and a multiple of each power of two.
    """

    sizes: Range = ALL
    places: Range = ALL
    zeros: Range = ALL  # of the 53 bits of the mantissa, at its end
    column: int = 0
    of: str = "output"

    @property
    def words(self) -> str:
        small, large = self.sizes
        fine, coarse = self.places
        few, many = self.zeros
        size = f"|{self.of}|"
        if large < MOST:
            size += f" < 2^{large}"
        if small > LEAST:
            size = f"2^{small - 1} <= {size}"
        found = [size] if self.sizes != ALL else []
        found += [f"{self.of} is a multiple of 2^{fine}"] if fine > LEAST else []
        found += [f"{self.of} is no multiple of 2^{coarse + 1}"] if coarse < MOST else []
        found += [f"its mantissa ends in {few} zeros or more"] if few > LEAST else []
        found += [f"its mantissa ends in fewer than {many + 1} zeros"] if many < MOST else []
        return " and ".join(found) or f"any {self.of}"

    def holds(self, sizes: Places, places: Places) -> NDArray[np.bool_]:
        zeros = _zeros(sizes, places)
        held = (
            (sizes >= self.sizes[0])
            & (sizes <= self.sizes[1])
            & (places >= self.places[0])
            & (places <= self.places[1])
        )
        found: NDArray[np.bool_] = held & (zeros >= self.zeros[0]) & (zeros <= self.zeros[1])
        return found

    def hits(self, samples: NDArray[np.generic]) -> int:
        return int(np.count_nonzero(self.holds(*looks(_column(samples, self.column)))))


def last_bits(left: NDArray[np.generic], right: NDArray[np.generic]) -> list[Candidates]:
    """Each number of the outputs: sizes, multiples of powers of two, zeros at the end, and sizes together with
    multiples.

    Whole numbers have families of their own.
    """
    if left.dtype.kind in "biu" and right.dtype.kind in "biu":
        return []
    width = 1 if left.ndim == 1 else int(left[0].size)
    return [_family(left, right, column, width) for column in range(min(width, COLUMNS_MAX))]


def _family(left: NDArray[np.generic], right: NDArray[np.generic], column: int, width: int) -> Candidates:
    trials = len(left), len(right)
    codes = [np.unique(_coded(_column(side, column)), return_counts=True) for side in (left, right)]
    cells = np.unique(np.concatenate([seen for seen, _ in codes]))
    counts = np.zeros((2, len(cells)))
    for row, (seen, times) in zip(counts, codes):
        row[np.searchsorted(cells, seen)] = times
    sizes = cells // LOOK + LEAST
    places = cells % LOOK + LEAST
    family = _events(sizes, places, (counts / np.array(trials)[:, None]).max(axis=0), column, width)
    hits = np.array([counts[:, event.holds(sizes, places)].sum(axis=1) for event in family])
    return Candidates(hits[:, 0], hits[:, 1], trials, lambda i: family[i])


def _events(sizes: Places, places: Places, share: Floats, column: int, width: int) -> list[LastBits]:
    """Bounded by the sizes, places and numbers of zeros that are common on one side at least."""

    def common(of: Places) -> list[int]:
        distinct, place = np.unique(of, return_inverse=True)
        return [int(one) for one in distinct[np.bincount(place, weights=share) >= COMMON]]

    of = "output" if width == 1 else f"output[{column}]"
    seen = common(sizes)
    boxes: list[Range] = [
        ALL,
        *((one, one) for one in seen),
        *((LEAST, one) for one in seen),
        *((one, MOST) for one in seen),
    ]
    cuts: list[Range] = [ALL]
    for place in common(places):
        cuts += [(place, MOST), (LEAST, place - 1)]
    found = [LastBits(box, cut, column=column, of=of) for box, cut in product(boxes, cuts)]
    for zeros in common(_zeros(sizes, places)):
        found += [
            LastBits(zeros=(zeros, MOST), column=column, of=of),
            LastBits(zeros=(LEAST, zeros - 1), column=column, of=of),
        ]
    return found


def looks(outputs: Floats) -> tuple[Places, Places]:
    """Size of each number, and place of its last bit."""
    fraction, exponent = np.frexp(np.abs(outputs))
    whole = np.ldexp(fraction, MANTISSA).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    sizes = np.where(whole == 0, LEAST, exponent)
    return sizes.astype(np.int64), np.where(whole == 0, MOST, exponent - MANTISSA + lowest).astype(np.int64)


def _zeros(sizes: Places, places: Places) -> Places:
    """At the end of the mantissa; zero ends in as many as one likes."""
    found: Places = np.minimum(places - sizes + MANTISSA, MOST)
    return found


def _coded(outputs: Floats) -> Places:
    sizes, places = looks(outputs)
    return (sizes - LEAST) * LOOK + places - LEAST


def _column(samples: NDArray[np.generic], column: int) -> Floats:
    return numbers(samples if samples.ndim == 1 else samples.reshape(len(samples), -1)[:, column])[:, 0]
