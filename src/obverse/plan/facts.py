"""Facts of a relation: what is known of its columns, and how far one unit reaches in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from obverse.core.sensitivity import Stability
from obverse.plan.expressions import ColumnFacts


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of a relation; stability None means that it is public."""

    columns: Mapping[str, ColumnFacts]
    stability: Stability | None
