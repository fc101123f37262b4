"""Sheets beside the tables of a release: what follows from the same noisy numbers, such as quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.core.types import Type

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Further:
    """Columns in order; masked values are missing. `words` tell how the sheet is read."""

    title: str
    file: str
    columns: Mapping[str, Array]
    types: Mapping[str, Type]
    words: str
