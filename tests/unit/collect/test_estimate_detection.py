"""Noise alone passes a test of a share as rarely as it says, also of few people: by enumeration, and by whole
reports.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from obverse.collect.estimate import by_chance, estimate
from obverse.collect.protocols import Direct, Unary
from obverse.collect.protocols.base import supported
from obverse.collect.randomness.coins import share
from obverse.collect.tally import Tally
from obverse.testing.noiseless import SeededRng
from tests.unit.collect.surveys import spec_for

LEVELS = (0.05, 0.01, 0.001, 0.0001)


def binomial(n: int, p: float) -> Any:
    """How likely each count is, by logarithms, since n is large."""
    ways = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    return np.exp([way + k * math.log(p) + (n - k) * math.log1p(-p) for k, way in enumerate(ways)])


@pytest.mark.parametrize("n", [20, 50, 200, 1000, 5000])
@pytest.mark.parametrize("size", [2, 5, 50, 1000])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4", "8"])
def test_a_test_says_how_often_noise_alone_passes_it(n: int, size: int, epsilon: str) -> None:
    """By enumeration, so there are no false alarms: at most 4 % too sure, and at most 6 % too careful."""
    direct = Direct.fitted(size, Fraction(epsilon))
    unary = Unary.fitted(size, Fraction(epsilon))
    for own, other in ((direct.own, direct.other), (share(unary.own), share(unary.other))):
        tests = by_chance(supported(np.arange(n + 1), n, own, other))
        law = binomial(n, float(other))
        assert tests[0] == 1.0
        assert np.all(np.diff(tests) <= 0)
        assert all(float(law @ (tests <= level)) <= 1.04 * level for level in LEVELS)
        tail = np.cumsum(law[::-1])[::-1]
        told = tail > 1e-6
        assert np.all(tests[told] >= 0.96 * tail[told])
        assert np.all(tests[told] <= 1.06 * tail[told])


@pytest.mark.parametrize(("n", "epsilon", "before"), [(50, "6", 0.1164), (200, "8", 0.0649)])
def test_an_estimate_is_held_to_what_its_test_says(n: int, epsilon: str, before: float) -> None:
    """`before`: how many surveys of which nobody had the item passed at 1 %, by the variance of the estimate. Exact."""
    spec = spec_for(["a", "b"], "direct", epsilon)
    protocol = spec.protocol
    assert isinstance(protocol, Direct)
    law = binomial(n, float(protocol.other))
    tallies = [Tally(spec.digest, n, np.array([k, n - k])) for k in range(n + 1)]
    tests = np.array([estimate(spec, tally, ["a"]).rows[0].p_value for tally in tallies])
    assert float(law @ (tests <= 0.01)) <= 0.01
    found = protocol.estimate(np.arange(n + 1), n, np.arange(n + 1, dtype=np.uint64))
    plain = np.array([NormalDist().cdf(-x) for x in found.value / np.sqrt(found.variance)])
    assert float(law @ (plain <= 0.01)) == pytest.approx(before, abs=1e-4)


@pytest.mark.parametrize(
    "protocol", ["local_hash", "subset", "count_mean", "hadamard_count_mean", "hadamard", "rappor"]
)
def test_of_whole_surveys_in_which_nobody_has_it_one_in_twenty_passes(protocol: str) -> None:
    """Of 1000 surveys of 200 people more than 85 pass at 5 % with a chance of 1.2e-6; the seed is fixed."""
    spec = spec_for([chr(97 + i) for i in range(8)], protocol, "3")
    rng = SeededRng(31)
    codes = np.array(spec.codes(), dtype=np.uint64)
    held = np.repeat(codes[:4], [100, 60, 30, 10])
    passed = 0
    for turn in range(1000):
        counts = spec.protocol.fold(spec.protocol.reports(held, rng))
        found = spec.protocol.estimate(counts, len(held), codes[4 + turn % 4 :][:1])
        passed += float(by_chance(found)[0]) <= 0.05
    assert passed <= 85


def test_variance_beside_that_of_the_coins_makes_a_test_less_sure() -> None:
    found = supported(np.arange(50, 100), 200, Fraction(3, 4), Fraction(1, 4))
    beside = replace(found, variance=found.variance + 3 * float(found.variance[0]))  # four times as much at no share
    above = by_chance(found)[1:]
    further = by_chance(beside)[1:]
    assert np.all(further > above)
    assert further == pytest.approx([NormalDist().cdf(NormalDist().inv_cdf(p) / 2) for p in above], rel=1e-4)
