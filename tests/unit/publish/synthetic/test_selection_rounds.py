"""Rounds after the forest: triples that no pair tells of are caught, and a round that told little makes the next one
dearer.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.core.rng import Rng
from obverse.core.units import Neighbours
from obverse.plan.strategy.adaptive import Chosen, Noised, Step, Taken, cost, walk
from obverse.plan.strategy.candidates import Distances
from obverse.publish.method import Terms
from obverse.publish.synthetic.marginals import CHOICES
from obverse.publish.synthetic.selection import Picking, Sofar, is_forest, least_left, tells
from tests.unit.publish.synthetic import planted as made

ZCDP = Terms("zcdp", Neighbours.ADD_REMOVE)
SIZES = (2, 3, 2, 4, 2)


def flipped(rows: int = 8000) -> Any:
    """The last column is the first xor the third, but for a tenth: no two of them tell anything of each other."""
    random = np.random.default_rng(rows)
    found = [random.integers(0, size, rows) for size in SIZES]
    found[4] = found[0] ^ found[2] ^ (random.random(rows) < 0.1)
    return np.array(found).T


def far(rows: Any, method: Any, measured: Any) -> float:
    """The total variation of the planted triple."""
    table = method.fitted(measured).model.group_table((0, 2, 4)).reshape(-1)
    truth = np.bincount(rows[:, 0] * 4 + rows[:, 2] * 2 + rows[:, 4], minlength=8) / len(rows)
    return float(0.5 * np.abs(table - truth).sum())


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_dependence_of_three_columns_is_caught_although_no_pair_shows_it(
    accounting: Any, neighbours: Neighbours
) -> None:
    """Noise included. The score is 3,200 rows of 8,000, and luck some tens: a miss is far rarer than 1e-6."""
    rows = flipped()
    terms = Terms(accounting, neighbours)
    price = Fraction(2)
    method, measured = made.read(made.walked(rows, terms, price, Rng(), SIZES), terms, price, SIZES)
    assert (0, 2, 4) in method.edges
    assert far(rows, method, measured) < 0.1


def test_pairs_alone_do_not_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obverse.publish.synthetic.selection.TRIPLES_FROM", 99)
    rows = flipped(7999)
    price = Fraction(2)
    method, measured = made.read(made.walked(rows, ZCDP, price, None, SIZES), ZCDP, price, SIZES)
    assert far(rows, method, measured) > 0.35


def test_a_measurement_tells_something_if_it_lies_beyond_its_noise() -> None:
    picking = Picking(made.SIZES)
    price = Fraction(1)
    on = made.ground(picking, ZCDP)
    first = picking.first(on, price)
    counted = made.releasing(on, made.counts(made.planted()), None)(first)
    seen = picking.look(first, counted, on, price)
    model = Sofar(picking, seen, on, price, [(first, counted)]).model()
    step = picking.measured_alone(seen, ((0, 1), (0, 1, 2)), on, price / 20, " 1")
    near = tuple(model.far(part).near for part in ((0, 1), (0, 1, 2)))
    assert not tells(step, near, model)
    assert tells(step, tuple(values + 50 for values in near), model)


@pytest.mark.parametrize(("moved", "times"), [(0, 2), (10_000, 1)])
def test_after_a_round_that_told_little_a_choice_costs_twice_as_much(moved: int, times: int) -> None:
    """Candidates are taken as they come; what a round measures is what the model said of it, or far from that."""
    picking = Picking(made.SIZES)
    on = made.ground(picking, ZCDP)
    honest = made.releasing(on, made.counts(made.planted()), None)
    near = {}

    def release(step: Step) -> Taken:
        if isinstance(step, Chosen):
            assert isinstance(step.kernel, Distances)
            near.update({one.block.name: one.near for one in step.kernel.candidates})
            return (np.zeros(1, dtype=np.int64),)
        names = [block.name for block in step.strategy.blocks]
        if not names[0].endswith(" 1"):
            return honest(step)
        return tuple(near[name.partition(" ")[0]] + moved for name in names)

    found = walk(picking, on, Fraction(1), release)
    # columns, forest, first round, second
    kinds = [Noised, Chosen, Chosen, Chosen, Noised, Chosen, Chosen, Noised, Chosen]
    assert [type(step) for step in found.steps[:9]] == kinds
    before, after = (cost(found.steps[n], on) / (CHOICES / 3) for n in (6, 8))
    assert Fraction(999, 1000) < before <= 1
    assert times * Fraction(999, 1000) < after <= times


def test_a_forest_is_of_pairs_that_close_no_circle() -> None:
    assert is_forest(4, ((0, 1), (1, 2)))
    assert is_forest(4, ())
    assert not is_forest(3, ((0, 1), (1, 2), (0, 2)))
    assert not is_forest(3, ((0, 1, 2),))
    assert 0 < least_left() < 1
