"""Randomized response: deniability for each, the truth about all."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from obverse.core.rng import Rng
from obverse.mechanisms import RandomizedResponse
from obverse.mechanisms.enclosures import log_up


def test_two_fair_coins_give_ln_3() -> None:
    """Lecture 4, responsible data science, statistical privacy tools: truth on the first coin, else the second: ln
    3.
    """
    coins = RandomizedResponse.two_coins()
    assert coins.probability([1], 1) == (Fraction(3, 4), Fraction(3, 4))
    assert coins.probability([0], 1) == (Fraction(1, 4), Fraction(1, 4))
    assert coins.loss().epsilon == log_up(Fraction(3))
    assert float(coins.loss().epsilon) == pytest.approx(1.0986122886681098, rel=1e-15)


@pytest.mark.parametrize("p", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_telling_the_truth_with_probability_p_gives_ln_of_1_plus_p_over_1_minus_p(p: Fraction) -> None:
    """Differential privacy 2024: truth with p, else a fair coin: epsilon = ln((1 + p) / (1 - p)); p = 1/2 is ln 3."""
    response = RandomizedResponse(2, (1 + p) / 2)
    assert response.loss().epsilon == log_up((1 + p) / (1 - p))


def test_at_least_a_quarter_say_yes_and_a_quarter_say_no() -> None:
    """Statistical privacy tools: whatever the truth, each answer has a probability of at least 25 %."""
    coins = RandomizedResponse.two_coins()
    assert min(coins.probability([truth], said)[0] for truth in (0, 1) for said in (0, 1)) == Fraction(1, 4)


def test_the_share_of_honest_yeses_follows_from_the_share_of_yeses() -> None:
    """Statistical privacy tools, responsible data science: yes = 1/4 + honest / 2, so honest = 2 yes - 1/2."""
    coins = RandomizedResponse.two_coins()
    for honest in (Fraction(0), Fraction(1, 5), Fraction(1)):
        yes = honest * coins.probability([1], 1)[0] + (1 - honest) * coins.probability([0], 1)[0]
        assert yes == Fraction(1, 4) + honest / 2
        assert 2 * yes - Fraction(1, 2) == honest


def test_a_hundred_thousand_answers_show_the_share() -> None:
    """Responsible data science: the population's truth stays visible. 30 % honest yeses, within 1.7 % (six
    standard deviations of 0.28 %; false alarm below 1e-8)."""
    import numpy as np

    truth = (np.arange(100_000) % 10 < 3).astype(np.int64)
    said = RandomizedResponse.two_coins().sample(truth, Rng())
    assert 2 * said.mean() - 0.5 == pytest.approx(0.3, abs=0.017)


def test_no_set_of_answers_of_a_class_is_more_than_3_times_likelier_on_a_neighbour() -> None:
    """Lecture 4, proof for events: three people, one of whom is changed; all 255 sets of answers."""
    coins = RandomizedResponse.two_coins()

    def law(truth: tuple[int, ...]) -> list[Fraction]:
        outputs = itertools.product((0, 1), repeat=3)
        return [math.prod(coins.probability([t], o)[0] for t, o in zip(truth, said)) for said in outputs]

    here = law((1, 0, 1))
    there = law((1, 1, 1))
    for event in itertools.product((0, 1), repeat=8):
        p, q = (sum(x for x, inside in zip(one, event) if inside) for one in (here, there))
        assert p <= 3 * q
        assert q <= 3 * p
