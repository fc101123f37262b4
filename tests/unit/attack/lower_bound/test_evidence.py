"""Lower bounds of epsilon: never above the truth, close to it, and they find planted leaks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from obverse.attack import epsilon_lower_bound, evidence_from_counts
from obverse.attack.lower_bound.events import Event, events, tally
from obverse.core.errors import InvariantBroken


def laplace(scale: float, at: int, n: int, seed: int) -> np.ndarray:
    """Two-sided geometric noise around `at`, by numpy."""
    random = np.random.default_rng(seed)
    p = 1 - math.exp(-1 / scale)
    return at + random.geometric(p, n) - random.geometric(p, n)


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_the_bound_is_below_the_truth_and_near_it(scale: float) -> None:
    found = epsilon_lower_bound(laplace(scale, 0, 10**6, 1), laplace(scale, 1, 10**6, 2))
    assert 0.9 / scale <= found.epsilon <= 1 / scale


@pytest.mark.parametrize("claim", [0.5, 1.0])
def test_a_tenth_of_the_noise_missing_is_refuted(claim: float) -> None:
    scale = 0.9 / claim
    assert epsilon_lower_bound(laplace(scale, 0, 10**6, 3), laplace(scale, 1, 10**6, 4)).epsilon > claim


def test_equal_inputs_are_never_refuted_at_the_stated_rate() -> None:
    refuted = 0
    for i in range(200):
        sides = laplace(1, 0, 2000, 2 * i), laplace(1, 0, 2000, 2 * i + 1)
        refuted += epsilon_lower_bound(*sides, alpha=0.05).epsilon > 0
    assert refuted <= 30  # ten expected at most; 30 or more with chance below 1e-7


def test_the_bound_of_a_known_mechanism_fails_at_most_at_its_rate() -> None:
    over = 0
    for i in range(200):
        sides = laplace(1, 0, 2000, 1000 + 2 * i), laplace(1, 1, 2000, 1001 + 2 * i)
        over += epsilon_lower_bound(*sides, alpha=0.2).epsilon > 1
    assert over <= 75  # forty expected at most; more than 75 with chance below 1e-8


def test_a_leak_in_the_low_bits_is_found() -> None:
    random = np.random.default_rng(5)
    even = 2 * random.integers(-1000, 1000, 10**5)
    odd = 2 * random.integers(-1000, 1000, 10**5) + 1
    found = epsilon_lower_bound(even, odd)
    assert found.epsilon > 7
    assert "mod 2" in found.event


def test_a_spike_at_one_value_is_found() -> None:
    random = np.random.default_rng(6)
    left = random.integers(0, 2**40, 10**4)
    right = np.where(random.random(10**4) < 0.05, 777, left)
    found = epsilon_lower_bound(left, right, delta=0.001)
    assert found.epsilon > 1.8
    assert found.hits[0] > found.hits[1]


def test_a_failure_probability_is_forgiven_up_to_delta() -> None:
    random = np.random.default_rng(7)
    noise = [random.integers(0, 10, 10**6) for _ in range(2)]
    caught = np.where(random.random(10**6) < 0.01, 99, noise[1])
    assert epsilon_lower_bound(noise[0], caught, delta=0.001).epsilon > 5
    assert epsilon_lower_bound(noise[0], caught, delta=0.02).epsilon == 0


def test_counts_of_fixed_events_give_the_same_kind_of_bound() -> None:
    left = laplace(1, 0, 10**6, 8)
    right = laplace(1, 1, 10**6, 9)
    counts = [[int(np.count_nonzero(side >= c)) for c in range(-3, 5)] for side in (left, right)]
    found = evidence_from_counts(*counts, trials=(10**6, 10**6))
    assert 0.95 <= found.epsilon <= 1
    swapped = evidence_from_counts(counts[1], counts[0], trials=(10**6, 10**6))
    assert swapped.epsilon == pytest.approx(found.epsilon)


def test_tallies_count_what_events_count() -> None:
    left = laplace(3, 0, 5000, 10)
    right = laplace(3, 2, 4000, 11)
    seen = tally(left, right)
    for event in events(seen)[::7]:
        assert seen.hits(event) == (event.hits(left), event.hits(right))


def test_events_say_what_they_are() -> None:
    assert Event("at_least", (3,)).words == "output >= 3"
    assert Event("at_most", (-1,)).words == "output <= -1"
    assert Event("remainder", (1, 4)).words == "output mod 4 = 1"
    assert Event("among", tuple(range(9))).words == "output among {0, 1, 2, 3, 4, 5, 6, 7, ...}"


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(InvariantBroken):
        epsilon_lower_bound(np.array([1, 2, 3]), np.array([1, 2, 3]))
    with pytest.raises(InvariantBroken):
        evidence_from_counts([1], [1, 2], (10, 10))
