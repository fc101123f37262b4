"""Intervals cover the share as often as they say, also where chance makes but a few reports: by enumeration,
exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from obverse.collect.estimate import interval, quantile
from obverse.collect.protocols.base import Estimated, sampled
from obverse.collect.protocols.direct import Direct

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Doubles

WIDE = quantile(0.95, 1)


def binomial(n: int, p: float) -> Doubles:
    return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


def law(protocol: Direct, n: int, holders: int) -> Doubles:
    """How likely each number of reports of an item is, that so many of n people have."""
    return np.convolve(binomial(holders, float(protocol.own)), binomial(n - holders, float(protocol.other)))


def of_counts(protocol: Direct, n: int) -> Estimated:
    """The estimates of all counts that one item can have."""
    others = [0] * (protocol.size - 1)
    first = np.zeros(1, dtype=np.uint64)
    found = [protocol.estimate(np.array([count, *others]), n, first) for count in range(n + 1)]
    value, variance = (np.concatenate(all_) for all_ in zip(*((each.value, each.variance) for each in found)))
    return Estimated(value, variance, tilt=found[0].tilt, grain=found[0].grain)


def covers(found: Estimated, share: float, wide: float = WIDE) -> Doubles:
    low, high = interval(found, wide)
    return ((low <= share + 1e-12) & (share - 1e-12 <= high)).astype(np.float64)


@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("size", [2, 5, 50])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "2", "4", "6", "8"])
def test_coverage_is_what_is_said_whatever_the_share(n: int, size: int, epsilon: str) -> None:
    """The plain interval, value plus and minus deviations, covers 0.80 of 50 people with five options at epsilon 6."""
    protocol = Direct.fitted(size, Fraction(epsilon))
    found = of_counts(protocol, n)
    each = [float(law(protocol, n, holders) @ covers(found, holders / n)) for holders in range(0, n + 1, n // 50)]
    assert min(each) >= 0.945
    low, high = interval(found, WIDE)
    plain = 2 * WIDE * np.sqrt(found.variance) + 2 * found.grain
    assert float(np.mean(high - low)) <= 1.01 * float(np.mean(plain))  # no wider than half a report on each side


def test_what_is_told_of_plain_intervals_and_of_far_tails() -> None:
    """The figures of docs/collect.md and of the changelog."""
    shares = range(51)
    six, eight = (Direct.fitted(5, Fraction(epsilon)) for epsilon in (6, 8))
    found = of_counts(six, 50)
    plain = lambda share: np.abs(found.value - share) <= WIDE * np.sqrt(found.variance)  # noqa: E731
    assert 0.80 <= min(float(law(six, 50, h) @ plain(h / 50)) for h in shares) < 0.81
    found = of_counts(eight, 50)
    wide = quantile(0.999, 1)
    assert 0.975 <= min(float(law(eight, 50, h) @ covers(found, h / 50, wide)) for h in shares) < 0.98


@pytest.mark.parametrize("epsilon", ["1", "4", "8"])
def test_who_was_picked_is_covered_too(epsilon: str) -> None:
    """60 answers of 300 people, whom chance picked."""
    n = 60
    of = 300
    protocol = Direct.fitted(3, Fraction(epsilon))
    found = sampled(of_counts(protocol, n), n, of)
    for holders in range(0, of + 1, 10):
        picked = [math.comb(holders, k) * math.comb(of - holders, n - k) / math.comb(of, n) for k in range(n + 1)]
        chance = sum(p * law(protocol, n, k) for k, p in enumerate(picked))
        assert float(chance @ covers(found, holders / of)) >= 0.945


def test_an_interval_holds_the_estimate_and_grows_with_the_level() -> None:
    for protocol in (Direct.two_coins(), Direct.fitted(5, Fraction(6))):
        found = of_counts(protocol, 50)
        before = None
        for level in (0.5, 0.9, 0.95, 0.999, 0.999999):
            low, high = interval(found, quantile(level, 1))
            assert np.all(low < found.value)
            assert np.all(found.value < high)
            if before is not None:
                assert np.all(low <= before[0])
                assert np.all(high >= before[1])
            before = low, high


def test_of_many_reports_it_is_the_plain_interval() -> None:
    n = 10**8
    found = Direct.two_coins().estimate(np.array([6 * n // 10, 4 * n // 10]), n, np.zeros(1, dtype=np.uint64))
    low, high = interval(found, WIDE)
    half = WIDE * float(np.sqrt(found.variance[0]))
    value = float(found.value[0])
    assert (float(low[0]), float(high[0])) == pytest.approx((value - half, value + half), abs=1e-3 * half)
