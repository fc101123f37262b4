"""The last partition of growing data, as the curator names it, in the acts that publish or retire partitions."""

from __future__ import annotations

import datetime as dt

from obverse.catalog.model import Catalog, Column
from obverse.core.bounds import Interval
from obverse.core.errors import Refused
from obverse.core.types import Type, days
from obverse.plan.partitions import partitioned


def last_partition(catalog: Catalog, through: str | None) -> int | None:
    """The partition that the curator publishes through, as a number; needed where the data grows by partitions, only there."""
    table = partitioned(catalog)
    if table is None or table.partition is None:
        if through is not None:
            message = "no table of this project is declared to have partitions."
            raise Refused("bad_parameter", message, fix="Leave out --through, or declare a partition.")
        return None
    column = table.columns[table.partition.column]
    example = "2024-12-31" if column.type is Type.DATE else "3"
    if through is None:
        raise Refused(
            "bad_parameter",
            f"which is the last {column.name} that the rows hold now?",
            why="it is public from now on, and nothing past it is read; each partition's budget begins with it.",
            fix=f"obverse data publish --through {example}",
        )
    return named_partition(column, through)


def named_partition(column: Column, through: str) -> int:
    """A partition that the curator named, as a number."""
    example = "2024-12-31" if column.type is Type.DATE else "3"
    try:
        found = days(dt.date.fromisoformat(through)) if column.type is Type.DATE else int(through)
    except ValueError:
        raise Refused("bad_parameter", f"{through!r} is no {column.type.value}.", fix=f"Write {example}.") from None
    if not isinstance(column.bounds, Interval) or not column.bounds.lo <= found <= column.bounds.hi:
        raise Refused("bad_parameter", f"{through} lies outside the bounds of {column.name}.", fix="Widen the bounds.")
    return found
