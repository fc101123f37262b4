"""Release methods on trial: what they measure, on neighbouring counts, with the noise that the plan gives it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from obverse.catalog.model import Catalog
from obverse.core.numbers import up
from obverse.core.rng import Rng
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.mechanisms.exponential import Exponential
from obverse.plan.pricing import Adaptive, MatrixStrategy, Plan
from obverse.plan.strategy.adaptive import Chosen, Step, Taken, Walked, walk
from obverse.publish.registry import METHODS, Synthetic
from obverse.review.targets import Target
from obverse.testing.noiseless import SeededRng

ONE = Fraction(1)
DEPENDENT = (900, 30, 20, 800, 700, 40)  # rows of the six cells, so that the two columns hang together
TOML = """\
[project]
name = "on-trial"
[budget]
epsilon = 100
[tables.t]
source = "nowhere.parquet"
unit = "u"
[tables.t.columns]
u = { type = "integer" }
x = { type = "integer", bounds = [0, 2], nullable = false }
s = { type = "text", values = ["a", "b"], nullable = false }
w = { type = "text", values = ["c", "d"], nullable = false }
"""


@dataclass(frozen=True, slots=True)
class MethodOnTrial:
    """A method's plan for a small table, and counts of everybody but one."""

    name: str
    costed: Plan
    noise: Fraction = ONE  # of what the plan says; less is a broken twin

    def on_trial(self, rng: Rng) -> Target:
        """One unit more, in each of the cells; all else is empty, which hides least."""
        cells = self.costed.setting.cells
        pairs = [((), (place,)) for place in range(cells)]
        return Target(self.drawn(rng), pairs, up(self.costed.epsilon), up(self.costed.delta), self.name)

    def drawn(self, rng: Rng) -> Callable[[Any, int], Any]:
        """n releases of all entries, for units in these cells."""
        costed = self.costed
        assert isinstance(costed.noise, MatrixStrategy)
        strategy = costed.noise.strategy
        cells = costed.root.public

        def draw(units: tuple[int, ...], n: int) -> Any:
            counts = np.bincount(np.array(units, dtype=np.int64), minlength=cells.count).astype(np.int64)
            found = []
            for mechanism, entries in zip(costed.mechanisms, strategy.apply(cells, counts)):
                found.append(mechanism.scaled(self.noise).sample(np.tile(entries, n), rng).reshape(n, len(entries)))
            return np.hstack(found)

        return draw


@dataclass(frozen=True, slots=True)
class CourseOnTrial:
    """A method that goes step by step, on a path that is fixed, whoever is in the data: each step is drawn many times
    at once.

    Outputs are told as the best that anybody could make of them: for each neighbour that is tried, the logarithm of how
    much likelier all steps' releases are without the one unit than with it (Neyman and Pearson). A course of many small
    losses shows its largest in outputs so rare that no trial sees them: `loss` is what they would show at the very
    most, exactly, on the path. What is not drawn is that paths differ: a step that follows from releases takes
    milliseconds for each, so that a trial would have some thousands of them, and refute nothing. That steps see
    releases alone, and that every path is held to the price, are laws of their own (plan/strategy/adaptive, tests of
    publish/synthetic/selection).
    """

    name: str
    costed: Plan
    rows: tuple[int, ...]  # rows of each cell of all columns, without the one unit
    noise: Fraction = ONE
    path: int = 0  # nought: as exact values lead; else by noise of this seed
    places: tuple[int, ...] = (0, 4)  # cells of the one unit that are tried

    def on_trial(self, rng: Rng) -> Target:
        """One unit more, in one of the cells."""
        pairs = [((), (place,)) for place in self.places]
        return Target(self.drawn(rng), pairs, up(self.costed.epsilon), up(self.costed.delta), self.name)

    def counts(self, units: tuple[int, ...]) -> Any:
        """Of the cells of all grouping sets."""
        cells = self.costed.root.public
        joint = np.array(self.rows) + np.bincount(np.array(units, dtype=np.int64), minlength=len(self.rows))
        table = joint.reshape([key.cells for key in cells.keys])
        axes = range(len(cells.keys))
        return np.concatenate(
            [table.sum(axis=tuple(a for a in axes if a not in one)).reshape(-1) for one in cells.sets]
        )

    def exact(self, step: Step, counts: Any) -> list[tuple[Mechanism, Any]]:
        """Each mechanism of a step, with what it is given."""
        cells = self.costed.root.public
        if isinstance(step, Chosen):
            return [(step.mechanism, step.kernel.scores(cells, counts))]
        return list(zip(step.mechanisms, step.strategy.apply(cells, counts)))

    def walked(self) -> Walked:
        """Without noise, of candidates the best; or with noise of the path's own seed."""
        from obverse.plan.strategy.pricing import ground_of, priced_at

        counts = self.counts(())
        rng = SeededRng(self.path)

        def release(step: Step) -> Taken:
            found = self.exact(step, counts)
            if self.path:
                return tuple(mechanism.sample(values, rng) for mechanism, values in found)
            return (
                (np.array([int(found[0][1].argmax())]),) if isinstance(step, Chosen) else tuple(one for _, one in found)
            )

        assert isinstance(self.costed.noise, Adaptive)
        return walk(self.costed.noise.course, ground_of(self.costed), priced_at(self.costed), release)

    def drawn(self, rng: Rng) -> Callable[[Any, int], Any]:
        steps = self.walked().steps
        sides = [self.counts(()), *(self.counts((place,)) for place in self.places)]
        given = [[one for step in steps for one in self.exact(step, counts)] for counts in sides]

        def draw(units: tuple[int, ...], n: int) -> Any:
            told = np.zeros((n, len(self.places)))
            counts = self.counts(units)
            own = [values for step in steps for _, values in self.exact(step, counts)]
            for (mechanism, without), values, *beside in zip(given[0], own, *given[1:]):
                told += likelier(mechanism.scaled(self.noise), values, without, [one for _, one in beside], n, rng)
            return told

        return draw

    def loss(self) -> float:
        """The most that any outputs of the path's steps tell of one unit more in a cell: likelier with it, or
        without it.
        """
        steps = self.walked().steps
        without = self.counts(())
        found = []
        for place in range(len(self.rows)):
            beside = self.counts((place,))
            sides = [(self.exact(step, without), self.exact(step, beside)) for step in steps]
            both = [(one.scaled(self.noise), a, b) for left, right in sides for (one, a), (_, b) in zip(left, right)]
            found += [sum(most(one, a, b) for one, a, b in both), sum(most(one, b, a) for one, a, b in both)]
        return max(found)


