"""Exact sums to released integers: the only caller of Exact.reveal, and the only place where noise is added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from obverse.core.engine import Columns
from obverse.core.errors import invariant
from obverse.core.rng import Rng
from obverse.core.secret import Exact
from obverse.plan.allocate import CostedPlan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Released = tuple[NDArray[np.int64], ...]


def randomize(exact: Exact[Columns], costed: CostedPlan, rng: Rng) -> Released:
    """One released integer per measure and cell; absent cells are zeros that get noise like any other.

    Claim:   the output is the mechanisms' release of the exact vector over all cells, in the cells' public order.
    Proof:   rows of the engine are put at their cell's place, whatever their order; every cell is sampled.
    Assumes: cell indices lie within the plan's cells, each at most once (checked).
    """
    import numpy as np

    columns = exact.reveal()
    cells = costed.annotated.limited.setting.cells
    place = columns["k"]
    invariant(place.dtype.kind == "i" and (len(place) == 0 or (place.min() >= 0 and place.max() < cells)), "cell index")
    seen = np.zeros(cells, dtype=bool)
    seen[place] = True
    invariant(int(seen.sum()) == len(place), "a cell stands twice")
    released = []
    for i, mechanism in enumerate(costed.mechanisms):
        sums = columns[f"m{i}"]
        invariant(sums.dtype.kind == "i", "a measure must be an integer")
        dense = np.zeros(cells, dtype=np.int64)
        dense[place] = sums
        released.append(mechanism.sample(dense, rng))
    return tuple(released)
