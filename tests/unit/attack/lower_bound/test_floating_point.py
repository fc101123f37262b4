"""The textbook's Laplace noise in floating point is refuted by its last bits; exact noise on a grid is not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from obverse.attack import epsilon_lower_bound
from obverse.attack.attacks import LowBits
from obverse.attack.lower_bound.floating_point import LastBits, Reached, Sampler, Supposed, last_bits, looks, reachable
from obverse.attack.lower_bound.trial import trial
from obverse.mechanisms import DiscreteLaplace
from obverse.testing.noiseless import SeededRng

EPSILONS = [0.1, 0.5, 1.0, 2.0, 4.0]
OUTPUTS = 10_000  # of each side
Textbook = Callable[[np.random.Generator, float, float, int], np.ndarray]


def by_numpy(random: np.random.Generator, truth: float, scale: float, n: int) -> np.ndarray:
    return random.laplace(truth, scale, n)


def by_inverse(random: np.random.Generator, truth: float, scale: float, n: int) -> np.ndarray:
    """The inverse of the distribution function at a uniform double."""
    u = random.random(n) - 0.5
    return truth - scale * np.sign(u) * np.log(1 - 2 * np.abs(u))


def by_coin(random: np.random.Generator, truth: float, scale: float, n: int) -> np.ndarray:
    """Exponential noise, and a coin for its sign."""
    return truth - scale * np.log(1 - random.random(n)) * random.choice([-1, 1], n)


CASES = [(truth, textbook) for textbook in (by_numpy, by_inverse, by_coin) for truth in (0.0, 0.1, 37.0)][:-1]
Draw = Callable[[int, int], np.ndarray]


def on_grid(steps: int, step: Fraction, epsilon: float, seed: int) -> Draw:
    """Counts of so many whole steps, and discrete Laplace noise: sums of whole steps, written as doubles at the end."""
    noise = DiscreteLaplace.for_epsilon(steps, Fraction(str(epsilon)))
    source = SeededRng(seed)
    top = step.numerator
    bottom = step.denominator
    return lambda given, n: noise.sample(np.full(n, given * steps), source).astype(np.float64) * top / bottom


def snapped(epsilon: float, seed: int) -> Draw:
    """Mironov's remedy: the textbook's noise, rounded to multiples of a power of two that is at least its scale."""
    random = np.random.default_rng(seed)
    step = 2.0 ** np.ceil(np.log2(1 / epsilon))
    return lambda given, n: step * np.rint((given + random.laplace(0, 1 / epsilon, n)) / step)


EXACT: dict[str, Callable[[float, int], Draw]] = {
    "whole numbers as doubles": lambda epsilon, seed: on_grid(1, Fraction(1), epsilon, seed),
    "a power of two": lambda epsilon, seed: on_grid(1024, Fraction(1, 1024), epsilon, seed),
    "a decimal step": lambda epsilon, seed: on_grid(10, Fraction(1, 10), epsilon, seed),
    "steps of eight": lambda epsilon, seed: on_grid(1, Fraction(8), epsilon, seed),
    "snapping": snapped,
}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("truth", "textbook"), CASES)
def test_a_trial_refutes_floating_point_laplace_by_20_000_outputs(
    truth: float, textbook: Textbook, epsilon: float
) -> None:
    """The 64 outputs that tell what outputs look like are among them."""
    random = np.random.default_rng(1)
    pair = [(truth, truth + 1)]
    found = trial(lambda given, n: textbook(random, given, 1 / epsilon, n), pair, OUTPUTS - 64, claimed=epsilon)
    assert found.refuted, found.sentence
    assert "confidence 0.95" in found.sentence


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("truth", "textbook"), CASES)
def test_the_attack_on_low_bits_finds_floating_point_laplace_in_20_000_answers(
    truth: float, textbook: Textbook, epsilon: float
) -> None:
    random = np.random.default_rng(2)
    absent, present = (textbook(random, given, 1 / epsilon, OUTPUTS) for given in (truth, truth + 1))
    found = LowBits(epsilon).run(present, absent)
    assert found.leaks, found.sentence
    assert found.rate.trials == OUTPUTS // 2
    assert "blamed with a chance of at most 5 %" in found.sentence


@pytest.mark.parametrize("pair", [((37.0,), (38.0,)), (37, 38), (0, 1)])
def test_truths_may_be_lists_of_one_number_or_hidden_in_the_mechanism(pair: tuple) -> None:
    """Where the inputs are not the true values, these are found from medians."""
    random = np.random.default_rng(9)
    base = 37 - np.ravel(pair[0])[0]
    shape = np.shape(pair[0])
    found = trial(
        lambda given, n: base + given + random.laplace(0, 0.5, (n, *shape)), [pair], OUTPUTS - 64, claimed=2.0
    )
    assert found.refuted, found.sentence
    assert "from 37" in found.evidence.event or "from 38" in found.evidence.event


def test_inputs_beyond_doubles_are_no_truths() -> None:
    random = np.random.default_rng(10)
    assert not trial(
        lambda given, n: random.integers(0, 5, n) / 4, [(10**400, -(10**400))], 1_000, claimed=1.0, alpha=1e-6
    ).refuted


def test_true_values_that_hide_the_bits_take_more_outputs() -> None:
    """1,000 and 1,001: so few outputs show it at epsilon 0.1 alone; as many as `obverse verify` draws show it at 1
    too.
    """
    random = np.random.default_rng(8)
    draw = {epsilon: lambda given, n, scale=1 / epsilon: random.laplace(given, scale, n) for epsilon in EPSILONS}
    assert trial(draw[0.1], [(1000.0, 1001.0)], OUTPUTS - 64, claimed=0.1).refuted
    assert trial(draw[1.0], [(1000.0, 1001.0)], 200_000, claimed=1.0).refuted


def test_noise_of_single_precision_and_of_one_number_among_several_is_found() -> None:
    random = np.random.default_rng(3)
    single = (given + random.laplace(0, 1, OUTPUTS).astype(np.float32) for given in (np.float32(0), np.float32(1)))
    assert epsilon_lower_bound(*single, alpha=0.05).epsilon > 2
    whole = np.rint(random.laplace(0, 1, (2, OUTPUTS)))
    real = random.laplace(0, 1, (2, OUTPUTS))
    several = (np.column_stack((whole[given], given + real[given])) for given in (0, 1))
    found = epsilon_lower_bound(*several, alpha=0.05)
    assert found.epsilon > 2
    assert "output[1]" in found.event


@pytest.mark.parametrize("grid", EXACT)
def test_exact_noise_on_a_grid_is_refuted_at_most_at_the_stated_rate(grid: str) -> None:
    """Both tools at 5 %: of 40 replays two are expected at most, and more than ten with a chance below 1e-5."""
    alarms = {"trial": 0, "low bits": 0}
    for seed in range(8):
        for epsilon in EPSILONS:
            draw = EXACT[grid](epsilon, seed)
            alarms["trial"] += trial(draw, [(0, 1)], 2_000, claimed=epsilon).refuted
            alarms["low bits"] += LowBits(epsilon).run(draw(1, 2_000), draw(0, 2_000)).leaks
    assert max(alarms.values()) <= 10, alarms


@pytest.mark.parametrize("grid", EXACT)
def test_exact_noise_on_a_grid_stands_20_000_outputs(grid: str) -> None:
    """False alarms: at most 1e-6 each for the trial, 5 % for the attack, by fixed seeds."""
    for epsilon in EPSILONS:
        draw = EXACT[grid](epsilon, 100)
        found = trial(draw, [(0, 1)], OUTPUTS, claimed=epsilon, alpha=1e-6)
        assert not found.refuted, found.sentence
        attacked = LowBits(epsilon).run(draw(1, OUTPUTS), draw(0, OUTPUTS))
        assert not attacked.leaks, attacked.sentence


def test_equal_noise_on_both_sides_is_blamed_at_most_at_the_stated_rate() -> None:
    """Floating-point noise on one truth: the bits are odd and tell nothing.

    More than 16 of 100 at 5 %: chance below 1e-4.
    """
    random = np.random.default_rng(4)
    alarms = 0
    for _ in range(100):
        alarms += LowBits(0.0).run(*random.laplace(0, 1, (2, 1_000))).leaks
    assert alarms <= 16


def test_a_leak_that_delta_allows_is_forgiven() -> None:
    """One answer in thirty is half a step away."""
    random = np.random.default_rng(5)
    odd = 0.5 * (random.random(OUTPUTS) < 0.03)
    noise = np.rint(random.laplace(0, 10, (2, OUTPUTS)))
    assert LowBits(0.1).run(noise[0] + odd, noise[1]).leaks
    assert not LowBits(0.1, delta=0.05).run(noise[0] + odd, noise[1]).leaks


def test_whole_numbers_have_families_of_their_own() -> None:
    sides = np.arange(100), np.arange(100)
    assert last_bits(*sides) == reachable(*sides, Supposed(1.0)) == []


def test_size_and_last_bit_of_a_number() -> None:
    sizes, places = looks(np.array([1.0, -0.75, 6.0, 0.1, 2.0**-1074, -(2.0**1023)]))
    assert sizes.tolist() == [1, 0, 3, -3, -1073, 1024]
    assert places.tolist() == [0, -2, 1, -55, -1074, 1023]
    sizes, places = looks(np.zeros(1))
    assert LastBits(sizes=(-1200, -1100), places=(1100, 1200)).holds(sizes, places).all()


def test_candidates_count_what_events_count() -> None:
    random = np.random.default_rng(6)
    left = random.laplace(0, 1, 3_000)
    right = random.laplace(1, 1, 2_000)
    families = last_bits(left, right) + reachable(left, right, Supposed(1.0, (0.0, 1.0)))
    for family in families:
        for i in range(0, len(family.left), 7):
            event = family.event(i)
            assert (event.hits(left), event.hits(right)) == (family.left[i], family.right[i]), event.words


def test_events_say_what_they_are() -> None:
    assert LastBits(sizes=(-1200, -1), places=(-1200, -54)).words == (
        "|output| < 2^-1 and output is no multiple of 2^-53"
    )
    assert LastBits(sizes=(3, 3), places=(-48, 1200)).words == "2^2 <= |output| < 2^3 and output is a multiple of 2^-48"
    assert LastBits(column=1, of="output[1]").words == "any output[1]"
    assert LastBits(zeros=(4, 1200)).words == "its mantissa ends in 4 zeros or more"
    assert LastBits(zeros=(-1200, 3)).words == "its mantissa ends in fewer than 4 zeros"
    reached = Reached(Sampler(37.0, 1.0, (52, 52)), Sampler(38.0, 1.0, (52, 52)))
    assert reached.words.endswith("reaches the output from 37 and not from 38")


def test_a_sampler_reaches_what_it_gives_and_little_else_far_out() -> None:
    random = np.random.default_rng(7)
    sampler = Sampler(37.0, 10.0, (52, 53))
    outputs = 37 + random.laplace(0, 10, 20_000)
    assert sampler.reaches(outputs).mean() > 0.99
    far = np.abs(outputs - 37) > 40
    shifted = np.nextafter(outputs[far], np.inf)
    assert sampler.reaches(shifted).mean() < 0.3
