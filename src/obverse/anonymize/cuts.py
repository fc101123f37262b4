"""Where parts may be cut so that both halves have k different people, of whom each may have rows on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from obverse.anonymize.table import Codes, Counts

    Integers = NDArray[np.int64]

NOWHERE = np.iinfo(np.int64).max // 2


@dataclass(frozen=True, slots=True)
class Rows:
    """The part and the value of each entry, and whose it is, as `table.Persons` has it."""

    part: Integers
    values: NDArray[np.int32]
    codes: Codes
    number: Counts


def between(rows: Rows, parts: int, k: int) -> tuple[Integers, Integers]:
    """For each part the least and the greatest value that may end its left half; the least is above where there is none.

    A person is in the left half from their least value on, and in the right half as long as the cut is below their greatest.
    """
    part, least, greatest, number = _ranges(rows)
    low = _reached(part, least, number, parts, k)
    high = -_reached(part, -greatest, number, parts, k) - 1
    return low, high


def _ranges(rows: Rows) -> tuple[Integers, Integers, Integers, Counts]:
    """Part, least and greatest value, and number: of each person who is named once for each part, of others as they are."""
    here = rows.number > 0
    named = here & (rows.codes > 0)
    alike = here & ~named
    part, codes, values = rows.part[named], rows.codes[named], rows.values[named]
    order = np.lexsort((codes, part))
    part, codes, values = part[order], codes[order], values[order].astype(np.int64)
    fresh = np.ones(len(part), dtype=bool)
    fresh[1:] = (part[1:] != part[:-1]) | (codes[1:] != codes[:-1])
    starts = np.flatnonzero(fresh)
    least, greatest = (f.reduceat(values, starts) if len(starts) else values for f in (np.minimum, np.maximum))
    others = rows.values[alike].astype(np.int64)
    return (
        np.concatenate((rows.part[alike], part[starts])),
        np.concatenate((others, least)),
        np.concatenate((others, greatest)),
        np.concatenate((rows.number[alike], np.ones(len(starts), dtype=np.int64))),
    )


def _reached(part: Integers, values: Integers, number: Counts, parts: int, k: int) -> Integers:
    """For each part the value up to which k people are, from the least on."""
    order = np.lexsort((values, part))
    part, values = part[order], values[order]
    running = np.cumsum(number[order])
    before = np.concatenate(([0], running))[np.searchsorted(part, np.arange(parts))]
    place = np.searchsorted(running, before + k)
    found = np.full(parts, NOWHERE)
    there = place < np.searchsorted(part, np.arange(parts), side="right")
    found[there] = values[place[there]]
    return found
