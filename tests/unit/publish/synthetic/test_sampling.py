"""Rows from a forest: unmeasured pairs are not distorted, counts are balanced, and conditions are the model's own."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from obverse.core.errors import Refused
from obverse.core.units import Neighbours
from obverse.publish.method import Terms
from obverse.publish.synthetic.check import drawn_apart
from obverse.publish.synthetic.model import Forest, Grouped, Network, rooted
from obverse.publish.synthetic.sampling import Shuffle, balanced, sampled
from tests.unit.publish.synthetic import planted as made

ZCDP = Terms("zcdp", Neighbours.ADD_REMOVE)
N = 20_000


def model() -> Forest:
    """A chain, a branch and a column by itself; the last values of the first column go together."""
    random = np.random.default_rng(5)
    groups = [np.array([0, 1, 2, 2, 2]), np.arange(4), np.arange(3), np.arange(3), np.arange(2)]
    order, parents = rooted(5, ((0, 1), (1, 2), (1, 3)))
    tables: dict[int, Any] = {}
    margins: dict[int, Any] = {4: np.array([0.7, 0.3])}
    for place in order:
        if place not in margins and place not in parents:
            margins[place] = random.dirichlet(np.ones(int(groups[place].max()) + 1))
        if place in parents:
            above = margins[parents[place]]
            tables[place] = above[:, None] * random.dirichlet(np.full(int(groups[place].max()) + 1, 0.4), len(above))
            margins[place] = tables[place].sum(axis=0)
    within = [np.array([1, 1, 0.5, 0.3, 0.2]), *(np.ones(len(of)) for of in groups[1:])]
    columns = tuple(Grouped(of, share, margins[i]) for i, (of, share) in enumerate(zip(groups, within)))
    return Forest(columns, order, parents, tables, float(N))


def joint(forest: Forest) -> Any:
    """The whole distribution over groups, cell by cell: what everything else is compared with."""
    sizes = [len(one.margin) for one in forest.columns]
    found = np.ones(sizes)
    for place in forest.order:
        shape = [1] * len(sizes)
        if place not in forest.parents:
            shape[place] = sizes[place]
            found = found * forest.columns[place].margin.reshape(shape)
        else:
            above = forest.parents[place]
            given = forest.given(place) if above < place else forest.given(place).T
            shape[above] = sizes[above]
            shape[place] = sizes[place]
            found = found * given.reshape(shape)
    return found


def table(rows: Any, a: int, b: int, shape: tuple[int, ...]) -> Any:
    return np.bincount(rows[a] * shape[1] + rows[b], minlength=shape[0] * shape[1]).reshape(shape) / len(rows[a])


def test_any_pairs_table_is_that_of_the_whole_distribution() -> None:
    forest = model()
    whole = joint(forest)
    assert whole.sum() == pytest.approx(1)
    for a, b in combinations(range(5), 2):
        pair = whole.sum(axis=tuple(i for i in range(5) if i not in (a, b)))
        one = forest.columns[a]
        other = forest.columns[b]
        assert np.allclose(forest.pair(a, b), pair[one.groups][:, other.groups] * one.within[:, None] * other.within)
        assert np.allclose(forest.pair(b, a), forest.pair(a, b).T)


def test_rows_of_every_pair_measured_or_not_stray_no_further_than_drawing_explains() -> None:
    """Bounds of rows drawn one by one, but for 1e-9 of all pairs together; balanced rows stray less."""
    forest = model()
    rows, likely = sampled(Network.of(forest), N, Shuffle(b"seed"))
    assert likely == pytest.approx(1)
    for a, b in combinations(range(5), 2):
        want = forest.pair(a, b)
        apart = 0.5 * np.abs(table(rows, a, b, want.shape) - want).sum()
        assert apart < drawn_apart(want, N, 10), (a, b)


def test_rows_in_an_order_that_is_not_drawn_anew_are_caught() -> None:
    """The fault that was met in the wild: ranks within each parent's group. The same bound rejects it."""
    forest = model()

    class Stuck(Shuffle):
        def words(self, n: int) -> Any:
            return np.arange(n, dtype=np.uint64)

    rows, _ = sampled(Network.of(forest), N, Stuck(b""))
    far = []
    for a, b in combinations(range(5), 2):
        want = forest.pair(a, b)
        far.append(0.5 * np.abs(table(rows, a, b, want.shape) - want).sum() / drawn_apart(want, N, 10))
    assert max(far) > 3


def test_counts_are_less_than_one_from_what_is_expected() -> None:
    chances = np.random.default_rng(6).dirichlet(np.ones(7), 5)
    above = np.random.default_rng(7).integers(0, 5, 1003)
    found = balanced(above, chances, Shuffle(b"x"))
    for kind in range(5):
        own = np.bincount(found[above == kind], minlength=7)
        assert np.all(np.abs(own - chances[kind] * (above == kind).sum()) < 1)


def test_few_rows_have_the_right_chances() -> None:
    """Three rows, 3,000 times: each value's mean strays by six deviations (at most 6 x 0.87 / sqrt(3000)) below
    1e-8.
    """
    chances = np.array([[0.5, 0.3, 0.15, 0.05]])
    shuffle = Shuffle(b"y")
    found = np.zeros(4)
    for _ in range(3000):
        found += np.bincount(balanced(np.zeros(3, dtype=np.int64), chances, shuffle), minlength=4)
    assert np.all(np.abs(found / 3000 - 3 * chances[0]) < 6 * 0.87 / 3000**0.5)


@pytest.mark.parametrize("held", [{2: [1]}, {0: [3]}, {0: [2, 4], 3: [0, 1]}, {4: [1], 0: [0]}])
def test_rows_on_a_condition_have_the_models_conditional_distribution(held: dict[int, list[int]]) -> None:
    forest = model()
    given = {place: np.array(values) for place, values in held.items()}
    whole = joint(forest)
    for place, column in enumerate(forest.columns):
        if place in held:
            open_ = np.zeros(len(column.groups))
            open_[held[place]] = 1
            shape = [1] * 5
            shape[place] = -1
            whole = whole * np.bincount(column.groups, weights=column.within * open_).reshape(shape)
    rows, likely = sampled(Network.of(forest), N, Shuffle(b"z"), given)
    assert likely == pytest.approx(whole.sum())
    for place, values in held.items():
        assert {*rows[place].tolist()} <= {*values}
    groups = [forest.columns[i].groups[rows[i]] for i in range(5)]
    for a, b in combinations(range(5), 2):
        want = whole.sum(axis=tuple(i for i in range(5) if i not in (a, b))) / whole.sum()
        assert 0.5 * np.abs(table(groups, a, b, want.shape) - want).sum() < drawn_apart(want, N, 10)


def test_what_the_model_holds_no_row_of_is_refused() -> None:
    rows = made.planted()
    price = Fraction(10**6)
    rows[:, 2] = 0
    method, measured = made.read(made.walked(rows, ZCDP, price), ZCDP, price)
    with pytest.raises(Refused) as refused:
        sampled(method.fitted(measured).model, 10, Shuffle(b""), {2: np.array([1])})
    assert refused.value.code == "impossible_given"


def test_the_same_seed_gives_the_same_rows_and_another_gives_others() -> None:
    forest = model()
    one, two, three = (sampled(Network.of(forest), 500, Shuffle(seed))[0] for seed in (b"a", b"a", b"b"))
    assert all(np.array_equal(a, b) for a, b in zip(one, two))
    assert not all(np.array_equal(a, b) for a, b in zip(one, three))
