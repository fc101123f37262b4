"""Tables of three columns: what they tell of their pairs, and what they tell that no pair tells."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from obverse.publish.synthetic.fitting import Noisy, estimated, network, pairs_of, third

# the third is mostly the first xor the second
FLIPPED = np.array([[[0.24, 0.01], [0.01, 0.24]], [[0.01, 0.24], [0.24, 0.01]]])


def pairs(table: Any) -> list[Any]:
    return [table.sum(axis=axis) for axis in range(3)]


def test_a_pair_is_told_by_its_own_table_and_by_the_sums_of_its_triples() -> None:
    """Against dense least squares of the pair's cells alone."""
    random = np.random.default_rng(1)
    triple = Noisy(random.normal(50, 9, (2, 3, 4)), 4.0)
    pair = Noisy(random.normal(200, 9, (2, 3)), 9.0)
    found = pairs_of({(0, 1, 2): triple, (0, 1): pair})
    assert {*found} == {(0, 1), (0, 2), (1, 2)}
    weights = 1 / (4 * 4.0), 1 / 9.0
    both = (triple.counts.sum(axis=2) * weights[0] + pair.counts * weights[1]) / sum(weights)
    assert np.allclose(found[0, 1].counts, both)
    assert found[0, 1].variance == pytest.approx(1 / sum(weights))
    assert np.allclose(found[1, 2].counts, triple.counts.sum(axis=0))
    assert found[1, 2].variance == pytest.approx(2 * 4.0)


def test_a_column_is_told_by_a_triple_with_the_variance_of_its_sums() -> None:
    triple = Noisy(np.arange(24.0).reshape(2, 3, 4), 5.0)
    found = estimated(1, Noisy(np.array([50.0, 90, 130]), 1e12), np.arange(3), {(0, 1, 2): triple})
    assert np.allclose(found.counts, triple.counts.sum(axis=(0, 2)))
    assert np.allclose(found.variances, 5.0 * 8)


def test_what_no_pair_tells_is_found_without_noise_and_left_out_where_noise_hides_it() -> None:
    plain = np.full((2, 2, 2), 1 / 8)
    assert np.allclose(third(plain, Noisy(FLIPPED, 1e-18)), FLIPPED, atol=1e-9)
    assert np.allclose(third(plain, Noisy(FLIPPED, 1.0)), plain)


@pytest.mark.parametrize("seed", range(5))
def test_a_triple_keeps_its_pairs_and_has_no_negatives(seed: int) -> None:
    random = np.random.default_rng(seed)
    plain = random.dirichlet(np.full(24, 2.0)).reshape(2, 3, 4)
    found = third(plain, Noisy(plain + random.normal(0, 0.02, plain.shape), 0.0001))
    assert found.min() >= 0
    for have, wanted in zip(pairs(found), pairs(plain)):
        assert np.abs(have - wanted).sum() < 1e-3


def test_a_model_has_the_triples_that_were_measured_beside_the_pairs_that_hang_on_them() -> None:
    random = np.random.default_rng(3)
    # a fourth column, that hangs on all
    joint = FLIPPED[..., None] * random.dirichlet(np.ones(3), size=(2, 2, 2)) * 1000
    groups = [np.arange(n) for n in joint.shape]
    ones = [Noisy(joint.sum(axis=tuple(a for a in range(4) if a != i)), 1e-9) for i in range(4)]
    tables = {(0, 1, 2): Noisy(joint.sum(axis=3), 1e-9), (2, 3): Noisy(joint.sum(axis=(0, 1)), 1e-9)}
    found = network(groups, ones, tables, [estimated(i, one, groups[i], tables) for i, one in enumerate(ones)])
    for part in tables:
        told = found.group_table(part) * found.total
        assert np.abs(told - tables[part].counts).sum() < 1, part
    for a, b in combinations(range(3), 2):
        assert np.abs(found.group_pair(a, b) - 0.25).max() < 0.01
