"""Spines: least squares against dense algebra, and the laws of whole numbers, on generated trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken
from obverse.publish.hierarchy.spine import Spine, fitted, variances
from obverse.publish.hierarchy.topdown import constrained, projected


@st.composite
def spines(draw: st.DrawFn) -> Spine:
    """Up to four levels; every node above the leaves has one to four children."""
    parents = []
    above = 1
    for _ in range(draw(st.integers(1, 3))):
        children = draw(st.lists(st.integers(1, 4), min_size=above, max_size=above))
        parents.append(np.repeat(np.arange(above), children))
        above = sum(children)
    return Spine(tuple(f"level {n}" for n in range(len(parents) + 1)), tuple(parents))


def sums(spine: Spine, leaves: Any) -> list[Any]:
    found = [leaves]
    for level in range(len(spine.sizes) - 1, 0, -1):
        found.insert(0, np.add.reduceat(found[0], spine.starts(level), axis=-1))
    return found


def dense(spine: Spine) -> list[Any]:
    """For each level the matrix that adds up leaves."""
    return [
        np.equal.outer(np.arange(size), spine.groups(level)).astype(float) for level, size in enumerate(spine.sizes)
    ]


@settings(max_examples=60, deadline=None)
@given(spines(), st.integers(0, 2**32 - 1))
def test_up_and_down_is_the_dense_solution_with_its_variances(spine: Spine, seed: int) -> None:
    rng = np.random.default_rng(seed)
    own = rng.uniform(0.2, 5, len(spine.sizes)).tolist()
    measured = [rng.normal(0, 10, (2, size)) for size in spine.sizes]
    levels = dense(spine)
    design = np.vstack([matrix / np.sqrt(v) for matrix, v in zip(levels, own)])
    answers = np.hstack([one / np.sqrt(v) for one, v in zip(measured, own)])
    leaves = np.linalg.lstsq(design, answers.T, rcond=None)[0].T
    covariance = np.linalg.inv(design.T @ design)
    for matrix, found, spread in zip(levels, fitted(spine, measured, own), variances(spine, own)):
        assert np.allclose(found, leaves @ matrix.T)
        assert np.allclose(spread, np.diag(matrix @ covariance @ matrix.T))


@settings(max_examples=100, deadline=None)
@given(spines(), st.integers(1, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_whole_numbers_are_not_negative_and_add_up(spine: Spine, cells: int, seed: int, hold: bool) -> None:
    rng = np.random.default_rng(seed)
    truth = sums(spine, rng.poisson(1.5, (cells, spine.sizes[-1])))
    estimates = sums(spine, truth[-1] + rng.normal(0, 2, truth[-1].shape))
    held = (1, truth[1].sum(axis=0)) if hold else None
    found = constrained(spine, estimates, held, ())[0]
    for level, one in enumerate(found):
        assert one.dtype == np.int64
        assert one.min() >= 0
        if level:
            assert (np.add.reduceat(one, spine.starts(level), axis=-1) == found[level - 1]).all()
    if held is None:
        assert found[0].sum() == max(0, round(estimates[0].sum()))
    else:
        assert (found[1].sum(axis=0) == held[1]).all()


@settings(max_examples=60, deadline=None)
@given(spines(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_what_is_whole_already_stays(spine: Spine, cells: int, seed: int) -> None:
    truth = sums(spine, np.random.default_rng(seed).poisson(1.0, (cells, spine.sizes[-1])))
    found = constrained(spine, [one.astype(float) for one in truth], None, ())[0]
    assert all((a == b).all() for a, b in zip(found, truth))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-20, 20), min_size=1, max_size=12), st.integers(0, 30))
def test_siblings_are_projected_on_the_nearest_point(values: list[float], total: int) -> None:
    parent = np.zeros(len(values), dtype=np.int64)
    found = projected(np.array(values), np.array([float(total)]), parent, np.array([0]))
    assert found.min() >= 0
    assert abs(found.sum() - total) < 1e-6
    if total:  # one multiplier for all that are positive, and none larger elsewhere
        moved = np.array(values) - found
        inside = moved[found > 1e-6]
        assert np.ptp(inside) < 1e-5
        assert (moved[found <= 1e-6] <= inside.max() + 1e-5).all()


def test_a_tree_whose_siblings_stand_apart_or_whose_node_has_no_child_is_no_spine() -> None:
    for parents in ([[0, 1, 0]], [[0, 0], [0, 0]], [[1]]):
        with pytest.raises(InvariantBroken):
            Spine(tuple("abc"[: len(parents) + 1]), tuple(np.array(one) for one in parents))