def most(mechanism: Mechanism, likelier_from: Any, other: Any) -> float:
    """The largest logarithm of how much likelier an output is from the first than from the second."""
    if isinstance(mechanism, Exponential):
        sides = [likelier_from.tolist(), other.tolist()]
        known = [[mechanism.probability(side, one) for one in range(len(side))] for side in sides]
        return max(math.log(a[1] / b[0]) for a, b in zip(*known))
    assert isinstance(mechanism, DiscreteLaplace)
    return float(Fraction(int(np.abs(likelier_from - other).sum())) / mechanism.scale)


def likelier(mechanism: Mechanism, values: Any, without: Any, beside: Sequence[Any], n: int, rng: Rng) -> Any:
    """Of n releases of the values, the logarithm of how much likelier each is from `without` than from each of
    `beside`.
    """
    if isinstance(mechanism, Exponential):
        picked = range(len(values))
        known = [[float(mechanism.probability(side.tolist(), one)[0]) for one in picked] for side in (without, *beside)]
        chances = np.log(np.array(known))
        found: Any = (chances[0] - chances[1:]).T[mechanism.draws(values.tolist(), n, rng)]
        return found
    moved = np.flatnonzero(np.any([one != without for one in beside], axis=0))  # the others tell nothing
    assert isinstance(mechanism, DiscreteLaplace)
    drawn = mechanism.sample(np.tile(values[moved], n), rng).reshape(n, len(moved))
    apart = [np.abs(drawn - one[moved]) - np.abs(drawn - without[moved]) for one in beside]
    return np.stack([one.sum(axis=1) / float(mechanism.scale) for one in apart], axis=1)


def course_over(catalog: Catalog, columns: Sequence[str]) -> Plan:
    """Synthetic rows of these columns at epsilon 1."""
    from obverse.plan.sensitivity import limit
    from obverse.plan.strategy.pricing import on_course, roomy
    from obverse.publish.tables.request import Wanted, asked

    workload, question = asked(catalog, Wanted("t", tuple((name,) for name in columns), {}))
    course = Synthetic.example(workload).course
    annotated = roomy(limit(replace(question, sets=course.sets), catalog), course.widest())
    return on_course(annotated, course, ONE, Fraction(0), "pure")


def releases(folder: Path, noise: Fraction = ONE) -> tuple[MethodOnTrial | CourseOnTrial, ...]:
    """Each method of the registry, over a table of six cells at epsilon 1."""
    from obverse.catalog.load import load
    from obverse.plan.sensitivity import limit
    from obverse.plan.strategy.pricing import roomy, weigh
    from obverse.publish.method import Terms
    from obverse.publish.tables.request import Wanted, asked

    (folder / "obverse.toml").write_text(TOML, encoding="utf-8")
    catalog = load(folder)
    workload, question = asked(catalog, Wanted("t", (("x",), ("s",), ("x", "s")), {}))
    found: list[MethodOnTrial | CourseOnTrial] = []
    for method in METHODS:
        if method is Synthetic:
            found.append(CourseOnTrial(method.name, course_over(catalog, ("x", "s")), DEPENDENT, noise))
            continue
        draft = method.example(workload).draft(Terms(catalog.accounting, catalog.neighbours))
        annotated = roomy(limit(replace(question, sets=draft.sets), catalog), draft.strategy.blocks)
        found.append(MethodOnTrial(method.name, weigh(annotated, draft.strategy, ONE, Fraction(0), "pure"), noise))
    return tuple(found)
