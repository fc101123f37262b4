"""Leaves in a row, measured by weighted running sums: unbiased prefix sums, and the variances of all that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from obverse.core.errors import invariant
from obverse.plan.strategy.linear import Linear, Running

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SCALE = 1 << 12  # of the weights of running sums, so that they are whole numbers


class Line(Protocol):
    """How leaves in a row are measured. `own` are the variances of an entry, one for each map."""

    @property
    def leaves(self) -> int: ...

    @property
    def parts(self) -> tuple[str, ...]:
        """A name for each map."""
        ...

    def maps(self) -> tuple[Linear, ...]: ...

    def words(self, place: int) -> str:
        """What a map measures, for people."""
        ...

    def covers(self, place: int) -> list[tuple[int, int]]:
        """The first and last leaf that each entry of a map reads."""
        ...

    def prefixes(self, measured: Sequence[Floats], own: Sequence[float]) -> Floats:
        """Best unbiased estimates of the sums of the first leaves; entries and leaves are on the last axis."""
        ...

    def against(self, own: Sequence[float], weights: Floats) -> tuple[Floats, Floats]:
        """The variance of each prefix, and its covariance with the sum of the leaves by these weights."""
        ...

    def single(self, own: Sequence[float]) -> Floats:
        """The variance of each leaf by itself."""
        ...


@dataclass(frozen=True, slots=True)
class Sums:
    """Running sums with the weights of the square root of the prefix matrix: what Gaussian noise on a CDF wants.

    Claim:   prefix sums are unbiased, with the variances told; the mean of them is that of the square-root factorisation.
    Proof:   the matrix of prefix sums is the series 1/(1 - z), whose root (1 - z)^(-1/2) has the coefficients 1, 1/2, 3/8 ...
             Those are rounded to whole numbers w. The map is square with a diagonal that is not zero, so that its inverse,
             the series 1/w(z), is least squares, and prefixes are the entries by the series c = 1/((1 - z) w(z)): prefix i
             has variance c_0^2 + ... + c_i^2 in units of an entry's. Rounding w changes c alike, so nothing is biased by it.
    Assumes: noise is independent and of one variance.
    """

    leaves: int

    def __post_init__(self) -> None:
        invariant(self.leaves >= 1, "a line has leaves")

    @property
    def parts(self) -> tuple[str, ...]:
        return ("sums",)

    def maps(self) -> tuple[Linear, ...]:
        return (Running(roots(self.leaves)),)

    def words(self, place: int) -> str:
        return f"weighted running sums (times {SCALE:,})"

    def covers(self, place: int) -> list[tuple[int, int]]:
        return [(0, last) for last in range(self.leaves)]

    def prefixes(self, measured: Sequence[Floats], own: Sequence[float]) -> Floats:
        import numpy as np

        (entries,) = measured
        wide = 1 << (2 * self.leaves - 1).bit_length()
        series = np.fft.rfft(np.cumsum(inverse(self.leaves)), wide)
        found: Floats = np.fft.irfft(np.fft.rfft(entries, wide) * series, wide)[..., : self.leaves]
        return found

    def against(self, own: Sequence[float], weights: Floats) -> tuple[Floats, Floats]:
        import numpy as np

        (variance,) = own
        back = inverse(self.leaves)
        series = np.cumsum(back)
        entries = np.convolve(weights[::-1], back)[: self.leaves][::-1]  # the weights, as weights of entries
        return variance * np.cumsum(series**2), variance * np.convolve(series, entries)[: self.leaves]

    def single(self, own: Sequence[float]) -> Floats:
        import numpy as np

        found: Floats = own[0] * np.cumsum(inverse(self.leaves) ** 2)
        return found


@lru_cache(maxsize=8)
def roots(leaves: int) -> tuple[int, ...]:
    """The coefficients of (1 - z)^(-1/2), times SCALE, as whole numbers."""
    found, top, under = [], 1, 1
    for k in range(leaves):
        if k:
            top, under = top * (2 * k - 1), under * (2 * k)
            shift = max(0, under.bit_length() - 256)  # as many digits as matter
            top, under = top >> shift, under >> shift
        found.append((2 * SCALE * top + under) // (2 * under))
    return tuple(found)


@lru_cache(maxsize=8)
def inverse(leaves: int) -> Floats:
    """The series 1/w(z) of the weights."""
    import numpy as np

    weights = np.array(roots(leaves), dtype=np.float64)
    found = np.zeros(leaves)
    found[0] = 1 / weights[0]
    for k in range(1, leaves):
        found[k] = -float(weights[1 : k + 1] @ found[k - 1 :: -1]) / weights[0]
    found.setflags(write=False)
    return found
