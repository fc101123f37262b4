"""Courses: each step is held to the price before it is drawn, in exact fractions, and nothing but releases is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.core.bounds import Interval
from obverse.core.errors import InvariantBroken
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.exponential import Exponential
from obverse.plan.expressions import ColumnFacts, Ref
from obverse.plan.relation import Cells, Key
from obverse.plan.strategy.adaptive import Chosen, Ground, Noised, Step, Taken, again, choice, cost, nothing, walk
from obverse.plan.strategy.candidates import Distances, Far
from obverse.plan.strategy.matrix import Block, Kept, Strategy

FACTS = ColumnFacts(Type.INTEGER, False, Interval(Fraction(0), Fraction(2)), Fraction(1))
CELLS = Cells((Key("k", Ref("k", FACTS), (0, 1, 2), null_cell=False),), ((0,),))
STRATEGY = Strategy((Block("k", 0, (Kept(3),), Fraction(1)),))
KERNEL = Distances((Far(STRATEGY.blocks[0], np.zeros(3, dtype=np.int64)),))


def ground(neighbours: Neighbours = Neighbours.ADD_REMOVE, weight: int = 1, *, squared: bool = False) -> Ground:
    return Ground(CELLS, neighbours, weight, squared)


@pytest.mark.parametrize("weight", [1, 3])
@pytest.mark.parametrize(("neighbours", "times"), [(Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE, 2)])
def test_a_step_costs_what_its_norms_and_the_units_weight_say(neighbours: Neighbours, times: int, weight: int) -> None:
    laplace = Noised(STRATEGY, (DiscreteLaplace(Fraction(0), Fraction(7)),))
    gauss = Noised(STRATEGY, (DiscreteGaussian(Fraction(0), Fraction(50)),))
    pick = Chosen(KERNEL, Exponential(2, Fraction(1, 3)))
    assert cost(laplace, ground(neighbours, weight)) == Fraction(times * weight, 7)
    assert cost(gauss, ground(neighbours, weight, squared=True)) == Fraction(times * weight**2, 100)
    epsilon = Fraction(times * weight, 2) * Fraction(1, 3)
    assert cost(pick, ground(neighbours, weight)) == epsilon
    assert cost(pick, ground(neighbours, weight, squared=True)) == epsilon**2 / 8


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("neighbours", Neighbours)
def test_a_choice_made_for_a_price_costs_no_more_and_nearly_as_much(neighbours: Neighbours, squared: bool) -> None:
    on = ground(neighbours, 5, squared=squared)
    for price in (Fraction(1, 3), Fraction(1, 10**6), Fraction(7, 2)):
        spent = cost(choice(KERNEL, on, price), on)
        assert price * Fraction(999, 1000) < spent <= price


@dataclass(frozen=True, slots=True)
class Greedy:
    """Measures again and again, each time for a third of the price; or for what it is told."""

    part: Fraction
    steps: int
    seen: list[tuple[Taken, ...]] = field(default_factory=list)

    @property
    def identity(self) -> str:
        return "greedy"

    def step(self, on: Ground, price: Fraction, taken: tuple[Taken, ...]) -> Step | None:
        self.seen.append(taken)
        return (
            Noised(STRATEGY, (DiscreteLaplace(Fraction(0), 1 / (self.part * price)),))
            if len(taken) < self.steps
            else None
        )


def noting(drawn: list[Step]) -> Callable[[Step], Taken]:
    def release(step: Step) -> Taken:
        drawn.append(step)
        return (np.full(3, len(drawn)),)

    return release


def test_steps_may_spend_the_price_to_the_last_fraction() -> None:
    drawn: list[Step] = []
    found = walk(Greedy(Fraction(1, 3), 3), ground(), Fraction(1, 7), noting(drawn))
    assert (found.spent, len(drawn)) == (Fraction(1, 7), 3)


def test_a_step_beyond_the_price_is_stopped_before_it_is_drawn() -> None:
    drawn: list[Step] = []
    with pytest.raises(InvariantBroken):
        walk(Greedy(Fraction(1, 3), 4), ground(), Fraction(1, 7), noting(drawn))
    assert len(drawn) == 3
    with pytest.raises(InvariantBroken):
        walk(Greedy(Fraction(10**12 + 1, 3 * 10**12), 3), ground(), Fraction(1, 7), noting(drawn))
    assert len(drawn) == 5


def test_a_course_sees_what_was_released_and_nothing_else() -> None:
    course = Greedy(Fraction(1, 3), 3)
    walk(course, ground(), Fraction(1), noting([]))
    told = [[values[0].tolist() for values in taken] for taken in course.seen]
    assert told == [[], [[1] * 3], [[1] * 3, [2] * 3], [[1] * 3, [2] * 3, [3] * 3]]


def test_what_was_released_leads_the_same_way_again() -> None:
    drawn: list[Step] = []
    first = walk(Greedy(Fraction(1, 4), 3), ground(), Fraction(1), noting(drawn))
    stored = tuple(values for taken in first.taken for values in taken)
    second = walk(Greedy(Fraction(1, 4), 3), ground(), Fraction(1), again(stored))
    assert (second.spent, len(second.steps)) == (first.spent, 3)
    with pytest.raises(InvariantBroken):
        walk(Greedy(Fraction(1, 4), 4), ground(), Fraction(1), again(stored))


def test_noughts_have_the_shape_of_a_release() -> None:
    assert [one.tolist() for one in nothing(Noised(STRATEGY, (DiscreteLaplace(Fraction(0), Fraction(1)),)))] == [
        [0, 0, 0]
    ]
    assert [one.tolist() for one in nothing(choice(KERNEL, ground(), Fraction(1)))] == [[0]]


@pytest.mark.parametrize("squared", [False, True])
def test_noise_of_another_kind_and_an_unknown_kernel_have_no_price(squared: bool) -> None:
    kinds: list[Any] = [DiscreteGaussian(Fraction(0), Fraction(50)), DiscreteLaplace(Fraction(0), Fraction(7))]
    with pytest.raises(InvariantBroken):
        cost(Noised(STRATEGY, (kinds[squared],)), ground(squared=squared))
    with pytest.raises(InvariantBroken):
        cost(Noised(STRATEGY, ()), ground(squared=squared))

    class Unproved:
        name = "unproved"

        def moved(self, neighbours: Neighbours) -> int:
            return 0

    with pytest.raises(InvariantBroken):
        cost(Chosen(Unproved(), Exponential(1, Fraction(1))), ground(squared=squared))  # type: ignore[arg-type]


def test_a_course_that_measures_nothing_or_never_ends_is_stopped() -> None:
    with pytest.raises(InvariantBroken):
        walk(Greedy(Fraction(1, 3), 0), ground(), Fraction(1), noting([]))
    with pytest.raises(InvariantBroken):
        walk(Greedy(Fraction(1, 10**9), 10**9), ground(), Fraction(1), noting([]))
