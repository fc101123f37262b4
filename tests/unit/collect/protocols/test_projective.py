"""Projective geometry response: the transform counts what agrees, and the error is the least that is known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from obverse.collect.protocols import Projective
from obverse.testing.noiseless import SeededRng


@pytest.mark.parametrize(("field", "dims"), [(2, 2), (2, 5), (3, 3), (5, 3), (11, 2)])
def test_the_transform_counts_the_points_that_agree(field: int, dims: int) -> None:
    protocol = Projective(2, field, dims, 1)
    counts = SeededRng(field).below(10**9, protocol.points)
    sent = list(protocol.payloads())
    least = min(protocol.probability(0, payload) for payload in sent)
    agreeing = np.array(
        [[protocol.probability(v, payload) > least for payload in sent] for v in range(protocol.points)]
    )
    assert np.array_equal(agreeing.sum(axis=1), np.full(protocol.points, protocol.agreeing))
    assert np.array_equal(protocol.support(counts), agreeing @ counts)


@pytest.mark.parametrize("epsilon", ["0.25", "0.5", "1", "2", "3", "4"])
def test_the_error_is_within_a_twentieth_of_the_optimum_of_long_lists(epsilon: str) -> None:
    protocol = Projective.fitted(65_536, Fraction(epsilon))
    p = float(protocol.own)
    q = float(protocol.other)
    growth = math.exp(float(epsilon))
    assert q * (1 - q) / (p - q) ** 2 < 1.05 * 4 * growth / (growth - 1) ** 2


def test_many_reports_over_a_long_list_are_decoded() -> None:
    """Squared errors of 65,536 items, nearly independent, average to what is stated within 6 sd, sqrt(2 / 65536)
    each.
    """
    protocol = Projective.fitted(65_536, Fraction(3))
    people = np.repeat(np.arange(100, dtype=np.uint64) * np.uint64(655), 1000)
    items = np.arange(65_536, dtype=np.uint64)
    found = protocol.estimate(protocol.fold(protocol.reports(people, SeededRng(1))), len(people), items)
    truth = np.bincount(people.view(np.int64), minlength=65_536) / len(people)
    assert abs(np.mean((found.value - truth) ** 2 / found.variance) - 1) < 6 * math.sqrt(2 / 65_536)
