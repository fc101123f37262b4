"""What attacks are pointed at: tables that were released, and interfaces that answer. Nothing of ours is needed to be one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Table = Mapping[str, NDArray[Any]]  # columns by name, all of one length; texts as objects
    Ask = Callable[[str], float]  # a question in SQL, whose answer is one number
    Sums = Callable[[NDArray[np.bool_]], NDArray[np.float64]]  # rows of subsets of n people: the sum of secrets over each
