"""Lower bounds for real numbers and vectors: near the truth, never above it beyond chance, blind to no side."""

from __future__ import annotations

import math

import numpy as np
import pytest

from obverse.attack import epsilon_lower_bound
from obverse.attack.lower_bound.events import Tail, numbers, tails
from obverse.attack.lower_bound.scores import Column, fitted, histogram


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def gridded(noisy: np.ndarray) -> np.ndarray:
    """Without the last bits, which would give noise in floating point away."""
    return np.rint(noisy * 2**20) / 2**20


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_real_laplace_is_bounded_from_below_and_near(epsilon: float) -> None:
    random = rng(1)
    left, right = (gridded(random.laplace(at, 1 / epsilon, 200_000)) for at in (0.0, 1.0))
    assert 0.9 * epsilon <= epsilon_lower_bound(left, right, alpha=1e-3).epsilon <= epsilon


def test_the_bound_fails_at_most_at_its_rate() -> None:
    random = rng(2)
    over = 0
    for _ in range(100):
        sides = (gridded(random.laplace(at, 1.0, 2000)) for at in (0.0, 1.0))
        over += epsilon_lower_bound(*sides, alpha=0.2).epsilon > 1
    assert over <= 46  # twenty expected at most; more than 46 with chance below 1e-8


def test_equal_inputs_are_refuted_at_most_at_the_stated_rate() -> None:
    random = rng(3)
    over = 0
    for _ in range(60):
        over += epsilon_lower_bound(*(random.normal(0, 1, (1000, 3)) for _ in range(2)), alpha=0.1).epsilon > 0
    assert over <= 22  # six expected at most; more than 22 with chance below 1e-7


def test_noise_on_a_vector_adds_up() -> None:
    random = rng(4)
    left, right = (gridded(random.laplace(at, 3.0, (50_000, 3))) for at in (0.0, 1.0))
    assert 0.5 <= epsilon_lower_bound(left, right, alpha=1e-3).epsilon <= 1


def test_noise_that_is_used_twice_is_found_by_a_difference() -> None:
    random = rng(5)
    noise = [gridded(random.laplace(0, 1, 20_000))[:, None] for _ in range(2)]
    found = epsilon_lower_bound(np.array([0.0, 0.0]) + noise[0], np.array([1.0, 0.0]) + noise[1], alpha=1e-3)
    assert found.epsilon > 5
    assert "output[0] - output[1]" in found.event


def test_an_output_that_only_one_side_has_is_not_missed() -> None:
    random = rng(6)
    left = random.normal(0, 1, 20_000)
    right = random.normal(0, 1, 20_000)
    for one, other in ((left, right), (right, left)):
        planted = np.where(random.random(20_000) < 0.05, 7.25, one)
        assert epsilon_lower_bound(planted, other, alpha=1e-3).epsilon > 3
        assert epsilon_lower_bound(other, planted, alpha=1e-3).epsilon > 3


def test_what_is_no_number_is_an_output_too() -> None:
    random = rng(7)
    left = random.normal(0, 1, 20_000)
    right = np.where(random.random(20_000) < 0.1, np.nan, random.normal(0, 1, 20_000))
    assert epsilon_lower_bound(left, right, alpha=1e-3).epsilon > 3


def test_a_gaussian_is_forgiven_its_delta() -> None:
    random = rng(8)
    left, right = (gridded(random.normal(at, 3.7306, 200_000)) for at in (0.0, 1.0))  # (1, 1e-5) by the exact formula
    assert 0.3 <= epsilon_lower_bound(left, right, delta=1e-5, alpha=1e-3).epsilon <= 1


def test_rows_of_bits_are_told_apart_as_wholes() -> None:
    random = rng(9)
    parity = random.integers(0, 2, (20_000, 3))
    left, right = (np.column_stack((parity, (parity.sum(axis=1) + odd) % 2)) for odd in (0, 1))
    found = epsilon_lower_bound(left, right, alpha=1e-3)
    assert found.epsilon > 5
    assert "whole" in found.event


def test_ties_are_counted_by_a_coin() -> None:
    tail = Tail("output", Column(0), 1, 0.0, 0.25)
    samples = np.concatenate((np.ones(1000), np.zeros(100_000), -np.ones(500)))
    assert 25_000 <= tail.hits(samples) <= 27_000  # ten standard deviations
    assert tail.words == "output > 0, and 25% of ties"
    assert Tail("output", Column(0), -1, 0.5, 1.0).words == "output <= -0.5"
    assert Tail("output", Column(0), 1, 0.0, 1.0).hits(samples) == 101_000


def test_cuts_come_from_both_samples_and_counts_are_right() -> None:
    random = rng(10)
    left = random.normal(0, 1, 5000)
    right = random.normal(9, 1, 4000)
    family = tails(left, right)[0]
    for i in range(0, len(family.left), 17):
        event = family.event(i)
        assert isinstance(event, Tail)
        if event.ties in (0.0, 1.0):
            assert (event.hits(left[2000:]), event.hits(right[1600:])) == (family.left[i], family.right[i])
    cuts = [family.event(i).cut for i in range(len(family.left))]  # type: ignore[attr-defined]
    assert min(cuts) < 1
    assert max(cuts) > 8


def test_the_regression_finds_the_log_odds() -> None:
    random = rng(11)
    left = random.normal(0.5, 1, (50_000, 1))
    right = random.normal(-0.5, 1, (50_000, 1))
    score = fitted(left, right)
    at = np.array([[-1.0], [0.0], [1.0]])
    assert np.allclose(np.diff(score(at)), 1.0, atol=0.1)  # log-odds of these two are x itself


def test_the_regression_stands_samples_that_can_be_told_apart_for_sure() -> None:
    score = fitted(np.ones((1000, 2)), np.zeros((1000, 2)))
    assert math.isfinite(float(score(np.ones((1, 2)))[0]))


def test_a_histogram_gives_common_values_cells_of_their_own() -> None:
    random = rng(12)
    left = numbers(np.where(random.random(20_000) < 0.3, 2.0, random.normal(2, 1, 20_000)))
    right = numbers(random.normal(2, 1, 20_000))
    score = histogram(Column(0), left, right)
    assert score(np.array([[2.0]]))[0] > 4
    assert abs(score(np.array([[2.2]]))[0]) < 1


def test_gaps_in_wide_outputs_hide_no_number_that_tells() -> None:
    """Forty numbers, of which thirty-five have gaps or are endless on both sides alike, and the last one tells."""
    random = rng(13)

    def drawn(last: float) -> np.ndarray:
        found = random.normal(0, 1, (2_000, 40))
        odd = np.tile([np.nan, np.inf, -np.inf, np.nan, np.nan], 7)
        found[:, :35] = np.where(random.random((2_000, 35)) < 0.1, odd, found[:, :35])
        found[:, 39] += last
        return found

    assert epsilon_lower_bound(drawn(0.0), drawn(6.0), alpha=1e-6).epsilon > 2
