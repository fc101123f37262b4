"""Permute-and-flip: exact choices, never worse than the exponential mechanism."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken
from obverse.core.loss import PureLoss
from obverse.core.rng import Rng
from obverse.mechanisms import Exponential, PermuteAndFlip
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import claim_holds, fits

LIGHT = settings(deadline=None, max_examples=40)
SCORES = st.lists(st.integers(-10, 10), min_size=2, max_size=5)


def by_definition(scores: list[int], epsilon: float) -> list[float]:
    """The law, summed over all orders of the candidates."""
    coins = [math.exp(epsilon * (score - max(scores)) / 2) for score in scores]
    law = [0.0] * len(scores)
    for order in itertools.permutations(range(len(scores))):
        left = 1.0 / math.factorial(len(scores))
        for i in order:
            law[i] += left * coins[i]
            left *= 1 - coins[i]
    return law


@LIGHT
@given(scores=SCORES)
def test_probabilities_are_those_of_random_orders(scores: list[int]) -> None:
    law = [float(PermuteAndFlip(1, Fraction(3, 2)).probability(scores, i)[0]) for i in range(len(scores))]
    assert law == pytest.approx(by_definition(scores, 1.5), rel=1e-9)


@LIGHT
@given(scores=SCORES, moves=st.lists(st.integers(-2, 2), min_size=5, max_size=5))
def test_moving_every_score_by_the_sensitivity_keeps_the_claim(scores: list[int], moves: list[int]) -> None:
    mechanism = PermuteAndFlip(2, Fraction(3, 2))
    moved = [score + move for score, move in zip(scores, moves)]
    laws = [[mechanism.probability(side, i) for i in range(len(scores))] for side in (scores, moved)]
    assert claim_holds(mechanism.loss(), *laws)


@LIGHT
@given(scores=SCORES)
def test_it_is_never_worse_than_the_exponential_mechanism(scores: list[int]) -> None:
    ours = PermuteAndFlip(1, Fraction(1))
    theirs = Exponential(1, Fraction(1))
    means = [sum(m.probability(scores, i)[0] * s for i, s in enumerate(scores)) for m in (ours, theirs)]
    assert means[0] >= means[1] - Fraction(1, 10**20)


def test_single_and_many_choices_have_the_law() -> None:
    mechanism = PermuteAndFlip(2, Fraction(2))
    scores = (7, 4, 9, 9)
    law = [float(mechanism.probability(scores, i)[0]) for i in range(4)]
    assert fits(mechanism.draws(scores, 300_000, SeededRng(1)), 0, law)
    rng = SeededRng(2)
    singly = np.concatenate([mechanism.sample(np.array(scores), rng) for _ in range(5000)])
    assert fits(singly, 0, law)


def test_the_widest_scores_do_not_overflow() -> None:
    scores = np.array([-(2**62), 2**62, 2**62], dtype=np.int64)
    chosen = {int(PermuteAndFlip(1, Fraction(1)).sample(scores, Rng())[0]) for _ in range(60)}
    assert chosen == {1, 2}


def test_its_loss_is_its_epsilon() -> None:
    assert PermuteAndFlip(1, Fraction(1, 7)).loss() == PureLoss(Fraction(1, 7))
    assert PermuteAndFlip(1, Fraction(1, 2)).shortfall(100, 0.95) == math.ceil(4 * math.log(100 / 0.05))


def test_impossible_choices_are_refused() -> None:
    for call in (
        lambda: PermuteAndFlip(0, Fraction(1)),
        lambda: PermuteAndFlip(1, Fraction(-1)),
        lambda: PermuteAndFlip(1, Fraction(1)).sample(np.zeros(0, dtype=np.int64), Rng()),
    ):
        with pytest.raises(InvariantBroken):
            call()
