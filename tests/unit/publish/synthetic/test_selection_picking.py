"""The course to a forest: its budget in exact fractions, what it chooses, and when it leaves columns independent."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.core.rng import Rng
from obverse.core.units import Neighbours
from obverse.plan.strategy.adaptive import Chosen, Noised, again, cost, nothing, walk
from obverse.publish.method import Terms
from obverse.publish.synthetic.marginals import CHOICES, ONES, beside, components
from obverse.publish.synthetic.selection import MIDDLE, ROUNDS, Picking, per_round
from tests.unit.publish.synthetic import planted as made

ZCDP = Terms("zcdp", Neighbours.ADD_REMOVE)


@pytest.mark.parametrize("terms", made.TERMS, ids=str)
@pytest.mark.parametrize("weight", [1, 6])
def test_no_path_costs_more_than_the_price_whatever_is_released(terms: Terms, weight: int) -> None:
    """Paths of made-up releases: noughts, huge counts, first and last candidates, and what noise gives."""
    picking = Picking(made.SIZES)
    on = made.ground(picking, terms, weight)
    random = np.random.default_rng(1)

    def wild(step: Any) -> Any:
        if isinstance(step, Chosen):
            return (random.integers(0, len(step.kernel.candidates) + 1, 1),)
        return tuple(random.integers(-(10**4), 10**6, block.entries) for block in step.strategy.blocks)

    honest = made.releasing(on, made.counts(made.planted(), weight=weight), Rng())
    for price in (Fraction(1), Fraction(1, 1000), Fraction(7, 3)):
        for release in (nothing, honest, *[wild] * 3):
            found = walk(picking, on, price, release)
            spent = sum((cost(step, on) for step in found.steps), Fraction(0))
            assert price * Fraction(99, 100) < spent <= price
            assert spent == found.spent
            assert sum(isinstance(step, Chosen) for step in found.steps) <= 3 + ROUNDS * per_round(4)


def test_choices_cost_their_share_and_all_that_is_left_is_measured() -> None:
    found = made.walked(made.planted(), ZCDP, Fraction(1))
    on = made.ground(Picking(made.SIZES), ZCDP)
    kinds = [type(step) for step in found.steps]
    assert kinds[:5] == [Noised, Chosen, Chosen, Chosen, Noised]
    assert kinds[-1] is Noised
    assert ONES * Fraction(999, 1000) < cost(found.steps[0], on) <= ONES
    assert MIDDLE * Fraction(999, 1000) < cost(found.steps[4], on) <= MIDDLE
    each = CHOICES / 3
    assert all(each * Fraction(999, 1000) < cost(step, on) <= each for step in found.steps if isinstance(step, Chosen))


@pytest.mark.parametrize("terms", made.TERMS, ids=str)
def test_without_noise_the_planted_tree_is_chosen(terms: Terms) -> None:
    """The best of a forest's edges by distance from independence: the chain that the rows were made of."""
    method, _ = made.read(made.walked(made.planted(), terms, Fraction(2)), terms, Fraction(2))
    assert {*method.edges[:3]} == {*made.EDGES}


def test_columns_that_are_independent_stay_so() -> None:
    found = made.walked(made.independent(), ZCDP, Fraction(1, 50))
    method, _ = made.read(found, ZCDP, Fraction(1, 50))
    assert method.edges == ()
    names = [block.name for block in found.steps[-1].strategy.blocks]  # type: ignore[union-attr]
    assert names == [f"{i} at last" for i in range(4)]


def test_where_noise_hides_all_that_could_be_gained_no_choice_is_paid_for() -> None:
    """At rho 1e-7, where noise passes the number of rows: known from the noisy columns before anything is chosen."""
    found = made.walked(made.planted(), ZCDP, Fraction(1, 10**7))
    assert [type(step) for step in found.steps] == [Noised, Noised]


def test_the_same_releases_lead_the_same_way_again() -> None:
    found = made.walked(made.planted(), ZCDP, Fraction(1, 10), Rng())
    stored = tuple(values for taken in found.taken for values in taken)
    picking = Picking(made.SIZES)
    second = walk(picking, made.ground(picking, ZCDP), Fraction(1, 10), again(stored))
    assert second.spent == found.spent
    assert [type(step) for step in second.steps] == [type(step) for step in found.steps]


def test_values_below_three_deviations_go_together_and_a_column_of_noise_is_one_group() -> None:
    rows = made.planted()
    rows[:, 3] = np.where(np.arange(len(rows)) < 30, rows[:, 3], 0)  # few rows but in the first value
    price = Fraction(1, 1000)
    method, measured = made.read(made.walked(rows, ZCDP, price), ZCDP, price)
    sigma = measured[3].mechanism.stddev()
    assert sigma > 30
    assert method.groups[3].tolist() == [0, 1, 1, 1, 1]
    assert method.group_names(3) == ["0", "(other)"]
    tiny = made.walked(rows[:50], ZCDP, price)
    alone, _ = made.read(tiny, ZCDP, price)
    assert all(int(of.max()) == 0 for of in alone.groups)


def test_the_forest_comes_first_and_no_pair_is_chosen_twice() -> None:
    found = made.walked(made.planted(), ZCDP, Fraction(1), Rng())
    method, _ = made.read(found, ZCDP, Fraction(1))
    assert len({*method.edges}) == len(method.edges) >= 3
    for many in range(3):
        parts = components(4, method.edges[:many])
        a, b = method.edges[many]
        assert parts[a] != parts[b]
    assert components(4, ((0, 1), (2, 3), (1, 3))) == [0] * 4


def circle(rows: int = 6000) -> Any:
    """Three columns of which each two hang together, given the third: a forest cannot tell all three pairs."""
    random = np.random.default_rng(rows)
    a, b = random.integers(0, 3, (2, rows))
    c = np.where(random.random(rows) < 0.8, (a + 2 * b) % 4, random.integers(0, 4, rows))
    b = np.where(random.random(rows) < 0.4, a, b)
    return np.array([a, b, c]).T


def test_pairs_that_close_a_circle_are_chosen_where_the_forest_leaves_something_out() -> None:
    rows = circle()
    sizes = (3, 3, 4)
    price = Fraction(2)
    method, measured = made.read(made.walked(rows, ZCDP, price, sizes=sizes), ZCDP, price, sizes)
    pairs = ((0, 1), (0, 2), (1, 2))
    assert {*pairs} <= {*method.edges} <= {*pairs, (0, 1, 2)}
    model = method.fitted(measured).model
    assert model.tree.cliques == ((0, 1, 2),)
    for a, b in pairs:
        truth = np.bincount(rows[:, a] * sizes[b] + rows[:, b], minlength=sizes[a] * sizes[b]) / len(rows)
        assert np.abs(model.pair(a, b).reshape(-1) - truth).sum() < 0.02


def test_a_model_that_would_grow_too_large_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obverse.publish.synthetic.marginals.MODEL_MAX", 35)
    # all three columns together have 36 cells
    rows = circle(5999)
    sizes = (3, 3, 4)
    price = Fraction(2)
    beside.cache_clear()
    method, _ = made.read(made.walked(rows, ZCDP, price, sizes=sizes), ZCDP, price, sizes)
    beside.cache_clear()
    assert len(method.edges) == 2
