"""The exponential mechanism: exact choices, bounded range."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken
from obverse.core.loss import BoundedRangeLoss
from obverse.core.rng import Rng
from obverse.mechanisms import Exponential, bernoulli
from obverse.testing.claims import claim_holds
from obverse.testing.goodness import fits
from obverse.testing.seeded import SeededRng

LIGHT = settings(deadline=None, max_examples=40)
SCORES = st.lists(st.integers(-20, 20), min_size=2, max_size=6)


@LIGHT
@given(scores=SCORES, moves=st.lists(st.integers(-2, 2), min_size=6, max_size=6))
def test_moving_every_score_by_the_sensitivity_keeps_the_range(scores: list[int], moves: list[int]) -> None:
    mechanism = Exponential(2, Fraction(3, 2))
    moved = [score + move for score, move in zip(scores, moves)]
    laws = [[mechanism.probability(side, i) for i in range(len(scores))] for side in (scores, moved)]
    assert claim_holds(mechanism.loss(), *laws)


@LIGHT
@given(scores=SCORES)
def test_probabilities_follow_the_scores(scores: list[int]) -> None:
    law = [float(Exponential(1, Fraction(1)).probability(scores, i)[0]) for i in range(len(scores))]
    weights = [math.exp((score - max(scores)) / 2) for score in scores]
    assert law == pytest.approx([weight / sum(weights) for weight in weights], rel=1e-12)


def test_choices_have_the_law() -> None:
    mechanism, scores = Exponential(3, Fraction(5, 2)), (7, 0, 4, 9, 9)
    law = [float(mechanism.probability(scores, i)[0]) for i in range(5)]
    assert fits(mechanism.draws(scores, 500_000, SeededRng(1)), 0, law)


def test_choices_are_the_same_by_doubles_and_by_exact_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, scores = Exponential(1, Fraction(1, 3)), (2, 0, 1)
    fast = mechanism.draws(scores, 500, SeededRng(2))
    monkeypatch.setattr(bernoulli, "MARGIN", 2.0)
    assert np.array_equal(mechanism.draws(scores, 500, SeededRng(2)), fast)


def test_the_widest_scores_do_not_overflow() -> None:
    scores = np.array([-(2**62), 2**62, 2**62], dtype=np.int64)
    chosen = {int(Exponential(1, Fraction(1)).sample(scores, Rng())[0]) for _ in range(60)}
    assert chosen == {1, 2}


def test_a_choice_falls_short_by_no_more_than_said() -> None:
    mechanism, scores = Exponential(1, Fraction(1, 2)), tuple(range(100))
    allowed = mechanism.shortfall(100, 0.95)
    chosen = mechanism.draws(scores, 20_000, SeededRng(3))
    assert np.count_nonzero(99 - chosen > allowed) <= 0.05 * 20_000
    assert allowed == math.ceil(4 * math.log(100 / 0.05))


def test_its_loss_is_its_epsilon() -> None:
    assert Exponential(1, Fraction(1, 7)).loss() == BoundedRangeLoss(Fraction(1, 7))


def test_impossible_choices_are_refused() -> None:
    for call in (
        lambda: Exponential(0, Fraction(1)),
        lambda: Exponential(1, Fraction(0)),
        lambda: Exponential(1, Fraction(1)).sample(np.zeros(0, dtype=np.int64), Rng()),
        lambda: Exponential(1, Fraction(1)).sample(np.zeros(3), Rng()),
    ):
        with pytest.raises(InvariantBroken):
            call()
