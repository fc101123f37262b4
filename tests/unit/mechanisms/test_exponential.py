"""The exponential mechanism: exact choices, bounded range."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken
from obverse.core.loss import BoundedRangeLoss
from obverse.core.rng import Rng
from obverse.mechanisms import Exponential, bernoulli
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import claim_holds, fits

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
    mechanism = Exponential(3, Fraction(5, 2))
    scores = (7, 0, 4, 9, 9)
    law = [float(mechanism.probability(scores, i)[0]) for i in range(5)]
    assert fits(mechanism.draws(scores, 500_000, SeededRng(1)), 0, law)


def test_choices_are_the_same_by_doubles_and_by_exact_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Exponential(1, Fraction(1, 3))
    scores = (2, 0, 1)
    fast = mechanism.draws(scores, 500, SeededRng(2))
    monkeypatch.setattr(bernoulli, "MARGIN", 2.0)
    assert np.array_equal(mechanism.draws(scores, 500, SeededRng(2)), fast)


ROWS = ((7, 0, 4, 9, 9), (0, 0, 0, 0, 0), (-20, 3, 3, -1, 2), (1, 0, 0, 0, 100), (5, 6, 7, 8, 9))


def test_choices_of_many_rows_at_once_have_the_law_of_each() -> None:
    """Rows of five kinds, mixed: goodness of fit for each with false alarm 1e-9, and for neighbours being
    independent.
    """
    mechanism = Exponential(3, Fraction(5, 2))
    times = 60_000
    chosen = mechanism.each(np.tile(np.array(ROWS, dtype=np.int64), (times, 1)), SeededRng(4)).reshape(times, len(ROWS))
    laws = [[float(mechanism.probability(row, i)[0]) for i in range(5)] for row in ROWS]
    for kind, law in enumerate(laws):
        assert fits(chosen[:, kind], 0, law)
    both = [a * b for a in laws[0] for b in laws[2]]
    assert fits(5 * chosen[:, 0] + chosen[:, 2], 0, both)
    assert fits(5 * chosen[:-1, 0] + chosen[1:, 2], 0, both)


def test_choices_of_rows_whose_rate_is_wrong_by_a_tenth_are_noticed() -> None:
    mechanism = Exponential(3, Fraction(5, 2))
    scores = np.tile(np.array(ROWS[0], dtype=np.int64), (60_000, 1))
    law = [float(mechanism.probability(ROWS[0], i)[0]) for i in range(5)]
    assert not fits(mechanism.scaled(Fraction(9, 10)).each(scores, SeededRng(5)), 0, law)


def test_many_candidates_and_a_single_one_are_chosen_row_by_row() -> None:
    """More candidates than one round has trials for, of which few are ever kept: rows are tried again until one is."""
    mechanism = Exponential(1, Fraction(60))
    scores = np.zeros((40, 20_000), dtype=np.int64)
    scores[np.arange(40), 7 * np.arange(40)] = 3
    assert mechanism.each(scores, SeededRng(6)).tolist() == [7 * row for row in range(40)]
    assert mechanism.each(np.full((5, 1), -3, dtype=np.int64), SeededRng(6)).tolist() == [0] * 5
    assert mechanism.each(np.empty((0, 4), dtype=np.int64), SeededRng(6)).tolist() == []


def test_choices_of_rows_are_the_same_by_doubles_and_by_exact_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Exponential(1, Fraction(1, 3))
    scores = np.array([(2, 0, 1), (9, 9, 0)] * 100, dtype=np.int64)
    fast = mechanism.each(scores, SeededRng(2))
    monkeypatch.setattr(bernoulli, "MARGIN", 2.0)
    assert np.array_equal(mechanism.each(scores, SeededRng(2)), fast)


def test_the_widest_scores_do_not_overflow() -> None:
    scores = np.array([-(2**62), 2**62, 2**62], dtype=np.int64)
    chosen = {int(Exponential(1, Fraction(1)).sample(scores, Rng())[0]) for _ in range(60)}
    assert chosen == {1, 2}
    assert set(Exponential(1, Fraction(1)).each(np.tile(scores, (60, 1)), Rng()).tolist()) == {1, 2}


def test_a_choice_falls_short_by_no_more_than_said() -> None:
    mechanism = Exponential(1, Fraction(1, 2))
    scores = tuple(range(100))
    allowed = mechanism.shortfall(100, 0.95)
    chosen = mechanism.draws(scores, 20_000, SeededRng(3))
    assert np.count_nonzero(99 - chosen > allowed) <= 0.05 * 20_000
    assert allowed == math.ceil(4 * math.log(100 / 0.05))


def test_its_loss_is_its_epsilon() -> None:
    assert Exponential(1, Fraction(1, 7)).loss() == BoundedRangeLoss(Fraction(1, 7))


def test_impossible_choices_are_refused() -> None:
    halves: Any = np.full(3, 0.5)
    for call in (
        lambda: Exponential(0, Fraction(1)),
        lambda: Exponential(1, Fraction(0)),
        lambda: Exponential(1, Fraction(1)).sample(np.zeros(0, dtype=np.int64), Rng()),
        lambda: Exponential(1, Fraction(1)).sample(halves, Rng()),
        lambda: Exponential(1, Fraction(1)).each(np.zeros((2, 0), dtype=np.int64), Rng()),
        lambda: Exponential(1, Fraction(1)).each(halves[None, :], Rng()),
    ):
        with pytest.raises(InvariantBroken):
            call()
