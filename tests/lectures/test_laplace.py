"""The Laplace mechanism: density, scale, variance and the bound of the definition, checked in exact fractions.

The courses draw real numbers; here noise is the same law on the integers, since doubles leak through their low bits.
"""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction

import pytest

import obverse
from obverse.core.loss import PureLoss
from obverse.mechanisms import DiscreteLaplace
from obverse.mechanisms.enclosures import Enclosure, exp_plus
from obverse.plan.query import Question
from obverse.session.planning import Wish, plan, read
from obverse.testing.statistics import SLACK, claim_holds

TINY = Fraction(1, 10**40)
EPSILONS = [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2)]


def middle(bounds: Enclosure) -> Fraction:
    return (bounds[0] + bounds[1]) / 2


def planned_scale(session: obverse.Session, sql: str, epsilon: float) -> Fraction:
    """The scale of the noise that the product itself would draw."""
    question = read(sql, session.catalog, dt.datetime(2026, 1, 1))
    assert isinstance(question, Question)
    (mechanism,) = plan(sql, question, session.catalog, Wish(epsilon=epsilon)).costed.mechanisms
    assert isinstance(mechanism, DiscreteLaplace)
    return mechanism.scale


def test_the_scale_of_the_noise_is_sensitivity_over_epsilon(survey: obverse.Session, staff: obverse.Session) -> None:
    """Differential privacy 2024 and statistical privacy tools 3.3: Lap(sensitivity / epsilon), exactly."""
    assert planned_scale(survey, "SELECT COUNT(*) FROM survey", 0.1) == 10
    assert planned_scale(survey, "SELECT SUM(owned_hp_books) FROM survey", 0.1) == 70
    assert planned_scale(staff, "SELECT SUM(salary) FROM staff", 0.5) == 500_000


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(7, 2), Fraction(10)])
def test_probabilities_fall_by_the_same_factor_at_every_step_and_add_up_to_1(scale: Fraction) -> None:
    """Differential privacy 2024: density proportional to e^(-|x|/b), symmetric about 0."""
    noise = DiscreteLaplace(1, scale)
    step = middle(exp_plus(1 / scale))
    for z in range(20):
        assert noise.mass(z) == noise.mass(-z)
        assert abs(middle(noise.mass(z)) / middle(noise.mass(z + 1)) / step - 1) < TINY
    far = 40
    whole = sum(middle(noise.mass(z)) for z in range(-far, far + 1)) + middle(noise.tail(far))
    assert abs(whole - 1) < TINY


def test_the_density_is_that_of_the_courses_when_steps_are_small() -> None:
    """Differential privacy 2024: P(x) = e^(-|x|/b) / 2b; at b = 1000 steps the two differ by less than one in 10^6."""
    noise = DiscreteLaplace(1, Fraction(1000))
    for z in (0, 1, 500, 3000):
        assert float(middle(noise.mass(z))) == pytest.approx(math.exp(-z / 1000) / 2000, rel=1e-6)


@pytest.mark.parametrize("b", [10, 100, 10_000])
def test_the_variance_is_2_b_squared_in_the_limit(b: int) -> None:
    """Statistical privacy tools, definition 3.2: variance 2 b^2; on the integers less by about 1/6, whatever b is."""
    variance = DiscreteLaplace(1, Fraction(b)).stddev() ** 2
    assert variance == pytest.approx(2 * b**2, rel=1 / b**2)
    if b <= 100:
        assert 2 * b**2 - variance == pytest.approx(1 / 6, abs=1e-3)


def test_the_variance_is_the_sum_of_squares_over_the_law() -> None:
    """Statistical privacy tools, definition 3.2, exactly: what the mechanism states is what its law has."""
    noise = DiscreteLaplace(1, Fraction(2))
    summed = sum(z * z * middle(noise.mass(z)) for z in range(-300, 301))
    assert float(summed) == pytest.approx(noise.stddev() ** 2, rel=1e-12)


def test_the_mean_distance_from_0_is_b_in_the_limit() -> None:
    """Lecture 4: E|Lap(b)| = b."""
    noise = DiscreteLaplace(1, Fraction(50))
    mean = 2 * sum(z * middle(noise.mass(z)) for z in range(1, 3000))
    assert float(mean) == pytest.approx(50, rel=1e-3)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1, 7])
