"""Values of keys and aggregates in every cell of an answer, as columns that outputs read."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from obverse.core.types import Type
from obverse.plan.expressions import domain, from_number
from obverse.plan.nodes import Aggregate, Cells, Key
from obverse.plan.query import AggregateCall
from obverse.plan.release.vector import Column, dtype_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.plan.release.randomize import Released

    Floats = NDArray[np.float64]

FILLERS: dict[Type, Any] = {Type.INTEGER: 0, Type.DOUBLE: 0.0, Type.BOOLEAN: False}


def key_columns(root: Aggregate, released: Released) -> dict[str, Column]:
    """The value of every key in every cell: released keys first, in their order, each with all public cells."""
    import numpy as np

    public = root.public
    cells = public.count
    known, listed, found = {}, 0, 0
    within = np.tile(np.arange(cells), released.cells // max(cells, 1))
    for n, key in enumerate(root.child.keys):
        if key.domain is None:
            known[f"key{n}"] = _discovered(released.keys[found], key, cells)
            known[f"left_out{n}"] = Column(np.zeros_like(within), np.zeros(len(within), dtype=bool))
            found += 1
        else:
            known[f"key{n}"] = _public(public, listed, within)
            known[f"left_out{n}"] = _left_out(public, listed, within)
            listed += 1
    return known


def _public(public: Cells, place: int, within: NDArray[np.intp]) -> Column:
    """A public key's values; NULL in grouping sets that it is not part of."""
    import numpy as np

    key = public.keys[place]
    index = np.full(public.count, len(key.listed), dtype=np.int64)
    for chosen, offset in zip(public.sets, public.offsets):
        if place in chosen:
            size = public.size(chosen)
            shape = [public.keys[i].cells for i in chosen]
            index[offset : offset + size] = np.unravel_index(np.arange(size), shape)[chosen.index(place)]
    values = np.empty(len(key.listed) + 1, dtype=dtype_of(key.expr.facts.type))
    values[:-1] = list(key.listed)
    values[-1] = FILLERS.get(key.expr.facts.type)
    return Column(values[index][within], (index == len(key.listed))[within])


def _left_out(public: Cells, place: int, within: NDArray[np.intp]) -> Column:
    """1 in grouping sets that the key is not part of, else 0: what GROUPING tells."""
    import numpy as np

    sizes = [public.size(chosen) for chosen in public.sets]
    values = np.repeat(np.array([place not in chosen for chosen in public.sets], dtype=np.int64), sizes)
    return Column(values[within], np.zeros(len(within), dtype=bool))


def _discovered(values: NDArray[Any], key: Key, cells: int) -> Column:
    import numpy as np

    kind = key.expr.facts.type
    if kind is Type.DATE:  # which engines hand over as timestamps at midnight
        values = values.astype("datetime64[D]").astype(object)
    nothing: Any = None
    filler: Any = FILLERS.get(kind)
    null = np.equal(values, nothing).astype(bool)
    filled = np.where(null, filler, values).astype(dtype_of(kind))
    if kind is Type.DOUBLE:  # a product of large numbers, or a text that says so, may be no finite number
        null = null | ~np.isfinite(filled)
    return Column(np.repeat(filled, cells), np.repeat(null, cells))


def empty(kind: Type) -> Column:
    """A column without cells."""
    import numpy as np

    return Column(np.empty(0, dtype=dtype_of(kind)), np.empty(0, dtype=bool))


def typed(values: Floats, kind: Type, call: AggregateCall) -> Column:
    """An aggregate's estimates as its own type: whole numbers, dates, or the value that a choice stands for."""
    import numpy as np

    null = np.zeros(len(values), dtype=bool)
    if call.function == "mode":
        assert call.argument is not None
        listed = np.array(list(domain(call.argument.facts) or ()), dtype=dtype_of(kind))
        return Column(listed[values.astype(np.int64)], null)
    if kind in (Type.DATE, Type.TIMESTAMP):
        made = np.frompyfunc(lambda value: from_number(Fraction(round(value)), kind), 1, 1)(values)
        return Column(np.asarray(made, dtype=object), null)
    return Column(np.rint(values).astype(np.int64) if kind is Type.INTEGER else values, null)
