"""Tests of shares: how likely noise alone makes one as large, where nobody has the item."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

from obverse.collect.beyond import without

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Doubles, Estimated

LEAST = 1e-300  # of a variance
SURELY = -40.0  # deviates of what is always so
NEAR = 1e-3  # deviates within which the tail is one half


def by_chance(found: Estimated, null: Doubles | float = 0.0) -> Doubles:
    """For each item the chance of so large a share, or a larger one, if its share is none; or `null`, which reports that carry
    no answer give it.

    Claim:   where reports support an item or do not, by fresh hashes or none, it is at most 4 % smaller and 6 % larger than
             the chance itself, of 20 people and more, and down to one in a million. Of others it is as near as the normal law
             at the variance of no share, half a report off.
    Proof:   under no share every report supports the item by a coin of the same chance, so support is binomial; its tail is
             that of `deviates`. Compared by enumeration: tests/unit/collect/test_detection.py. What has more variance than the
             coins, by collisions or by coins that devices keep, is by as much nearer to nothing in deviates.
    Assumes: the variance at no share is what `tilt` and `bend` tell. Where `null` is given, each report that carries no answer
             supports the item by a coin of its own, or their sum varies less.
    """
    import numpy as np

    value, none = without(found, null)
    none = np.maximum(none, LEAST)
    if found.coins is None:
        off = (value - found.grain) / np.sqrt(none)
    else:
        n = found.coins[0]
        more = 2 * n * found.grain  # the grain is half of 1 / n over what one's own counts more
        idle, support = found.coins[1] + null / more, found.coins[1] + found.value / more
        coins = idle * (1 - idle) * 4 * n * np.square(found.grain)  # of the variance, what is of the coins
        off = deviates(support, n, idle) * np.sqrt(np.minimum(coins / none, 1.0))
    return np.array([NormalDist().cdf(-x) for x in off])


def deviates(support: Doubles, n: int, idle: Doubles | float) -> Doubles:
    """Of shares of n coins that came up, each of chance `idle`: as far in the tail of a normal as they are in theirs.

    The signed root r of the deviance half a coin off, and log(u / r) / r for its skewness, u being the saddlepoint's deviate
    for whole numbers (Daniels 1987, Barndorff-Nielsen 1986).
    """
    import numpy as np

    rate = np.clip(support - 0.5 / n, 0.25 / n, 1 - 0.25 / n)
    more, less = np.log(rate / idle), np.log((1 - rate) / (1 - idle))
    root = np.sign(rate - idle) * np.sqrt(2 * n * np.maximum(rate * more + (1 - rate) * less, 0.0))
    tilted = 2 * np.sinh((more - less) / 2) * np.sqrt(n * rate * (1 - rate))
    far = np.abs(root) > NEAR
    ratio = np.where(far, tilted, 1.0) / np.where(far, root, 1.0)
    found: Doubles = np.where(support * n < 0.5, SURELY, root + np.where(far, np.log(ratio) / np.where(far, root, 1.0), 0.0))
    return found


def corrected(p_values: Doubles) -> Doubles:
    """Holm's correction: of all items found, one is found in error with at most the chance that is told."""
    import numpy as np

    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    found = np.empty_like(p_values)
    found[order] = np.minimum(stepped, 1.0)
    return found
