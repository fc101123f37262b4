"""Half-widths of sums of noises: never too short, and hardly too long."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.intervals import Noise, half_width, laplace_half_width, ratio

Floats = NDArray[np.float64]
LEVELS = (0.5, 0.9, 0.95, 0.999)


def law(mechanism: Additive, coefficient: int, reach: int) -> Floats:
    """The law of coefficient times the noise, on the integers from -reach to reach."""
    masses = np.zeros(2 * reach + 1)
    for z in range(-reach // coefficient, reach // coefficient + 1):
        if abs(z * coefficient) <= reach:
            masses[reach + z * coefficient] = float(mechanism.mass(z)[1])
    return masses


def coverage(mechanisms: list[Additive], coefficients: list[int], half: float, reach: int) -> float:
    """The exact chance that the weighted sum of integer noises lies within the half-width."""
    total = np.array([1.0])
    for mechanism, coefficient in zip(mechanisms, coefficients):
        total = np.convolve(total, law(mechanism, coefficient, reach))
    middle = len(total) // 2
    whole = int(np.floor(half))
    return float(total[max(0, middle - whole) : middle + whole + 1].sum())


def laplace(scale: str) -> tuple[Additive, Noise]:
    return DiscreteLaplace(1, Fraction(scale)), Noise(float(Fraction(scale)), 1.0)


def gauss(sigma_squared: str) -> tuple[Additive, Noise]:
    return DiscreteGaussian(Fraction(1), Fraction(sigma_squared)), Noise(float(Fraction(sigma_squared)) ** 0.5, 1.0)


CASES: list[tuple[bool, list[tuple[Additive, Noise]], list[int]]] = [
    (False, [laplace("1/5")], [1]),
    (False, [laplace("3")], [1]),
    (False, [laplace("2"), laplace("2")], [1, 1]),
    (False, [laplace("2/5"), laplace("9")], [7, 1]),
    (False, [laplace("1/2"), laplace("1/2"), laplace("1/2")], [5, 3, 1]),
    (False, [laplace("6"), laplace("3"), laplace("1")], [1, 2, 4]),
    (True, [gauss("1/4")], [1]),
    (True, [gauss("9")], [1]),
    (True, [gauss("1/9"), gauss("30")], [6, 1]),
    (True, [gauss("4"), gauss("2"), gauss("1/2")], [1, 3, 5]),
]


@pytest.mark.parametrize(("gaussian", "noises", "coefficients"), CASES)
def test_the_half_width_covers_the_exact_law_of_the_integer_noise(
    gaussian: bool, noises: list[tuple[Additive, Noise]], coefficients: list[int]
) -> None:
    mechanisms = [mechanism for mechanism, _ in noises]
    for level in LEVELS:
        pairs = [(np.asarray(float(c)), noise) for c, (_, noise) in zip(coefficients, noises)]
        half = float(half_width(pairs, level, gaussian=gaussian))
        assert coverage(mechanisms, coefficients, half, 400) >= level - 1e-9
        less = half - 2 * sum(coefficients) - 1
        assert less < 0 or coverage(mechanisms, coefficients, less, 400) < level, "wider by more than two steps of each"


@pytest.mark.parametrize("scales", [[1.0], [1.0, 1.0], [3.0, 1.0], [5.0, 1.0, 1.0], [1.0, 1e-6, 1e-7], [2.0, 1.9, 1.8]])
def test_the_continuous_half_width_is_the_quantile_of_a_sum_of_laplaces(scales: list[float]) -> None:
    """Against a sum computed on a fine grid; wider by no more than scales that lie close are moved apart (2 %)."""
    step = 0.01
    x = np.arange(-6000, 6001) * step
    density = np.zeros_like(x)
    density[6000] = 1.0
    for scale in scales:
        if scale > 10 * step:
            mass = np.exp(-np.abs(x) / scale)
            density = np.convolve(density, mass / mass.sum(), mode="same")
    for level in LEVELS:
        half = float(laplace_half_width([np.asarray(s) for s in scales], level))
        inside = float(density[np.abs(x) <= half + step].sum())
        assert inside >= level - 1e-3
        assert float(density[np.abs(x) <= half * 0.95 - step].sum()) < level + 1e-3


def test_no_noise_gives_no_width_but_the_step() -> None:
    assert float(half_width([(np.asarray(1.0), Noise(0.0, 0.0))] * 3, 0.95, gaussian=False)) < 1e-100
    assert float(half_width([(np.asarray(1.0), Noise(0.0, 0.25))], 0.95, gaussian=True)) == 0.25


@pytest.mark.parametrize("gaussian", [False, True])
def test_a_ratios_interval_holds_the_ratio_and_lies_within_the_limit(gaussian: bool) -> None:
    noise = (Noise(40.0, 1.0), Noise(2.0, 1.0))
    bottom = np.array([1000.0, 50.0, 3.0, 0.0, -20.0])
    top = np.array([5000.0, -400.0, 10.0, 5.0, 5.0])
    low, high = ratio(top, bottom, noise, 20.0, 0.95, gaussian=gaussian)
    assert (low >= -20).all()
    assert (high <= 20).all()
    assert low[0] < 5 < high[0]
    assert high[0] - low[0] < 0.5
    assert (low[2:] == -20).all(), "a bottom that may be zero tells nothing"
    assert (high[2:] == 20).all()
    wider = ratio(top, bottom, noise, 20.0, 0.999, gaussian=gaussian)
    assert (wider[0] <= low).all()
    assert (wider[1] >= high).all()
