"""Shuffling: the bound is never below the exact value, never above the report's own, and falls with the number of
people.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from obverse.collect.protocols import Direct, Hadamard, LocalHash, Loloha, OneOfSeveral, Unary
from obverse.collect.shuffler import Pair, amplified, clone_rate
from obverse.core.errors import Refused


def binomial(n: int, p: float) -> np.ndarray:
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    k = np.arange(n + 1)
    return np.exp(logs[n] - logs - logs[::-1] + k * math.log(p) + (n - k) * math.log1p(-p))


def exact_delta(eps0: float, n: int, ones: int, epsilon: float) -> float:
    """That of binary response, shuffled: the number of ones sent, where `ones` of the n - 1 others hold one."""
    truth = math.exp(eps0) / (1 + math.exp(eps0))
    others = np.convolve(binomial(ones, truth), binomial(n - 1 - ones, 1 - truth))
    one = np.convolve(others, [truth, 1 - truth])
    two = np.convolve(others, [1 - truth, truth])
    limit = math.exp(epsilon)
    return float(max(np.maximum(one - limit * two, 0).sum(), np.maximum(two - limit * one, 0).sum()))


@pytest.mark.parametrize("eps0", [0.1, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("n", [1, 2, 10, 100, 1000, 3000])
def test_the_bound_is_never_below_the_exact_value_of_binary_response(eps0: float, n: int) -> None:
    """At the epsilon that is told, the exact divergence is within delta; and the bound is not vacuous: half of it is
    not.
    """
    protocol = Direct.fitted(2, Fraction(str(eps0)))
    for delta in (1e-3, 1e-6, 1e-9):
        told = float(amplified(protocol, n, delta))
        assert told <= protocol.loss()
        for ones in {0, (n - 1) // 2, n - 1}:
            assert exact_delta(eps0, n, ones, told) <= delta * (1 + 1e-9)
        if told > 1e-3 and n >= 100:
            assert max(exact_delta(eps0, n, ones, told / 2) for ones in (0, (n - 1) // 2)) > delta


@pytest.mark.parametrize(
    "protocol", [Hadamard.fitted(6, Fraction(1)), Direct.fitted(5, Fraction(2)), Unary.fitted(4, Fraction(3))]
)
def test_it_never_rises_with_people_or_with_delta_and_stays_below_the_report_alone(protocol) -> None:
    found = [amplified(protocol, n, 1e-6) for n in (1, 3, 10, 40, 150, 600, 2500, 10_000, 10**5, 10**6)]
    assert found == sorted(found, reverse=True)
    assert protocol.loss() >= found[0] > 10 * found[-1]
    deltas = [amplified(protocol, 2000, delta) for delta in (1e-12, 1e-9, 1e-6, 1e-3)]
    assert deltas == sorted(deltas, reverse=True)


def test_every_pair_of_laws_is_covered_by_its_clones() -> None:
    """Exactly, on small protocols: every law is at least the clones' rate times the mean of any two."""
    for protocol in (Direct.fitted(4, Fraction(1)), Unary.fitted(3, Fraction(1)), LocalHash.fitted(4, Fraction(1))):
        rate = clone_rate(protocol)
        for sent in protocol.payloads(5):
            chances = [protocol.probability(code, sent, 5) for code in range(protocol.size)]
            pairs = [a + b for i, a in enumerate(chances) for b in chances[:i]]
            assert min(chances) >= rate * max(pairs) / 2


def test_the_divergence_is_that_of_the_two_laws_enumerated() -> None:
    """For few people the pair is enumerated: the bound is not below it, and hardly above where levels are single
    numbers.
    """
    growth = math.exp(1.0)
    rate = 0.5
    n = 12
    for epsilon in (0.0, 0.1, 0.4, 0.9):
        exact = 0.0
        for c, chance in enumerate(binomial(n - 1, rate)):
            labels = binomial(c, 0.5)
            truth = growth / (growth + 1)
            one = np.convolve(labels, [1 - truth, truth])
            two = np.convolve(labels, [truth, 1 - truth])
            exact += chance * float(np.maximum(one - math.exp(epsilon) * two, 0).sum())
            apart = Pair(growth, rate, n)._apart(c, epsilon)
            assert apart == pytest.approx(
                float(np.maximum(one - math.exp(epsilon) * two, 0).sum()), rel=1e-6, abs=1e-12
            )
        assert exact <= Pair(growth, rate, n).delta(epsilon) <= 3 * exact


def test_many_clones_are_computed_as_few_are() -> None:
    """Beyond a thousand clones by bounds of factorials; the two agree where both are known."""
    pair = Pair(math.exp(1.0), 0.5, 10**4)
    apart = [pair._apart(c, 0.03) for c in (998, 999, 1000, 1001, 1002)]
    assert all(one >= two > 0.97 * one for one, two in pairwise(apart))


def test_a_million_people_hide_a_report_better_than_the_closed_form_says() -> None:
    """The closed form of 2021, where it holds; the numbers are those of the docs."""
    n = 10**6
    delta = 1e-8
    growth = math.e
    closed = math.log(
        1 + (growth - 1) / (growth + 1) * (8 * math.sqrt(growth * math.log(4 / delta) / n) + 8 * growth / n)
    )
    assert 0.005 < amplified(Hadamard.fitted(8, Fraction(1)), n, delta) < closed / 3


def test_what_is_not_proved_is_not_told() -> None:
    with pytest.raises(Refused) as caught:
        amplified(Loloha.fitted(4, Fraction(1)), 1000, 1e-6)
    assert caught.value.code == "not_amplified"
    for delta in (0.0, 1.0, -1.0):
        with pytest.raises(Refused) as caught:
            amplified(OneOfSeveral.fitted(4, Fraction(1)), 1000, delta)
        assert caught.value.code == "bad_parameter"
