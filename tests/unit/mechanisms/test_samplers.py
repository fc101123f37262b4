"""Integer noise: the stated law at every scale, by doubles and by exact arithmetic, without overflow."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest

from obverse.core.errors import InvariantBroken
from obverse.core.rng import Rng
from obverse.mechanisms import DiscreteGaussian, DiscreteLaplace, bernoulli, samplers
from obverse.mechanisms.enclosures import exp_minus_scaled
from obverse.mechanisms.samplers import NOISE_MAX, discrete_gaussian, discrete_laplace, geometric, saturating_add
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import fits, gap_limit, largest_gap

LARGE = (1000.0, 2.0**30, 2.0**45)


def law(mechanism: DiscreteLaplace | DiscreteGaussian, reach: int) -> list[float]:
    return [float(mechanism.mass(z)[0]) for z in range(-reach, reach + 1)]


def test_steps_follow_the_geometric_law() -> None:
    expected = [(1 - math.exp(-1)) * math.exp(-v) for v in range(40)]
    assert fits(geometric(10**6, SeededRng(1)), 0, expected)


def test_steps_agree_with_exact_counting_at_and_around_every_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    around = sorted({max(0, t + d) for t in samplers._thresholds() for d in (-1, 0, 1)})
    monkeypatch.setattr(samplers, "prefixes", lambda n, rng: np.array(around, dtype=np.uint32))
    bounds = [exp_minus_scaled(Fraction(k), 32) for k in range(1, 30)]
    for prefix, found in zip(around, geometric(len(around), SeededRng(2))):
        surely = sum(prefix + 1 <= low for low, _ in bounds)
        perhaps = sum(prefix < high for _, high in bounds)
        assert surely <= found
        assert found <= perhaps or prefix == 0


def test_a_step_at_a_threshold_is_settled_by_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    low, _ = exp_minus_scaled(Fraction(3), 100)
    monkeypatch.setattr(samplers, "prefixes", lambda n, rng: np.full(n, low >> 68, dtype=np.uint32))
    steps = geometric(10_000, SeededRng(14))
    odds = (low & (2**68 - 1)) / 2**68
    assert fits(steps, 2, [1 - odds, odds])


@pytest.mark.parametrize("scale", [Fraction(b) for b in ("1/3", "2/7", "1", "2", "7/2", "20")])
def test_laplace_noise_has_its_law(scale: Fraction) -> None:
    mechanism = DiscreteLaplace(1, scale)
    assert fits(discrete_laplace(scale, 300_000, SeededRng(3)), -50, law(mechanism, 50))


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 5), Fraction(1), Fraction(9, 2), Fraction(60)])
def test_gaussian_noise_has_its_law(sigma_squared: Fraction) -> None:
    mechanism = DiscreteGaussian(Fraction(1), sigma_squared)
    assert fits(discrete_gaussian(sigma_squared, 300_000, SeededRng(4)), -50, law(mechanism, 50))


@pytest.mark.parametrize("scale", LARGE)
def test_laplace_noise_of_large_scale_has_its_law_and_even_low_bits(scale: float) -> None:
    z = discrete_laplace(Fraction(scale), 500_000, SeededRng(5))
    cuts = np.linspace(-4, 4, 33)
    exactly = np.floor(cuts * scale)
    tails = 0.5 * np.exp(-np.abs(exactly + 0.5) / scale) / math.cosh(0.5 / scale)
    below = np.where(exactly < 0, tails, 1 - tails)
    chances = np.diff(np.concatenate(([0.0], below, [1.0])))
    assert fits(np.searchsorted(exactly, z, side="left"), 0, list(chances))
    assert fits(z & 7, 0, [1 / 8] * 8)


@pytest.mark.parametrize("sigma", LARGE)
def test_gaussian_noise_of_large_scale_has_its_law_and_even_low_bits(sigma: float) -> None:
    z = discrete_gaussian(Fraction(sigma) ** 2, 500_000, SeededRng(6))
    cuts = np.floor(np.linspace(-4, 4, 33) * sigma)
    below = [0.5 * math.erfc(-(c + 0.5) / (sigma * math.sqrt(2))) for c in cuts]
    chances = np.diff(np.array([0.0, *below, 1.0]))
    assert fits(np.searchsorted(cuts, z, side="left"), 0, list(chances))
    assert fits(z & 7, 0, [1 / 8] * 8)


@pytest.mark.parametrize("scale", [Fraction(2), Fraction(1, 3), Fraction(10**6 + 1, 7), Fraction(2**46)])
def test_laplace_noise_is_the_same_by_doubles_and_by_exact_arithmetic(
    scale: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = discrete_laplace(scale, 1500, SeededRng(7))
    monkeypatch.setattr(bernoulli, "MARGIN", 2.0)
    assert np.array_equal(discrete_laplace(scale, 1500, SeededRng(7)), fast)


@pytest.mark.parametrize("sigma_squared", [Fraction(4), Fraction(1, 9), Fraction(10**12 + 1, 3), Fraction(2**92 - 1)])
def test_gaussian_noise_is_the_same_by_doubles_and_by_exact_arithmetic(
    sigma_squared: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = discrete_gaussian(sigma_squared, 600, SeededRng(8))
    monkeypatch.setattr(bernoulli, "MARGIN", 2.0)
    assert np.array_equal(discrete_gaussian(sigma_squared, 600, SeededRng(8)), fast)


def test_the_exact_path_alone_has_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bernoulli, "MARGIN", 2.0)
    z = discrete_laplace(Fraction(2), 20_000, SeededRng(9))
    assert fits(z, -60, law(DiscreteLaplace(1, Fraction(2)), 60))
    z = discrete_gaussian(Fraction(4), 10_000, SeededRng(10))
    assert fits(z, -30, law(DiscreteGaussian(Fraction(1), Fraction(4)), 30))


@pytest.mark.parametrize("sigma_squared", [Fraction(v) for v in ("1/50", "2", "10000000000/3", 7**30, 2**92 - 1)])
def test_the_doubles_of_the_gaussian_err_by_less_than_the_margin(sigma_squared: Fraction) -> None:
    sigma = math.sqrt(sigma_squared)
    t = math.isqrt(int(sigma_squared)) + 1
    centre = sigma_squared / t
    double_variance = 2 * sigma_squared
    ys = {0, 1, 2, *(int(sigma * r) + d for r in np.linspace(0, 7, 60) for d in (-1, 0, 1))}
    for y in sorted(abs(y) for y in ys):
        near = math.exp(-((float(y) - float(centre)) ** 2) / float(double_variance))
        low, high = exp_minus_scaled((y - centre) ** 2 / double_variance, 80)
        assert low / 2**80 - 2.0**-47 <= near <= high / 2**80 + 2.0**-47


def test_noise_beyond_64_bits_is_cut_and_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplers, "geometric", lambda n, rng: np.full(n, 2**40, dtype=np.int64))
    z = discrete_laplace(Fraction(2**46), 100, SeededRng(11))
    assert set(np.abs(z)) == {NOISE_MAX}
    monkeypatch.setattr(samplers, "geometric", lambda n, rng: np.full(n, 1023, dtype=np.int64))
    z = discrete_laplace(Fraction(2**52, 2**6 + 1), 100, SeededRng(12))
    assert all(1023 * 2**52 // 65 <= abs(int(n)) <= 1024 * 2**52 // 65 for n in z)
    monkeypatch.setattr(samplers, "geometric", lambda n, rng: np.full(n, 2000, dtype=np.int64))
    z = discrete_laplace(Fraction(1, 3), 100, SeededRng(13))
    assert set(np.abs(z)) == {2000 // 3}


def test_adding_saturates_as_if_integers_had_no_end() -> None:
    limit = 2**62 - 1
    values = [0, 1, -1, limit, -limit, 2**62, -(2**62), 12345]
    noises = [0, 5, -5, limit, -limit, NOISE_MAX, -NOISE_MAX, 2**61]
    exact = np.array([v for v in values for _ in noises], dtype=np.int64)
    noise = np.array(noises * len(values), dtype=np.int64)
    expected = [min(max(int(a) + int(b), -limit), limit) for a, b in zip(exact, noise)]
    assert saturating_add(exact, noise).tolist() == expected
    beyond = [min(max(int(a) + 2**70, -limit), limit) for a in exact]  # uncut noise gives the same as cut noise
    assert saturating_add(exact, np.full(len(exact), NOISE_MAX)).tolist() == beyond


def test_adding_refuses_what_is_not_a_vector_of_62_bits() -> None:
    noise = np.zeros(1, dtype=np.int64)
    for exact in (np.array([2**62 + 1]), np.zeros(1), np.zeros((1, 1), dtype=np.int64), np.zeros(1, dtype=np.int32)):
        with pytest.raises(InvariantBroken):
            saturating_add(exact, noise)


def test_impossible_scales_are_refused() -> None:
    for scale in (Fraction(0), Fraction(-1), Fraction(2**46 + 1), Fraction(1, 2**53), Fraction(2**53 + 1, 2**53)):
        with pytest.raises(InvariantBroken):
            discrete_laplace(scale, 1, SeededRng(1))
    for sigma_squared in (Fraction(0), Fraction(-1), Fraction(2**92), Fraction(1, 2**256)):
        with pytest.raises(InvariantBroken):
            discrete_gaussian(sigma_squared, 1, SeededRng(1))


def test_any_number_of_draws_is_served_including_none() -> None:
    for n in (0, 1, 2, 17, 40_000):
        assert len(discrete_laplace(Fraction(3, 2), n, Rng())) == len(discrete_gaussian(Fraction(3), n, Rng())) == n


def test_the_time_of_a_draw_does_not_follow_its_size() -> None:
    """Rank correlation of 5,000 draws; beyond 0.1, seven standard errors, with chance below 1e-11."""
    rng = Rng()
    sizes = []
    times = []
    for _ in range(5000):
        start = time.perf_counter_ns()
        drawn = discrete_laplace(Fraction(50), 1, rng)
        times.append(time.perf_counter_ns() - start)
        sizes.append(abs(int(drawn[0])))
    ranks = [np.unique(np.array(of), return_inverse=True)[1] for of in (sizes, times)]
    assert abs(np.corrcoef(ranks[0], ranks[1])[0, 1]) < 0.1


@pytest.mark.parametrize("scale", [2.0, 1000.0])
def test_laplace_noise_agrees_with_opendp(scale: float) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale=scale)([0] * 50_000))
    ours = discrete_laplace(Fraction(scale), 500_000, Rng())
    assert largest_gap(ours, theirs) <= gap_limit(500_000, 50_000)  # false alarm 1e-9


@pytest.mark.parametrize("sigma", [2.0, 1000.0])
def test_gaussian_noise_agrees_with_opendp(sigma: float) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    theirs = np.array(dp.m.make_gaussian(*space, scale=sigma)([0] * 50_000))
    ours = discrete_gaussian(Fraction(sigma) ** 2, 500_000, Rng())
    assert largest_gap(ours, theirs) <= gap_limit(500_000, 50_000)  # false alarm 1e-9
