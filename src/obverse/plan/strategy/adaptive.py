"""A course: measurements and choices one after the other, each of which may follow from what was released before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import invariant
from obverse.core.numbers import sqrt_down
from obverse.core.units import Neighbours
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.exponential import Exponential
from obverse.plan.relation import Cells
from obverse.plan.strategy.candidates import KERNELS, Scores
from obverse.plan.strategy.matrix import Strategy

Integers = NDArray[np.int64]


STEPS_MAX = 4096


@dataclass(frozen=True, slots=True)
class Ground:
    """What costs follow from: public cells, what neighbours are, what a unit weighs, and how losses are counted."""

    cells: Cells
    neighbours: Neighbours
    weight: int  # of one unit, in released integers
    squared: bool  # rho and Gaussian noise, else epsilon and Laplace noise


@dataclass(frozen=True, slots=True)
class Noised:
    """A step that measures: maps of the counts, each with its own noise."""

    strategy: Strategy
    mechanisms: tuple[Additive, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A step that chooses one of the kernel's candidates, by its exact score."""

    kernel: Scores
    mechanism: Exponential


Step = Noised | Chosen
Taken = tuple["Integers", ...]  # what one step released: an array for each block, or one with the chosen place


class Course(Protocol):
    """Names the steps. It sees released integers alone."""

    @property
    def identity(self) -> str:
        """One text for one course."""
        ...

    def step(self, ground: Ground, price: Fraction, taken: tuple[Taken, ...]) -> Step | None:
        """What comes after these; nothing at the end. The same for the same, so that anybody can walk it again."""
        ...


def cost(step: Step, ground: Ground) -> Fraction:
    """What a step costs, derived anew from its norms: epsilon, or rho.

    Claim:   the step's release is epsilon private, or rho zero-concentrated, for this number.
    Proof:   noise: the blocks' moves together (Strategy.worst) times what a unit weighs. A choice: scores move by at
             most m = weight x moved, so that it is the exponential mechanism with epsilon' = epsilon m / sensitivity:
             epsilon' private, epsilon'^2 / 8 concentrated (bounded range).
    Assumes: the counts are sums over rows, each unit's weighing at most `weight` (Limit).
    """
    if isinstance(step, Chosen):
        invariant(isinstance(step.kernel, KERNELS), "a kernel with a theorem")
        step.kernel.fits(ground.cells)
        moved = ground.weight * step.kernel.moved(ground.neighbours)
        epsilon = step.mechanism.epsilon * Fraction(moved, step.mechanism.sensitivity)
        return epsilon**2 / 8 if ground.squared else epsilon
    step.strategy.fits(ground.cells)
    invariant(len(step.mechanisms) == len(step.strategy.blocks), "noise for each block")
    per = []
    for mechanism in step.mechanisms:
        if ground.squared:
            invariant(isinstance(mechanism, DiscreteGaussian), "noise whose loss is known here")
            assert isinstance(mechanism, DiscreteGaussian)
            per.append(1 / (2 * mechanism.sigma_squared))
        else:
            invariant(isinstance(mechanism, DiscreteLaplace), "noise whose loss is known here")
            assert isinstance(mechanism, DiscreteLaplace)
            per.append(1 / mechanism.scale)
    worst = step.strategy.worst(ground.cells, ground.neighbours, per, squared=ground.squared)
    return worst * ground.weight ** (2 if ground.squared else 1)


def choice(kernel: Scores, ground: Ground, price: Fraction) -> Chosen:
    """The choice that costs at most the price."""
    epsilon = sqrt_down(8 * price) if ground.squared else price
    return Chosen(kernel, Exponential(ground.weight * kernel.moved(ground.neighbours), epsilon))


@dataclass(frozen=True, slots=True)
class Walked:
    """A course that came to its end."""

    steps: tuple[Step, ...]
    taken: tuple[Taken, ...]
    spent: Fraction


def walk(course: Course, ground: Ground, price: Fraction, release: Callable[[Step], Taken]) -> Walked:
    """Step by step, each only if all of them still cost no more than the price.

    Claim:   what is released costs at most the price together, whatever the course does with what it sees.
    Proof:   a privacy filter with a bound that was fixed beforehand. Pure losses: Rogers, Roth, Ullman, Vadhan 2016,
             whose basic composition holds with parameters that are chosen on the way; rho: Feldman and Zrnic 2021,
             since Renyi losses of each order add up along every path to at most order x price. Costs are exact
             fractions.
    Assumes: the course is a function of public figures and of what was released (it is given nothing else), and
             `release` draws each step's own mechanism once.
    """
    steps: list[Step] = []
    taken: list[Taken] = []
    spent = Fraction(0)
    while (step := course.step(ground, price, tuple(taken))) is not None:
        invariant(len(steps) < STEPS_MAX, "a course that ends")
        spent += cost(step, ground)
        invariant(spent <= price, "noise covers the price")
        steps.append(step)
        taken.append(release(step))
    invariant(bool(steps), "something is measured")
    return Walked(tuple(steps), tuple(taken), spent)


def nothing(step: Step) -> Taken:
    """As if a step had released noughts: to walk a course before any row is read."""
    if isinstance(step, Chosen):
        return (np.zeros(1, dtype=np.int64),)
    return tuple(np.zeros(block.entries, dtype=np.int64) for block in step.strategy.blocks)


def again(stored: tuple[Integers, ...]) -> Callable[[Step], Taken]:
    """What was released before, one step after the other: to walk a course again."""
    left = list(stored)

    def release(step: Step) -> Taken:
        many = 1 if isinstance(step, Chosen) else len(step.strategy.blocks)
        invariant(len(left) >= many, "what was released is complete")
        found = tuple(left[:many])
        del left[:many]
        return found

    return release
