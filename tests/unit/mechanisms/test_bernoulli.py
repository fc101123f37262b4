"""Exact coins: doubles and exact arithmetic decide alike, ties are settled with the right odds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from obverse.core.errors import InvariantBroken
from obverse.mechanisms import bernoulli as module
from obverse.mechanisms.bernoulli import LazyUniform, bernoulli, bernoulli_exp, bernoulli_exp_ratio
from obverse.mechanisms.enclosures import exp_minus_scaled
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import fits


class Tied(SeededRng):
    """First bits as told, later bits random."""

    def __init__(self, prefix: int) -> None:
        super().__init__(9)
        self.prefix = prefix

    def words(self, n: int) -> np.ndarray:
        return np.full(n, self.prefix << 32 | self.prefix, dtype=np.uint64)


def share(events: np.ndarray, p: float) -> bool:
    return fits(events.astype(np.int64), 0, [1 - p, p])  # false alarm 1e-9


@pytest.mark.parametrize("gamma", [Fraction(g) for g in ("0", "1/1000", "1/3", "1", "7/2", "50")])
def test_a_coin_has_the_probability_exp_of_minus_gamma(gamma: Fraction) -> None:
    numerators = np.full(200_000, gamma.numerator)
    assert share(bernoulli_exp_ratio(numerators, gamma.denominator, SeededRng(1)), math.exp(-gamma))


@pytest.mark.parametrize("p", [Fraction(p) for p in ("0", "1", "1/2", "1/3", "1/1000000")] + [1 - Fraction(1, 10**30)])
def test_a_rational_coin_has_its_probability(p: Fraction) -> None:
    events = bernoulli(p, 200_000, SeededRng(2))
    assert share(events, float(p))
    assert not events.any() or p > 0
    assert events.all() or p < 1


def test_doubles_and_exact_arithmetic_decide_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    numerators = np.arange(4000) % 997
    fast = bernoulli_exp_ratio(numerators, 250, SeededRng(3)), bernoulli(Fraction(1, 3), 4000, SeededRng(4))
    monkeypatch.setattr(module, "MARGIN", 2.0)
    exact = bernoulli_exp_ratio(numerators, 250, SeededRng(3)), bernoulli(Fraction(1, 3), 4000, SeededRng(4))
    assert np.array_equal(fast[0], exact[0])
    assert np.array_equal(fast[1], exact[1])


@pytest.mark.parametrize("gamma", [Fraction(1), Fraction(1, 7), Fraction(20)])
def test_a_tie_of_an_exponential_is_settled_by_what_follows(gamma: Fraction) -> None:
    low, _ = exp_minus_scaled(gamma, 100)
    events = bernoulli_exp(np.full(20_000, float(gamma)), lambda _: gamma, Tied(low >> 68))
    assert share(events, (low & (2**68 - 1)) / 2**68)


def test_a_tie_of_a_rational_coin_is_settled_by_what_follows() -> None:
    assert share(bernoulli(Fraction(1, 3), 20_000, Tied(2**32 // 3)), 1 / 3)
    assert bernoulli(Fraction(1, 2), 1000, Tied(2**31 - 1)).all()
    assert not bernoulli(Fraction(1, 2), 1000, Tied(2**31)).any()


def test_a_lazy_uniform_answers_consistently() -> None:
    for seed in range(300):
        uniform = LazyUniform(0, 0, SeededRng(seed))
        answers = [uniform.below_exp(Fraction(k, 4)) for k in range(20)]
        assert answers == sorted(answers, reverse=True)
        assert uniform.below(Fraction(uniform.prefix + 1, 1 << uniform.bits))


def test_a_lazy_uniform_draws_until_it_differs() -> None:
    gamma = Fraction(1, 3)
    low, _ = exp_minus_scaled(gamma, 400)
    uniform = LazyUniform(low >> 100, 300, SeededRng(1))
    uniform.below_exp(gamma)
    assert uniform.bits >= 364


def test_the_exp_of_doubles_is_far_within_the_margin() -> None:
    gammas = np.concatenate((np.linspace(0, 50, 1500), 2.0 ** np.arange(-60, 10)))
    for gamma, near in zip(gammas, np.exp(-gammas)):
        low, high = exp_minus_scaled(Fraction(float(gamma)), 80)
        assert max(abs(int(near * 2**80) - low), abs(int(near * 2**80) - high)) < 2**30  # 2**-50
    assert module.MARGIN >= 2.0**-40


def test_impossible_probabilities_are_refused() -> None:
    for p in (Fraction(-1, 2), Fraction(3, 2)):
        with pytest.raises(InvariantBroken):
            bernoulli(p, 1, SeededRng(1))
    with pytest.raises(InvariantBroken):
        bernoulli_exp_ratio(np.zeros(1, dtype=np.int64), 0, SeededRng(1))
