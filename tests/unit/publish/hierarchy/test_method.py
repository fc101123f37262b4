"""A hierarchy's errors are those of what it publishes: replayed on spines of several shapes, with and without totals
held.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.core.rng import Rng
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.publish.hierarchy.method import Hierarchy
from obverse.publish.hierarchy.spine import Spine
from obverse.publish.method import Entries, Terms
from obverse.publish.workload import Attribute, Workload

REPLAYS = 200
TERMS = Terms("zcdp", Neighbours.REPLACE)
NOISE = DiscreteGaussian(Fraction(1), Fraction(9))


def spine(*children: list[int]) -> Spine:
    """Each level by how many children each node above it has."""
    parents = tuple(np.repeat(np.arange(len(many)), many) for many in children)
    return Spine(tuple(f"level {n}" for n in range(len(parents) + 1)), parents)


SHAPES = {
    "deep and narrow": (spine([2], [2, 1], [1, 2, 2], [2] * 5, [1] * 10), 40.0),
    "wide and sparse": (spine([150]), 0.05),
    "uneven": (spine([3], [40, 1, 4]), 12.0),
}


def made(shape: str, cells: int, held: int | None) -> tuple[Hierarchy, list[Any]]:
    """A hierarchy, and the true counts of each level, cells by nodes."""
    along, mean = SHAPES[shape]
    leaves = along.sizes[-1]
    names = tuple(tuple(f"{level}-{n}" for n in range(size)) for level, size in enumerate(along.sizes))
    attributes = [Attribute("place", tuple(range(leaves)), Type.INTEGER)]
    attributes += [Attribute("kind", tuple(range(cells)), Type.INTEGER)] if cells > 1 else []
    truth = [np.random.default_rng(7).poisson(mean, (cells, leaves))]
    for level in range(len(along.sizes) - 1, 0, -1):
        truth.insert(0, np.add.reduceat(truth[0], along.starts(level), axis=-1))
    workload = Workload(tuple(attributes), (tuple(range(len(attributes))),))
    totals = None if held is None else (held % len(along.sizes), truth[held % len(along.sizes)].sum(axis=0))
    shares = tuple(Fraction(1, len(along.sizes)) for _ in along.sizes)
    return Hierarchy(workload, along, names, np.arange(leaves), shares, totals), truth


def measured(method: Hierarchy, truth: list[Any], rng: Rng) -> tuple[Entries, ...]:
    found = []
    for n, block in enumerate(method.draft(TERMS).strategy.blocks):
        kind, level = block.name.split()
        exact = truth[int(level)].T if kind == "cells" else truth[int(level)].sum(axis=0)
        noise = replace(NOISE, sigma_squared=NOISE.sigma_squared * (1 + n % 3))
        flat = np.ascontiguousarray(exact).reshape(-1)
        found.append(Entries(block, noise, 1.0, flat + noise.noise(len(flat), rng)))
    return tuple(found)


@pytest.mark.parametrize("held", [None, 0, 1, -1])
@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_the_statement_says_is_the_error_of_what_is_published(shape: str, cells: int, held: int | None) -> None:
    """In 200 replays every level's mean square is the stated variance, and 95% intervals hold the truth.

    Replays are independent: a level's mean square is an average of 200 chi-squares of at least one degree of freedom,
    whose deviation is at most sqrt(2 / 200) = 10%; 6.5 of them are passed less than once in 10^8 tests, for each of 84
    levels here. Intervals hold at least 95% each, so that the mean over replays falls 6.5 deviations of at most
    sqrt(0.05 * 0.95 / 200) below that as seldom.
    """
    method, truth = made(shape, cells, held)
    rng = Rng()
    squares = np.zeros((REPLAYS, len(truth)))
    inside = np.zeros((REPLAYS, len(truth)))
    entries = measured(method, truth, rng)
    published = method.finish(entries, TERMS).tables
    for table, estimates in zip(published, method.estimates(entries)):
        assert (table.values == estimates.T.reshape(-1)).all(), "what is published is what is replayed below"
    for replay in range(REPLAYS):
        found = method.estimates(measured(method, truth, rng))
        for level, (table, estimates, exact) in enumerate(zip(published, found, truth)):
            apart = (estimates - exact).T.reshape(-1)
            squares[replay, level] = np.mean(apart**2)
            inside[replay, level] = np.mean(np.abs(apart) <= table.half_width + 1e-6)
    for level, told in enumerate(method.errors(entries, TERMS)):
        known = method.held is not None and level <= method.held[0] and cells == 1
        if known:
            assert (told.stddev, told.half_width) == (0.0, 0.0)
            assert squares[:, level].max() < 1e-12
        else:
            assert abs(squares[:, level].mean() / told.stddev**2 - 1) < 6.5 * np.sqrt(2 / REPLAYS)
        assert inside[:, level].mean() >= 0.95 - 6.5 * np.sqrt(0.05 * 0.95 / REPLAYS)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("held", [0, 1, -1])
def test_what_is_held_makes_everything_that_follows_more_certain(shape: str, held: int) -> None:
    """Totals that are held are those of the estimates too, and no error grows by them."""
    method, truth = made(shape, 3, held)
    entries = measured(method, truth, Rng())
    assert method.held is not None
    level, totals = method.held
    assert np.allclose(method.estimates(entries)[level].sum(axis=0), totals)
    before = replace(method, held=None)
    for with_, without in zip(method.spreads(entries), before.spreads(entries)):
        assert (with_ <= without + 1e-12).all()
    tables = [{"count": table.whole, "estimate": table.values} for table in method.finish(entries, TERMS).tables]
    assert all(law.holds for law in method.laws(tables, True))


def test_folders_of_before_are_made_again_as_they_were() -> None:
    """Their estimates did not take what is held as known, and their errors said so little."""
    method, truth = made("uneven", 1, 1)
    entries = measured(method, truth, Rng())
    fields = method.as_json()
    assert Hierarchy.from_json(fields).errors(entries, TERMS) == method.errors(entries, TERMS)
    del fields["conditional"]
    old = Hierarchy.from_json(fields)
    assert not old.conditional
    assert np.allclose(old.estimates(entries)[1], replace(method, held=None).estimates(entries)[1])
    free = replace(method, held=None)
    assert "conditional" not in free.as_json()
    assert Hierarchy.from_json(free.as_json()).estimates(entries)[0] == pytest.approx(free.estimates(entries)[0])
