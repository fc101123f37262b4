"""Cells that are known to be empty: least squares against dense algebra, and sums over cells with their variances."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.publish.method import Entries, Terms
from obverse.publish.tables.method import Tables
from obverse.publish.tables.public_knowledge import Derived, Rolled, Zeros, checked
from obverse.publish.workload import Attribute, Workload

SHAPE = (2, 3, 2)
WORKLOAD = Workload(tuple(Attribute("abc"[n], tuple(range(size))) for n, size in enumerate(SHAPE)), ((0, 1), (1, 2)))
PURE = Terms("pure", Neighbours.ADD_REMOVE)
GROUPS = np.array([0, 0, 1])


def matrix(table: tuple[int, ...]) -> Any:
    """Which joint cells each cell of a table adds up."""
    joint = np.arange(int(np.prod(SHAPE)))
    places = np.unravel_index(joint, SHAPE)
    cell = np.ravel_multi_index([places[i] for i in table], WORKLOAD.shape(table))
    return np.equal.outer(np.arange(WORKLOAD.cells(table)), cell).astype(float)


def measured(method: Tables, values: list[Any], scales: tuple[int, int] = (2, 5)) -> tuple[Entries, ...]:
    blocks = method.weighted(PURE, {"0,1": Fraction(1), "1,2": Fraction(1)}).strategy.blocks
    noise = [DiscreteLaplace(Fraction(1), Fraction(scale)) for scale in scales]
    return tuple(Entries(block, one, 1.0, given_) for block, one, given_ in zip(blocks, noise, values))


def method(empty: Any) -> Tables:
    derived = Derived("d", "b > 1", (1,), GROUPS, (False, True), Type.BOOLEAN)
    zeros = Zeros("some", (0, 1), empty) if empty.any() else None
    return Tables(WORKLOAD, zeros, (derived,), (Rolled((0, 1), (0,), (0,)), Rolled((1, 2), (), (0,))))


masks = st.lists(st.booleans(), min_size=6, max_size=6).filter(lambda one: not all(one))


@settings(max_examples=80, deadline=None)
@given(masks, st.integers(0, 2**32 - 1))
def test_estimates_and_variances_are_those_of_the_dense_solution_without_the_empty_cells(
    mask: list[bool], seed: int
) -> None:
    empty = np.array(mask).reshape(2, 3)
    made = method(empty)
    rng = np.random.default_rng(seed)
    values = [rng.integers(-20, 50, 6), rng.integers(-20, 50, 6)]
    entries = measured(made, values)
    kept = ~np.repeat(empty.reshape(-1), 2)
    design = np.vstack([matrix(t)[:, kept] / e.variance**0.5 for t, e in zip(WORKLOAD.tables, entries)])
    answers = np.hstack([v / e.variance**0.5 for v, e in zip(values, entries)])
    solved = np.linalg.pinv(design) @ answers
    covariance = np.linalg.pinv(design.T @ design)
    sums = [matrix(t)[:, kept] for t in WORKLOAD.tables]
    sums.append(np.vstack([sums[0].reshape(2, 3, -1)[a][g == GROUPS].sum(axis=0) for a in range(2) for g in range(2)]))
    sums.append(np.vstack([sums[1].reshape(3, 2, -1)[g == GROUPS].sum(axis=(0, 1)) for g in range(2)]))
    for found, one in zip(made.finish(entries, PURE).tables, sums, strict=True):
        assert np.allclose(found.values, one @ solved, atol=1e-8)
        assert np.allclose(found.stddev**2, np.diag(one @ covariance @ one.T), atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(masks, st.integers(0, 2**32 - 1), st.sampled_from([0.0, 30.0]))
def test_whole_numbers_are_zero_there_agree_and_are_the_truth_without_noise(
    mask: list[bool], seed: int, noise: float
) -> None:
    empty = np.array(mask).reshape(2, 3)
    rng = np.random.default_rng(seed)
    made = method(empty)
    joint = rng.poisson(3, SHAPE) * ~empty[:, :, None]
    truth = [matrix(t) @ joint.reshape(-1) for t in WORKLOAD.tables]
    values = [(one + rng.normal(0, noise, 6)).round().astype(np.int64) for one in truth]
    outcome = made.finish(measured(made, values), PURE)
    tables = [{"count": one.whole, "estimate": one.values} for one in outcome.tables]
    assert outcome.agree
    assert all(law.holds for law in made.laws(tables, True))
    assert ("zeros" in {law.name for law in made.laws(tables, True)}) == bool(empty.any())
    if not noise:
        assert all(np.allclose(one.values, exact, atol=1e-8) for one, exact in zip(outcome.tables, truth))
    broken = [dict(one) for one in tables]
    if empty.any():
        broken[0]["count"] = tables[0]["count"] + empty.reshape(-1)
        assert not all(law.holds for law in made.laws(broken, True))


def test_what_is_known_comes_back_from_its_json() -> None:
    made = method(np.eye(2, 3, dtype=bool))
    again = Tables.from_json(made.as_json())
    assert again.as_json() == made.as_json()
    assert again.rolled == made.rolled


@pytest.mark.parametrize(
    "zeros",
    [
        Zeros("x", (0, 2), np.eye(2, dtype=bool)),
        Zeros("x", (0, 1), np.ones((2, 3), dtype=bool)),
        Zeros("x", (0, 1), np.zeros((2, 3), dtype=bool)),
    ],
)
def test_zeros_that_no_table_holds_or_that_leave_all_or_nothing_are_refused(zeros: Zeros) -> None:
    with pytest.raises(Refused) as refused:
        checked(WORKLOAD, zeros)
    assert refused.value.code == "bad_zeros"


def test_too_many_zeros_are_refused() -> None:
    wide = replace(WORKLOAD, attributes=tuple(Attribute(n, tuple(range(60))) for n in "abc"))
    with pytest.raises(Refused) as refused:
        checked(wide, Zeros("x", (0, 1), np.tri(60, dtype=bool)))
    assert refused.value.code == "bad_zeros"
