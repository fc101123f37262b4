"""The conformance suite itself: it must fail mechanisms that break each of its laws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from obverse.core.loss import ApproxLoss, Composed, PureLoss, ZcdpLoss
from obverse.core.rng import Rng
from obverse.mechanisms import DiscreteGaussian, DiscreteLaplace, Example
from obverse.mechanisms.enclosures import Enclosure
from obverse.testing.conformance.mechanism import check_claim, check_error_bars, check_mechanism
from obverse.testing.statistics import claim_holds, claimed_epsilon, divergence, fits, gap_limit, largest_gap


@dataclass(frozen=True, slots=True)
class Understated(DiscreteLaplace):
    """States nine tenths of its loss."""

    def loss(self) -> PureLoss:
        return PureLoss(Fraction(9, 10) / self.scale)


@dataclass(frozen=True, slots=True)
class Careless(DiscreteLaplace):
    """States its loss and its law rightly, and samples less noise."""

    def noise(self, n: int, rng: Rng) -> np.ndarray:
        return DiscreteLaplace(1, self.scale * Fraction(19, 20)).noise(n, rng)


@dataclass(frozen=True, slots=True)
class Optimistic(DiscreteLaplace):
    """States error bars that are too small."""

    def interval(self, level: float) -> int:
        return DiscreteLaplace(1, self.scale).interval(level) - 1


@dataclass(frozen=True, slots=True)
class Vain(DiscreteLaplace):
    """States a standard deviation that is too small."""

    def stddev(self) -> float:
        return 0.9 * DiscreteLaplace(1, self.scale).stddev()


@pytest.mark.parametrize(
    ("kind", "law"), [(Understated, "exceeds"), (Careless, "follow"), (Optimistic, "too small"), (Vain, "deviation")]
)
def test_a_mechanism_that_breaks_a_law_fails(kind: type[DiscreteLaplace], law: str) -> None:
    example = Example(kind(1, Fraction(1)), (0,), (1,), range(-40, 41))
    with pytest.raises(AssertionError, match=law):
        check_mechanism(example, draws=200_000)


def test_an_honest_mechanism_passes() -> None:
    verdict = check_mechanism(DiscreteLaplace.examples()[0], draws=300_000)
    assert verdict.by_law
    assert verdict.by_fit


def test_an_example_with_too_few_outputs_fails() -> None:
    example = replace(DiscreteLaplace.examples()[0], outputs=range(-3, 4))
    with pytest.raises(AssertionError, match="outputs"):
        check_claim(example)


def test_an_interval_that_is_too_large_fails() -> None:
    class Timid(DiscreteLaplace):
        def interval(self, level: float) -> int:
            return DiscreteLaplace(1, self.scale).interval(level) + 3

    with pytest.raises(AssertionError, match="too large"):
        check_error_bars(Timid(1, Fraction(1)), range(-40, 41))


def test_zcdp_claims_are_tight_for_the_gaussian() -> None:
    mechanism = DiscreteGaussian(Fraction(1), Fraction(3))
    laws = [[mechanism.mass(z - at) for z in range(-40, 41)] for at in (0, 1)]
    assert claim_holds(ZcdpLoss(Fraction(1, 6)), *laws)
    assert not claim_holds(ZcdpLoss(Fraction(1, 6) * (1 - Fraction(1, 10**6))), *laws)


def test_approximate_claims_forgive_delta_and_no_more() -> None:
    def law(*numbers: Fraction) -> list[Enclosure]:
        return [(number, number) for number in numbers]

    left = law(Fraction(1, 2), Fraction(1, 2), Fraction(0))
    right = law(Fraction(1, 2), Fraction(2, 5), Fraction(1, 10))
    assert claim_holds(ApproxLoss(Fraction(1, 4), Fraction(1, 10)), left, right)
    assert not claim_holds(ApproxLoss(Fraction(1, 4), Fraction(9, 100)), left, right)


def test_losses_without_an_exact_check_are_refused() -> None:
    with pytest.raises(TypeError):
        claim_holds(Composed(()), [], [])
    with pytest.raises(TypeError):
        claimed_epsilon(ApproxLoss(Fraction(1), Fraction(1, 2)), 1e-6)
    assert claimed_epsilon(ApproxLoss(Fraction(1), Fraction(1, 10**9)), 1e-6) == 1


def test_fitting_knows_values_outside_its_law() -> None:
    assert not fits(np.full(100, 7), 0, [0.5, 0.5])
    assert fits(np.zeros(100, dtype=np.int64), 0, [1.0])
    assert divergence(0.5, 0.5) == 0
    assert divergence(0.0, 0.0) == 0


def test_the_gap_of_two_samples_is_measured_and_limited() -> None:
    random = np.random.default_rng(1)
    one = random.integers(0, 100, 10**5)
    other = random.integers(0, 100, 10**5)
    assert largest_gap(one, other) <= gap_limit(10**5, 10**5)
    assert largest_gap(one, other + 5) > gap_limit(10**5, 10**5)
    assert largest_gap(one, one) == 0
