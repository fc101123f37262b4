"""Tight composition: never below the truth, never above plain addition."""

import itertools
import math
import subprocess
import sys
from fractions import Fraction

import pytest

from obverse.accounting import pld
from obverse.accounting.pld import DiscreteGaussianNoise, DiscreteLaplaceNoise, tight
from obverse.core.errors import Refused
from obverse.core.loss import ApproxLoss, Composed, PureLoss, Repeated, ZcdpLoss

millionth = Fraction(1, 10**6)


def hockey_stick(shift: tuple[int, ...], scale: float, epsilon: float, reach: int = 60) -> float:
    """delta of discrete Laplace noise on a shifted vector, summed by brute force."""
    decay = math.exp(-1 / scale)
    weight = ((1 - decay) / (1 + decay)) ** len(shift)
    total = 0.0
    for point in itertools.product(range(-reach, reach + 1), repeat=len(shift)):
        p = weight * decay ** sum(abs(x - s) for x, s in zip(point, shift, strict=True))
        q = weight * decay ** sum(abs(x) for x in point)
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("shift", [(1, 2), (2, 1), (-1, 2), (1, 1)])
def test_one_number_shifted_by_the_whole_norm_dominates_two_that_share_it(shift, epsilon):
    assert hockey_stick((3,), 3.0, epsilon) >= hockey_stick(shift, 3.0, epsilon) - 1e-12


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.7, 1.1])
def test_a_coarser_lattice_dominates_a_finer_one(epsilon):
    assert hockey_stick((3,), 2.0, epsilon) >= hockey_stick((6,), 4.0, epsilon, reach=120) - 1e-12


def test_a_batch_of_laplace_questions_costs_less_than_their_sum_and_more_than_nothing():
    batch = [DiscreteLaplaceNoise(1, Fraction(10))] * 40
    epsilon = tight(batch, millionth).epsilon
    assert Fraction(2) < epsilon < Fraction(4)


def test_the_tight_epsilon_is_above_the_true_hockey_stick():
    loss = tight([DiscreteLaplaceNoise(2, Fraction(2)), DiscreteLaplaceNoise(1, Fraction(3))], Fraction(1, 100))
    decays = (math.exp(-1 / 2), math.exp(-1 / 3))
    weights = [(1 - d) / (1 + d) for d in decays]
    delta = 0.0
    for x, y in itertools.product(range(-150, 151), repeat=2):
        p = weights[0] * decays[0] ** abs(x - 2) * weights[1] * decays[1] ** abs(y - 1)
        q = weights[0] * decays[0] ** abs(x) * weights[1] * decays[1] ** abs(y)
        delta += max(0.0, p - math.exp(float(loss.epsilon)) * q)
    assert delta <= 0.01
    assert loss.epsilon < Fraction(4, 3)


def test_large_sensitivities_are_coarsened_to_nearly_the_same_epsilon():
    fine = tight([DiscreteLaplaceNoise(1500, Fraction(1500))] * 5, millionth).epsilon
    coarse = tight([DiscreteLaplaceNoise(1_500_001, Fraction(1_500_001))] * 5, millionth).epsilon
    assert fine * Fraction(999, 1000) < coarse < fine * Fraction(1003, 1000)


def test_generic_losses_are_composed_at_their_worst_case():
    repeated = tight([Repeated(PureLoss(Fraction(1, 10)), 40)], millionth)
    listed = tight([Composed((PureLoss(Fraction(1, 10)),) * 40)], millionth)
    assert float(repeated.epsilon) == pytest.approx(float(listed.epsilon), rel=1e-6)
    assert Fraction(2) < repeated.epsilon < Fraction(4)


def test_gaussian_noise_is_tighter_than_its_zcdp():
    epsilon = tight([DiscreteGaussianNoise(1, Fraction(10))] * 4, millionth).epsilon
    assert Fraction(1, 2) < epsilon < Fraction(11, 10)


def test_few_questions_are_never_dearer_than_added_up():
    assert tight([PureLoss(Fraction(1, 10))], millionth).epsilon <= Fraction(1, 10)


def test_without_a_delta_losses_are_simply_added():
    loss = tight([DiscreteLaplaceNoise(1, Fraction(10)), PureLoss(Fraction(1, 10))], Fraction(0))
    assert loss == ApproxLoss(Fraction(1, 5), Fraction(0))


def test_nothing_costs_nothing():
    assert tight([Repeated(PureLoss(Fraction(1)), 0)], millionth).epsilon == 0


@pytest.mark.parametrize(
    ("batch", "delta", "code"),
    [
        ([DiscreteGaussianNoise(1, Fraction(10))], Fraction(0), "delta_too_small"),
        ([ApproxLoss(Fraction(1), Fraction(1, 100))], millionth, "delta_too_small"),
        ([ZcdpLoss(Fraction(1))], millionth, "wrong_accounting"),
        ([DiscreteGaussianNoise(1, Fraction(10**9))], millionth, "too_fine_for_pld"),
    ],
)
def test_what_has_no_tight_epsilon_is_refused(batch, delta, code):
    with pytest.raises(Refused) as caught:
        tight(batch, delta)
    assert caught.value.code == code


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(Refused) as caught:
        tight([PureLoss(Fraction(1))], millionth)
    assert caught.value.code == "missing_extra"
    assert "pip install 'obverse[pld]'" in caught.value.fix


def test_accounting_and_ledger_load_nothing_heavy():
    modules = "accounting.pld accounting.belief accounting.calibrate ledger.opening ledger.transfer ledger.memory"
    code = "; ".join(f"import obverse.{name}" for name in modules.split())
    check = (
        f"{code}; import sys; print([m for m in ('numpy', 'duckdb', 'sqlglot', 'dp_accounting') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert pld.LATTICE_MOST > 0
