"""The files of a release as columns: tables, measurements and errors, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.core.types import Type
from obverse.publish.base import LEVEL, Expected, Measured, Method, Outcome

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

DECIMALS = 6  # of estimates and of the ends of intervals, of which one is a row


@dataclass(frozen=True, slots=True)
class Sheet:
    """One file: its name without an ending, and its columns in order; masked values are missing."""

    name: str
    columns: Mapping[str, Array]
    types: Mapping[str, Type]


def data_sheet(method: Method, outcome: Outcome, place: int) -> Sheet:
    """A table: whole numbers, the unbiased estimate, and its interval."""
    one = outcome.tables[place]
    columns, types = method.labels(place)
    low, high = one.values - one.half_width, one.values + one.half_width
    columns |= {"count": one.whole, "estimate": rounded(one.values), "low": rounded(low), "high": rounded(high)}
    types |= {"count": Type.INTEGER, "estimate": Type.DOUBLE, "low": Type.DOUBLE, "high": Type.DOUBLE}
    return Sheet(one.file, columns, types)


def rounded(values: Array) -> Array:
    """To the decimals that are told; noise is far larger than what is cut off, and no nought has a sign."""
    import numpy as np

    told: Array = np.round(values, DECIMALS) + 0.0
    return told


def measurement_sheet(method: Method, measured: Measured, place: int) -> Sheet:
    """A measured block: the released integers as they are, and the standard deviation of their noise."""
    import numpy as np

    entries = measured[place]
    assert entries.values is not None
    columns, types = method.block_labels(entries.block.name)
    columns |= {"value": entries.values, "stddev": np.full(len(entries.values), entries.mechanism.stddev())}
    types |= {"value": Type.INTEGER, "stddev": Type.DOUBLE}
    return Sheet(f"{place + 1:02d}", columns, types)


def errors_sheet(errors: Sequence[Expected]) -> Sheet:
    """How far a cell of each table is from the truth."""
    import numpy as np

    columns: dict[str, Any] = {
        "table": np.array([one.title for one in errors], dtype=object),
        "file": np.array([one.file for one in errors], dtype=object),
        "cells": np.array([one.cells for one in errors], dtype=np.int64),
        "stddev": np.array([one.stddev for one in errors]),
        "half_width": np.array([one.half_width for one in errors]),
        "level": np.full(len(errors), LEVEL),
    }
    kinds = (Type.TEXT, Type.TEXT, Type.INTEGER, Type.DOUBLE, Type.DOUBLE, Type.DOUBLE)
    return Sheet("errors", columns, dict(zip(columns, kinds)))
