"""What a kernel is: a pure function of exact values, with a theorem of how far one unit moves it. It adds no noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from obverse.core.units import Neighbours
from obverse.plan.nodes import Cells

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


class Kernel(Protocol):
    """Frozen, named, with Claim, Proof and Assumes."""

    name: ClassVar[str]


class Scores(Kernel, Protocol):
    """A kernel whose integers are scores of public candidates, from counts of public cells."""

    def moved(self, neighbours: Neighbours) -> int:
        """How far one unit that weighs one moves any score, at most."""
        ...

    def scores(self, cells: Cells, counts: Integers) -> Integers:
        """One exact integer for each candidate."""
        ...

    def fits(self, cells: Cells) -> None:
        """Raise unless the kernel reads cells that there are."""
        ...
