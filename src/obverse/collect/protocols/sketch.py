"""Tables of a row for each hash: what an item's cells sum to, and what collisions leave."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from obverse.collect.protocols.base import Estimated
from obverse.collect.randomness.hashing import key_symbols_of, mixed

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Codes, Counts

CELLS = 1 << 14  # hashes at a time, so that they stay in the cache


def cell_sums(table: Counts, keys: Codes, columns: int, hashes: int = 1) -> Counts:
    """For each key the sum over rows of the cells that the row's hashes give to it; row j has those from j times hashes on."""
    import numpy as np

    found = np.zeros(len(keys), dtype=np.int64)
    rows, flat = np.arange(len(table) * hashes, dtype=np.uint64)[:, None], table.reshape(-1)
    firsts = rows // np.uint64(hashes) * np.uint64(table.shape[1])
    for low in range(0, len(keys), CELLS):
        some = keys[low : low + CELLS]
        step = max(1, CELLS // len(some))
        for start in range(0, len(rows), step):
            cells = key_symbols_of(rows[start : start + step], some, columns)
            cells += firsts[start : start + step]
            found[low : low + CELLS] += flat.take(cells.view(np.int64)).sum(axis=0)
    return found


def pool_sums(table: Counts, items: Codes) -> Counts:
    """For each item the sum, over a pool of hashes, of the count of its symbol. The time is that of the pool times items."""
    import numpy as np

    pool, size = table.shape
    found = np.zeros(len(items), dtype=np.int64)
    symbols, flat = np.uint64(size), table.reshape(-1)
    for low in range(0, len(items), CELLS):
        some = items[low : low + CELLS]
        rows = max(1, CELLS // len(some))
        words = np.empty((rows, len(some)), dtype=np.uint64)
        for start in range(0, pool, rows):
            numbers = np.arange(start, min(start + rows, pool), dtype=np.uint64)[:, None]
            factors = mixed(numbers)
            here = words[: len(numbers)]
            np.multiply(factors, some, out=here)
            np.add(here, mixed(factors), out=here)
            np.right_shift(here, np.uint64(32), out=here)
            np.multiply(here, symbols, out=here)
            np.right_shift(here, np.uint64(32), out=here)
            np.add(here, numbers * symbols, out=here)
            found[low : low + CELLS] += flat[here.view(np.int64)].sum(axis=0)
    return found


def pool_squares(table: Counts, gap: Fraction) -> float:
    """F2, the sum of squared shares, cut to [0, 1]; `gap` is by how much more often a report has the own symbol than another.

    Two reports of one hash show one symbol with probability 1/g + (1 - 1/g) gap**2 F2 on average over hashes; pairs of one
    hash are counted, and this is solved for F2.
    """
    import numpy as np

    symbols, reports = table.astype(np.float64), table.sum(axis=1).astype(np.float64)
    q: float = 1 / table.shape[1]
    pairs = float((reports * (reports - 1)).sum())
    if not pairs:
        return 1.0
    alike = float((symbols * (symbols - 1)).sum()) / pairs
    return min(max((alike - q) / ((1 - q) * float(gap) ** 2), 0.0), 1.0)


def with_collisions(found: Estimated, squares: float, factor: float) -> Estimated:
    """The estimate with the variance of collisions added, for shares whose squares sum to F2 = `squares`.

    Hashes are drawn once. Of m of them a share is met in which another item, of share f, meets item v: on average that which
    the estimate takes away, with a variance that is one over m; summed over items it leaves factor (F2 - f_v**2) of variance,
    however many reports there are. For hashes to g symbols the factor is 1 / (m (g - 1)): they meet with probability 1/g,
    with variance (1/g) (1 - 1/g) / m, and taking the average away divides by (1 - 1/g)**2.
    """
    import numpy as np

    left = np.clip(squares - np.clip(found.value, 0.0, 1.0) ** 2, 0.0, 1.0)
    return replace(found, variance=found.variance + left * factor, floor=squares * factor)


def squared_shares(counts: Counts, own: Fraction, other: Fraction, held: float) -> float:
    """F2, the sum of squared shares, cut to [0, 1]; from counts of bits, a row for each hash, reports in the last column.

    A bit of the item's hash is sent as 1 with probability p, another with q; a bit is of an item's hash with probability h.
    Of a row of N reports, C with the bit set, ((C - N q)**2 - V) / (p - q)**2 is N**2 times the bit's squared share on average,
    V = C (N - C) / (N - 1) being for the variance of C. Over hashes squared shares of bits are h**2 + h (1 - h) F2 each.
    """
    import numpy as np

    (rows,) = np.nonzero(counts[:, -1] > 1)
    if not len(rows):
        return 1.0
    bits, many = counts[rows, :-1].astype(np.float64), counts[rows, -1:].astype(np.float64)
    found = float(((bits - many * float(other)) ** 2 - bits * (many - bits) / (many - 1)).sum())
    known: float = found / (float(own - other) ** 2 * float((many**2).sum()) * (counts.shape[1] - 1))
    return min(max((known - held**2) / (held * (1 - held)), 0.0), 1.0)
