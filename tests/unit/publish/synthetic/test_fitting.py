"""Noisy columns and pairs to a forest: least squares against dense algebra and simulation; margins; zero noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.core.rng import Rng
from obverse.core.units import Neighbours
from obverse.publish.method import Terms
from obverse.publish.rounding import on_simplex
from obverse.publish.synthetic.fitting import Noisy, estimated, linked, on_simplex_rows, pooled, total_of
from tests.unit.publish.synthetic import planted as made

ZCDP = Terms("zcdp", Neighbours.ADD_REMOVE)
GROUPS = np.array([0, 1, 2, 2, 2])


def noisy(random: Any, truth: Any, variance: float) -> Noisy:
    return Noisy(truth + random.normal(0, variance**0.5, truth.shape), variance)


def test_a_columns_estimate_is_that_of_a_dense_least_squares() -> None:
    random = np.random.default_rng(1)
    column = random.integers(0, 50, 5)
    other = random.integers(0, 50, (3, 4))
    third = random.integers(0, 50, (2, 3))
    own = noisy(random, column.astype(float), 4.0)
    pairs = {(1, 2): noisy(random, other.astype(float), 9.0), (0, 1): noisy(random, third.astype(float), 2.0)}
    found = estimated(1, own, GROUPS, pairs)
    merge = np.eye(3)[GROUPS].T  # groups of values
    design = np.vstack([np.eye(5) / 2, merge / (9 * 4) ** 0.5, merge / (2 * 2) ** 0.5])
    told = [own.counts / 2, pairs[1, 2].counts.sum(axis=1) / 6, pairs[0, 1].counts.sum(axis=0) / 2]
    assert np.allclose(found.counts, np.linalg.lstsq(design, np.concatenate(told), rcond=None)[0])
    assert np.allclose(found.variances, np.diag(np.linalg.inv(design.T @ design)))


def test_a_columns_variance_is_as_told() -> None:
    """2,000 simulations of Gaussian noise: a mean of squares strays by 6 sqrt(2 / 2000) of itself with a chance
    below 1e-8.
    """
    random = np.random.default_rng(2)
    truth = np.array([30.0, 20, 5, 3, 2])
    table = np.array([[10.0, 20], [15, 5], [4, 6]])
    errors = []
    for _ in range(2000):
        found = estimated(0, noisy(random, truth, 4.0), GROUPS, {(0, 1): noisy(random, table, 9.0)})
        errors.append(found.counts - truth)
    told = found.variances
    assert np.all(np.abs(np.mean(np.square(errors), axis=0) / told - 1) < 6 * (2 / 2000) ** 0.5)
    assert np.all(np.abs(np.mean(errors, axis=0)) < 6 * np.sqrt(told / 2000))


def test_measurements_of_the_same_are_averaged_by_precision() -> None:
    both = pooled([Noisy(np.array([10.0]), 1.0), Noisy(np.array([20.0]), 4.0)])
    assert (both.counts.tolist(), both.variance) == ([12.0], 0.8)
    assert total_of([Noisy(np.array([10.0]), 1.0), Noisy(np.array([6.0, 6]), 2.0)]) == pytest.approx(
        (10 + 12 / 4) / 1.25
    )


def test_a_pairs_table_has_exactly_the_margins_of_its_columns() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        above = random.dirichlet(np.ones(4))
        here = random.dirichlet(np.full(6, 0.3))
        table = linked(above, here, Noisy(random.normal(0, 0.1, (4, 6)), 0.01))
        assert table.min() >= 0
        assert np.allclose(table.sum(axis=1), above, atol=1e-9)
        assert np.allclose(table.sum(axis=0), here, atol=2e-3)


def test_noise_alone_shrinks_to_independence_and_a_clear_table_stays() -> None:
    above = np.array([0.6, 0.4])
    here = np.array([0.5, 0.3, 0.2])
    plain = np.outer(above, here)
    flat = linked(above, here, Noisy(plain + np.array([[1e-3, 0, -1e-3], [-1e-3, 0, 1e-3]]), 1.0))
    assert np.allclose(flat, plain, atol=1e-12)
    sharp = np.array([[0.5, 0.1, 0.0], [0.0, 0.2, 0.2]])
    assert np.allclose(linked(above, here, Noisy(sharp, 1e-12)), sharp, atol=1e-3)


def test_rows_are_projected_as_one_by_one() -> None:
    random = np.random.default_rng(4)
    values = random.normal(0, 1, (30, 7))
    sums = random.random(30)
    sums[3] = 0.0
    found = on_simplex_rows(values, sums)
    for row, total, own in zip(values, sums, found):
        assert np.allclose(own, on_simplex(row, float(total)))


@pytest.mark.parametrize("terms", made.TERMS, ids=str)
def test_without_noise_the_trees_tables_are_the_truth(terms: Terms) -> None:
    """The zero-noise limit: exact releases, and variances that are next to nothing."""
    rows = made.planted()
    price = Fraction(10**6)
    method, measured = made.read(made.walked(rows, terms, price), terms, price)
    found = method.fitted(measured)
    assert found.model.total == pytest.approx(made.ROWS)
    for i, size in enumerate(made.SIZES):
        truth = np.bincount(rows[:, i], minlength=size)
        assert np.allclose(found.columns[i].counts, truth)
        assert np.allclose(found.model.columns[i].values * made.ROWS, truth, atol=1e-6)
    for a, b in made.EDGES:
        truth = np.bincount(rows[:, a] * made.SIZES[b] + rows[:, b], minlength=made.SIZES[a] * made.SIZES[b])
        model = found.model.pair(a, b).reshape(-1) * made.ROWS
        assert np.abs(model - truth).sum() < 1e-3 * made.ROWS  # what is mixed in of independence


def test_estimates_and_intervals_of_a_release_hold_the_truth() -> None:
    """60 releases of 4 columns and 3 pairs, 14 + 34 cells: coverage below 0.95 by six deviations (of the mean over
    releases, taken as wholly dependent within one: 6 sqrt(0.0475 / 60) = 0.17) has a chance of 1.2e-6 by the binomial
    law; cells of one release are nearly independent, so it is far below."""
    rows = made.planted()
    price = Fraction(1, 10)
    rng = Rng()
    held = []
    for _ in range(60):
        method, measured = made.read(made.walked(rows, ZCDP, price, rng), ZCDP, price)
        tables = method.finish(measured, ZCDP).tables
        for i, (size, table) in enumerate(zip(made.SIZES, tables)):
            held += (np.abs(table.values - np.bincount(rows[:, i], minlength=size)) <= table.half_width).tolist()
    assert np.mean(held) > 0.95 - 0.17