def test_no_output_is_more_than_e_to_the_epsilon_likelier_on_a_neighbour(sensitivity: int, epsilon: Fraction) -> None:
    """Differential privacy 2024, theorem of the Laplace mechanism: the ratio is at most e^epsilon, and it is
    reached.
    """
    noise = DiscreteLaplace.for_epsilon(sensitivity, epsilon)
    most = exp_plus(epsilon)[1] * SLACK
    ratios = [noise.mass(x)[1] / noise.mass(x - sensitivity)[0] for x in range(-60, 61)]
    assert max(ratios) <= most
    assert max(ratios) >= exp_plus(epsilon)[0] / SLACK
    assert claim_holds(PureLoss(epsilon), *laws(noise, sensitivity, range(-60, 61)))
    assert not claim_holds(PureLoss(epsilon), *laws(noise.scaled(Fraction(9, 10)), sensitivity, range(-60, 61)))


def laws(noise: DiscreteLaplace, moved: int, outputs: range) -> tuple[list[Enclosure], list[Enclosure]]:
    return [noise.mass(x) for x in outputs], [noise.mass(x - moved) for x in outputs]


def added(bounds: list[Enclosure]) -> Enclosure:
    return sum((b[0] for b in bounds), Fraction(0)), sum((b[1] for b in bounds), Fraction(0))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_event_is_more_than_e_to_the_epsilon_likelier_on_a_neighbour(epsilon: Fraction) -> None:
    """Privacy engineering, general definition: not outputs alone but every set of them; here all intervals of a
    support.
    """
    noise = DiscreteLaplace.for_epsilon(1, epsilon)
    most = exp_plus(epsilon)[1] * SLACK
    left, right = laws(noise, 1, range(-8, 9))
    for first in range(17):
        for last in range(first + 1, 18):
            here = added(left[first:last])
            there = added(right[first:last])
            assert here[0] <= most * there[1]
            assert there[0] <= most * here[1]


@pytest.mark.parametrize("digits", [2, 5, 10])
def test_rounding_an_answer_keeps_its_privacy(digits: int) -> None:
    """Privacy engineering, exercise 5.2: the law of the rounded answer keeps epsilon, exactly."""
    epsilon = Fraction(1, 2)
    noise = DiscreteLaplace.for_epsilon(1, epsilon)
    left, right = laws(noise, 1, range(-10 * digits, 10 * digits))
    parts = [slice(i, i + digits) for i in range(0, len(left), digits)]
    assert claim_holds(PureLoss(epsilon), [added(left[p]) for p in parts], [added(right[p]) for p in parts])


def test_a_vector_of_queries_keeps_epsilon_with_noise_for_its_joint_sensitivity() -> None:
    """Privacy engineering, theorem of section 3: two counts that move together need Lap(2/epsilon) each; Lap(1/epsilon)
    would cost twice."""
    epsilon = Fraction(1)
    outputs = [(x, y) for x in range(-12, 13) for y in range(-12, 13)]
    for noise, holds in (
        (DiscreteLaplace.for_epsilon(2, epsilon), True),
        (DiscreteLaplace.for_epsilon(1, epsilon), False),
    ):
        left = [times(noise.mass(x), noise.mass(y)) for x, y in outputs]
        right = [times(noise.mass(x - 1), noise.mass(y - 1)) for x, y in outputs]
        assert claim_holds(PureLoss(epsilon), left, right) is holds


def times(a: Enclosure, b: Enclosure) -> Enclosure:
    return a[0] * b[0], a[1] * b[1]


def test_an_expected_value_moves_by_at_most_e_to_the_epsilon() -> None:
    """Privacy engineering, exercise 6.1: whatever salary the boss decides on from the answer, taking part changes its
    expectation by at most that factor."""
    epsilon = Fraction(1, 10)
    noise = DiscreteLaplace.for_epsilon(1, epsilon)
    left, right = laws(noise, 1, range(-400, 401))
    salaries = [10_000 if x % 3 == 0 else 40 * (x % 7) for x in range(-400, 401)]
    here, there = (sum(s * middle(p) for s, p in zip(salaries, law)) for law in (left, right))
    assert max(here / there, there / here) <= exp_plus(epsilon)[1]
