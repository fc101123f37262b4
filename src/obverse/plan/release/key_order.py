"""The order in which released keys are told: that of their values, so that where an engine keeps them tells nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from obverse.core.errors import invariant
from obverse.core.types import Type

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Keys = Sequence[NDArray[np.object_]]

NATIVE = {Type.INTEGER: "int64", Type.DOUBLE: "float64", Type.BOOLEAN: "bool"}  # texts and times compare as Python's own


def value_order(keys: Keys, kinds: Sequence[Type]) -> NDArray[np.intp]:
    """Places of the keys by their first values, then their second ...: as engines order them, NaN last and NULL after it.

    No key stands twice: one that did would have had noise twice.
    """
    import numpy as np

    order = np.arange(len(keys[0]))
    for values, kind in reversed(list(zip(keys, kinds))):
        order = order[_ascending(values[order], kind)]
    told = [values[order] for values in keys]
    again = np.logical_and.reduce([values[1:] == values[:-1] for values in told])
    invariant(not np.any(again), "a key stands twice")
    return order


def _ascending(values: NDArray[Any], kind: Type) -> NDArray[np.intp]:
    import numpy as np

    nothing: Any = None
    null = np.equal(values, nothing).astype(bool)
    there = np.flatnonzero(~null)
    known = values[there].astype(NATIVE.get(kind, object))
    return np.concatenate([there[np.argsort(known, kind="stable")], np.flatnonzero(null)])
