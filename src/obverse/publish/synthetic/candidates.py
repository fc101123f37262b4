"""Which tables of two and three columns may be measured, and the few larger ones from which all of them are added up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

from obverse.publish.synthetic.junction import Clique

CELLS_MAX, TRIPLES_MAX = 1 << 12, 192  # of one triple; and how many may be chosen from
READ_MAX, TOGETHER_MAX = 1 << 14, 8  # cells and columns of a table that several are added up from


@lru_cache(maxsize=64)
def tables(sizes: tuple[int, ...]) -> tuple[Clique, ...]:
    """All pairs of columns, and the triples that have fewest cells."""
    cells = {part: math.prod(sizes[i] for i in part) for part in combinations(range(len(sizes)), 3)}
    small = sorted((many, part) for part, many in cells.items() if many <= CELLS_MAX)
    return tuple(combinations(range(len(sizes)), 2)) + tuple(sorted(part for _, part in small[:TRIPLES_MAX]))


@lru_cache(maxsize=64)
def together(sizes: tuple[int, ...]) -> tuple[Clique, ...]:
    """Tables of more columns, so that each of `tables` is within one: rows are counted in few of them.

    A table that is not covered yet is joined by the column that covers most with those that are there, as long as cells are
    few; then the next.
    """
    left = dict.fromkeys(sorted(tables(sizes), key=lambda part: (-len(part), part)))
    found: list[Clique] = []
    while left:
        have = next(iter(left))
        while len(have) < TOGETHER_MAX and (more := _joined(sizes, have, left)) is not None:
            have = tuple(sorted((*have, more)))
        found.append(have)
        for many in (2, 3):
            for part in combinations(have, many):
                left.pop(part, None)
    return tuple(sorted(found, key=lambda part: (math.prod(sizes[i] for i in part), part)))


def _joined(sizes: Sequence[int], have: Clique, left: dict[Clique, None]) -> int | None:
    """The column that covers most, if any fits and covers something."""
    room = READ_MAX // math.prod(sizes[i] for i in have)
    best: tuple[int, int] | None = None
    for one in (i for i, size in enumerate(sizes) if size <= room and i not in have):
        parts = [tuple(sorted((one, *part))) for many in (1, 2) for part in combinations(have, many)]
        worth = sum(part in left for part in parts), -one
        if worth[0] and (best is None or worth > best):
            best = worth
    return None if best is None else -best[1]
