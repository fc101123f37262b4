"""Flags on bit vectors: hardly ever on an honest one, always on a crude one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from obverse.collect.collector import RARE, honest_ones, odd_reports
from obverse.collect.protocols import CountMean, Direct, MemoisedUnary, Rappor, Unary
from obverse.core.rng import Rng

KINDS = [
    Unary.fitted(300, Fraction(1)),
    Unary.symmetric(1000, Fraction(3)),
    MemoisedUnary.fitted(500, Fraction(1)),
    CountMean.fitted(2, Fraction(4)),
    Rappor(512, 4, 8, *(Rappor.published().flip, Rappor.published().low, Rappor.published().high)),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_honest_reports_are_not_flagged_and_crude_ones_are(kind) -> None:
    """An honest report is flagged with a chance of at most 1e-9: 5,000 of them, 5e-6."""
    made = kind.reports(np.arange(5000, dtype=np.uint64) % 200, Rng())
    assert odd_reports(kind, made) == 0
    honest = honest_ones(kind)
    assert honest is not None
    crude = made[:3].copy()
    crude[:, honest.head :] = 255
    assert odd_reports(kind, crude) == 3
    crude[:, honest.head :] = 0
    assert odd_reports(kind, crude) == 3


@pytest.mark.parametrize(("own", "other"), [(0.5, 0.27), (0.9, 0.1)])
def test_the_limits_are_those_of_the_exact_law(own: float, other: float) -> None:
    one = 2**53
    kind = Unary(200, round(own * one), round(other * one))
    law = np.array([1 - own, own])
    for _ in range(199):
        law = np.convolve(law, [1 - other, other])
    honest = honest_ones(kind)
    assert honest is not None
    beyond = law[: honest.least].sum() + law[honest.most + 1 :].sum()
    assert RARE / 1000 < beyond <= RARE


def test_single_symbols_have_no_weight() -> None:
    assert honest_ones(Direct.fitted(4, Fraction(1))) is None
    assert odd_reports(Direct.fitted(4, Fraction(1)), np.zeros((3, 1), dtype=np.uint8)) == 0
